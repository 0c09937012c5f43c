#ifndef SLIMPACK_SOLVERS_IMPROVE_DETAIL_NEIGHBOURHOOD_HPP
#define SLIMPACK_SOLVERS_IMPROVE_DETAIL_NEIGHBOURHOOD_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/order/slice_order.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/slicers/cut_budget.hpp>
#include <slimpack/solvers/improve/move.hpp>
#include <slimpack/solvers/improve/shipped.hpp>
#include <slimpack/solvers/improve/sites.hpp>
#include <slimpack/solvers/pack/fill.hpp>
#include <slimpack/solvers/search_options.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace slimpack::detail {

/// Packs after a few moves, for a walk that schedules and simulates them anew: those of a list for pack_site and
/// sequence_site (improve/sites.hpp). They reach what size_ratios cannot tell apart where packs are few.
/// Packs are those that `fill` makes: slices in the order of one stream for each pass, one sequence after the other,
/// forward from its front, backward from its end. A change of borders fills the stream again, the slicer cutting it.
/// Law       what it returns covers the same tokens, in legal run order, no pack over `base.size`
/// Complexity O(slices * log(quanta)) for each change
template <class Slicer, class Cost, class Moves = solvers::improve::shipped>
class neighbourhood {
 public:
  /// Shapes    sequences: indexed by sequence_id
  neighbourhood(std::span<const sequence> sequences, const Slicer& slicer, const Cost& cost, const cut_budget& base,
                const solvers::search_options& options = solvers::default_search_options)
      : sequences_(sequences),
        order_({sequences.begin(), sequences.end()}),
        slicer_(slicer),
        cost_(cost),
        base_(base),
        options_(options) {}

  /// The packs after a random move, or a few: half of all end there, a quarter after the next. None where a slice does
  /// not fit, or a move is wrong().
  std::optional<partition> neighbour(const partition& of, splitmix& random) {
    std::optional<partition> next = of;
    made_.clear();
    do {
      const bool of_sequences = sequences_.size() > 1 && random.uniform() < options_.tuning.reorder_chance;
      if (!(of_sequences ? reorder(*next, random) : resize(*next, random))) return std::nullopt;
    } while (random.uniform() < options_.tuning.move_again);
    return next;
  }

  /// What is wrong with a move that left packs of other sequences, if there was one.
  [[nodiscard]] const std::optional<error>& wrong() const noexcept { return wrong_; }

  /// The moves that made the last neighbour, by index, or were made before one did not fit.
  [[nodiscard]] const std::vector<std::size_t>& made() const noexcept { return made_; }

 private:
  /// Lets sequences run in another order. False where the packs that a move left are none of these sequences.
  bool reorder(partition& packs, splitmix& random) {
    solvers::improve::sequence_site at{packs, sequences_, base_.size, random, options_};
    made_.push_back(Moves::try_one(at).move);
    if (made_.back() == Moves::size || runs_all(packs)) return true;
    wrong_ =
        error{errc::invalid_input,
              "the move " + std::string(Moves::names[made_.back()]) +
                  " is wrong: it leaves packs that do not run each token of each sequence once, in order of the pass"};
    return false;
  }

  /// Whether slices tile the sequences, in order of each pass.            Complexity  O(slices)
  [[nodiscard]] bool runs_all(const partition& packs) {
    for (const pass p : both_passes) {
      front_.begin(order_, p);
      for (std::size_t i = 0; i < packs.of(p).size(); ++i) {
        if (packs.of(p)[i].empty()) return false;
        for (const slice& s : packs.of(p)[i])
          if (!order_.has(s) || !front_.take(s)) return false;
      }
      for (const sequence& s : sequences_)
        if (front_.due(s.id) != order_.exit(s.id, p)) return false;
    }
    return true;
  }

  /// Changes the times of a pass's packs, and fills those. False where a slice does not fit.
  bool resize(partition& of, splitmix& random) {
    const pass p = random.below(2) == 0 ? pass::forward : pass::backward;
    micropacks& packs = of.of(p);
    std::vector<double> sizes = times(packs, p);
    const std::size_t pack = random.below(sizes.size());
    const double kind = random.uniform();
    const double share = random.uniform();
    solvers::improve::pack_site at{sizes, pack, share, random, options_};
    made_.push_back(Moves::try_one(at, kind).move);
    if (sizes.empty()) return false;
    micropacks stream;  // each sequence in one slice
    for (const slice& s : packs.slices()) stream.push(s);
    return refill(packs, stream.open(), p, sizes, sequences_, slicer_, cost_, base_);
  }

  /// Time of each pack's slices on the part that is balanced.
  [[nodiscard]] std::vector<double> times(const micropacks& packs, pass p) const {
    std::vector<double> sums;
    for (std::size_t i = 0; i < packs.size(); ++i) {
      sums.push_back(0);
      for (const slice& s : packs[i]) sums.back() += cost_.time(s, p, base_.part).value;
    }
    return sums;
  }

  std::span<const sequence> sequences_;
  slice_order order_;
  const Slicer& slicer_;
  const Cost& cost_;
  cut_budget base_;
  const solvers::search_options& options_;
  std::vector<std::size_t> made_;
  pass_front front_;
  std::optional<error> wrong_;
};

}  // namespace slimpack::detail

#endif
