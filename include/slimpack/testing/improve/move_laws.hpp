#ifndef SLIMPACK_TESTING_IMPROVE_MOVE_LAWS_HPP
#define SLIMPACK_TESTING_IMPROVE_MOVE_LAWS_HPP

#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/simulators/order/changing_order.hpp>
#include <slimpack/solvers/improve/move.hpp>
#include <slimpack/solvers/improve/sites.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/naive/slices.hpp>
#include <slimpack/testing/random_replica.hpp>
#include <slimpack/testing/report.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace slimpack::testing {

namespace detail {

/// Tries moves at pairs of equal sites: one for the move, and one for another of its kind.
template <class Move>
class move_trial {
 public:
  move_trial(report& r, const Move& move, const options& o) : report_(r), move_(move), options_(o), random_(o.seed) {}

  void all() {
    const double weight = move_.weight(search_);
    report_.check(3, std::isfinite(weight) && weight >= 0, "a move's weight is a number, not below 0", weight);
    for (int i = 0; i < options_.cases; ++i) {
      const std::int64_t before = random_.between(0, 99);  // numbers that the search has drawn already
      for (slimpack::detail::splitmix& numbers : numbers_) {
        numbers = {};
        for (std::int64_t n = before; n > 0; --n) numbers.uniform();
      }
      if constexpr (at<solvers::improve::pack_site>) at_a_pack();
      if constexpr (at<solvers::improve::window_site>) at_a_window();
      if constexpr (at<solvers::improve::sequence_site>) at_sequences();
      if constexpr (at<solvers::improve::instruction_site>) at_instructions();
    }
  }

 private:
  template <class Site>
  static constexpr bool at = solvers::improve::is_at<Move, Site>;

  /// Seconds of packs; some take none.
  std::vector<double> any_times() {
    std::vector<double> times(static_cast<std::size_t>(random_.between(1, 12)));
    for (double& t : times) t = random_.once_in(8) ? 0 : 0.01 * random_.ratio();
    return times;
  }

  static bool can_be_filled(const std::vector<double>& times) {
    return std::all_of(times.begin(), times.end(), [](double t) { return std::isfinite(t) && t >= 0; });
  }

  /// Law 2 of a move that was made at both sites: the same was said, made and drawn.
  template <class Made>
  void compare(bool said, bool said_again, const Made& made, const Made& again) {
    report_.check(2, said == said_again && made == again, "equal sites are changed alike, whatever was done before",
                  "says", said, "then", said_again);
    report_.check(2, numbers_[0].uniform() == numbers_[1].uniform(), "as many numbers are drawn from equal sites");
  }

  void at_a_pack() {
    const std::vector<double> times = any_times();
    const auto pack = static_cast<std::size_t>(random_.between(0, static_cast<std::int64_t>(times.size()) - 1));
    const double share = random_.ratio();
    std::vector<double> made = times, again = times;
    solvers::improve::pack_site site{made, pack, share, numbers_[0], search_},
        equal{again, pack, share, numbers_[1], search_};
    const bool said = move_(site), said_again = Move{}(equal);
    compare(said, said_again, made, again);
    report_.check(1, said || made == times, "a move that says it did nothing leaves the times of packs", "pack", pack,
                  "of", times.size());
    report_.check(3, !made.empty() && can_be_filled(made),
                  "the packs that are left can be filled: one at least, each of a time not below 0", "pack", pack, "of",
                  times.size(), "share", share);
  }

  /// A pass that looks ahead from one of its packs.
  struct window {
    std::vector<double> times;
    std::size_t looked{};

    static void look(void* self, std::size_t packs, std::vector<double>& times) {
      window& all = *static_cast<window*>(self);
      all.looked = std::clamp<std::size_t>(packs, 1, all.times.size());
      times.assign(all.times.begin(), all.times.begin() + static_cast<std::ptrdiff_t>(all.looked));
    }
  };

  void at_a_window() {
    window ahead{any_times()}, ahead_again = ahead;
    const pass p = random_.once_in(2) ? pass::forward : pass::backward;
    std::vector<double> made, again;
    solvers::improve::window_site site(p, numbers_[0], search_, &ahead, &window::look, made);
    solvers::improve::window_site equal(p, numbers_[1], search_, &ahead_again, &window::look, again);
    const bool said = move_(site), said_again = Move{}(equal);
    compare(said, said_again, made, again);
    report_.check(1, !said || ahead.looked > 0, "a move that wants packs has asked for their times", p, "of",
                  ahead.times.size(), "packs");
    report_.check(3, !said || (!made.empty() && made.size() <= ahead.looked && can_be_filled(made)),
                  "it wants as many packs as it looked at, or fewer, each of a time not below 0", "wants", made.size(),
                  "of", ahead.looked);
  }

  /// Whether packs have the tokens of all sequences once, in run order, also along paths, and none more than a pack
  /// takes.
  static bool are_packs_of(const micropacks& packs, const std::vector<sequence>& sequences, pass p, tokens most) {
    const std::map<sequence_id, std::vector<slice>> slices = naive::by_sequence(packs);
    for (const sequence& s : sequences)
      if (const auto found = slices.find(s.id); found == slices.end() || naive::gap(found->second, s.whole(), p))
        return false;
    for (std::size_t i = 0; i < packs.size(); ++i)
      if (size_of(packs[i]) > most) return false;
    return slices.size() == sequences.size() && !naive::broken_path(packs, sequences, p);
  }

  void at_sequences() {
    forest batch;
    if (random_.once_in(2))
      for (std::int64_t n = random_.between(2, 10); n > 0; --n)
        batch.lengths.push_back(random_.length(options_.longest));
    else
      batch = trial_forest(random_, random_.between(2, 10), options_.longest);
    const std::vector<sequence> sequences = batch_view(batch).sequences();
    const partition packs = random_partition(batch, options_.quantum, costs::quadratic{}, random_);
    tokens most{};  // no pack is larger now
    for (const pass p : both_passes)
      for (std::size_t i = 0; i < packs.of(p).size(); ++i) most = std::max(most, size_of(packs.of(p)[i]));
    partition made = packs, again = packs;
    solvers::improve::sequence_site site{made, sequences, most, numbers_[0], search_},
        equal{again, sequences, most, numbers_[1], search_};
    const bool said = move_(site), said_again = Move{}(equal);
    compare(said, said_again, made, again);
    report_.check(1, said || made == packs, "a move that says it did nothing leaves the packs", sequences.size(),
                  "sequences");
    for (const pass p : both_passes)
      report_.check(3, are_packs_of(made.of(p), sequences, p, most),
                    "packs have each token once, in run order, and no more than a pack takes", p, sequences.size(),
                    "sequences");
  }

  /// How many of the tokens that run forward must have run before each backward pack.
  static std::vector<std::int64_t> needs_of(const partition& packs, std::size_t sequences) {
    std::vector<std::int64_t> ends(sequences), needs;
    std::int64_t sum = 0;
    for (const slice& s : packs.forward.slices()) ends[s.sequence.value] = sum += s.length.value;
    for (std::size_t i = 0; i < packs.backward.size(); ++i) {
      needs.push_back(0);
      for (const slice& s : packs.backward[i]) needs.back() = std::max(needs.back(), ends[s.sequence.value]);
    }
    return needs;
  }

  void at_instructions() {
    const random_replica replica = any_replica(options_, random_);
    const std::vector<program> programs = schedules::list{.passes = 1}.programs(replica.work).value();
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < replica.packs.forward.size(); ++i)
      sizes.push_back(size_of(replica.packs.forward[i]).value);
    simulators::changing_order order(replica.work, programs, sizes, needs_of(replica.packs, replica.lengths.size()));
    simulators::changing_order again = order;
    // A sweep, from the front of the step to its end.
    for (std::size_t rank = 0; rank < order.size(); rank += static_cast<std::size_t>(random_.between(1, 8))) {
      const seconds takes = order.makespan();
      const std::vector<program> was = order.programs();
      solvers::improve::instruction_site site{order, rank, numbers_[0], search_},
          equal{again, rank, numbers_[1], search_};
      const bool said = move_(site), said_again = Move{}(equal);
      const std::vector<program> is = order.programs();
      compare(said, said_again, is, again.programs());
      report_.check(1, said == (is != was), "a move says whether the order has changed", "says", said, "at", rank, "of",
                    order.size());
      report_.check(3, order.makespan() <= takes, "the step takes no longer", order.makespan(), "after", takes, "at",
                    rank);
    }
  }

  report& report_;
  const Move& move_;
  const options& options_;
  generator random_;
  slimpack::detail::splitmix numbers_[2];
  solvers::search_options search_{};
};

}  // namespace detail

/// Checks the laws of solvers::improve::move at random sites of each kind that it is tried at
/// (solvers/improve/sites.hpp): packs among others, windows of a pass, sequences in their packs, and instructions of
/// random replicas. At an instruction, law 1 asks whether the order has changed. Elsewhere a move may say that it did
/// something and have done nothing.
/// Returns   a report, which converts to bool; a test has to assert it: EXPECT_TRUE(found) << found
///           (testing/report.hpp)
/// Errors    none: what the move throws passes through            Complexity  O(cases) moves; at instructions O(cases)
///           sweeps
template <solvers::improve::move Move>
[[nodiscard]] report move_laws(const Move& move, options o = {.cases = 50, .longest = {16384}}) {
  report r("move laws", o.seed);
  detail::move_trial<Move>(r, move, o).all();
  return r;
}

}  // namespace slimpack::testing

#endif
