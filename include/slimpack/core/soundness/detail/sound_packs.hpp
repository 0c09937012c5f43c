#ifndef SLIMPACK_CORE_SOUNDNESS_DETAIL_SOUND_PACKS_HPP
#define SLIMPACK_CORE_SOUNDNESS_DETAIL_SOUND_PACKS_HPP

#include <slimpack/core/ensemble/stage_ties.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/order/slice_order.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Which sequences the replicas that are asked have to run: all, or those that they list, where others run the rest.
enum class extent : std::uint8_t { all, listed };

/// What a replica runs, before it has programs.
struct packs_of_replica {
  std::span<const sequence_id> sequences;
  const partition* packs{};
};

/// What is asked whether its packs are sound: a plan, or a solver's answer.
struct packs_of_all {
  batch_view batch;
  const shape* on{};
  std::span<const pass> passes;  ///< that are planned
  std::span<const merge> merges;
  std::vector<packs_of_replica> replicas;
};

/// Whether a shape can have a plan at all.
/// Errors    invalid_input: what the shape has that no plan can have
[[nodiscard]] result<void> sound_shape(const shape& on);

/// The law of packs (core/soundness/is_sound.hpp), asked of all replicas together.
class packs_law {
 public:
  /// Requires  a shape that is sound; packs that outlive it
  explicit packs_law(const packs_of_all& all)
      : all_(all), of_(all.batch.size()), shared_(all.merges.size()), replicas_(all.replicas.size()) {}

  /// Errors    invalid_input: the sequence, and what is wrong with it
  /// Complexity O(sequences + slices + rows * sharers), and k log k of the k slices of each shared sequence
  [[nodiscard]] result<void> operator()(extent which);

 private:
  /// What is known of a sequence.
  struct state {
    std::uint32_t merged{};   // its merge, counted from 1; 0 where nobody shares it
    std::uint32_t listed{};   // replicas that list it
    std::uint32_t replica{};  // the last of these
  };
  /// A slice of a shared sequence: its row, and the place of its replica among the sharers.
  struct placed {
    slimpack::slice slice;
    std::uint32_t row{};
    std::uint32_t place{};
  };
  struct shared_state {
    std::vector<std::uint32_t> rows;  // by place: rows of a pass that have run
    by_pass<std::vector<placed>> ran;
  };

  [[nodiscard]] static std::string number(auto n) { return std::to_string(n); }
  [[nodiscard]] static error wrong(sequence_id s, const std::string& what) {
    return {errc::invalid_input, "sequence " + number(s.value) + ' ' + what};
  }
  /// "forward pack 3 of replica 0"
  [[nodiscard]] static std::string name(pass p, std::size_t pack, std::uint32_t replica) {
    return std::string(name_of(p)) + " pack " + number(pack) + " of replica " + number(replica);
  }
  /// "runs tokens 4 to 8 in forward pack 3 of replica 0, where what begins at token 2 comes next"
  [[nodiscard]] static error not_due(const slice& one, pass p, const std::string& where, tokens due) {
    return wrong(one.sequence, "runs tokens " + number(one.begin.value) + " to " + number(one.end().value) + " in " +
                                   where + ", where what " + (p == pass::forward ? "begins" : "ends") + " at token " +
                                   number(due.value) + " comes next");
  }
  [[nodiscard]] error ended_early(sequence_id s, pass p, tokens due) const {
    return wrong(s, "of " + number(order_.of(s).length.value) + " tokens ends at token " + number(due.value) + ' ' +
                        name_of(p) + ": each token must run once");
  }
  [[nodiscard]] error too_early(const slice& one, pass p, const std::string& where) const {
    return wrong(one.sequence,
                 "runs tokens in " + where + ", before " +
                     (p == pass::forward ? "its parent, sequence " + number(order_.of(one.sequence).parent.value) +
                                               ", whose keys and values they read"
                                         : "a sequence below it, which reads its keys and values"));
  }
  [[nodiscard]] static sequence_id id_of(std::size_t s) { return {static_cast<std::uint32_t>(s)}; }

  result<void> merge_names_what_there_is(std::uint32_t m);
  result<void> row_names_what_there_is(const merge& m, pass p, std::size_t row) const;
  result<void> list();
  result<void> lists_paths(extent which) const;
  result<void> run(pass p);
  result<void> run(const slice& one, pass p, std::uint32_t replica, std::uint32_t pack);
  result<void> run_in_row(const slice& one, pass p, std::uint32_t replica, std::uint32_t pack);
  result<void> rows_ended(const merge& m, pass p);
  result<void> same_tokens(const merge& m) const;

  const packs_of_all& all_;
  slice_order order_;
  pass_front front_;                  // of sequences that nobody shares
  std::vector<state> of_;             // sequences
  std::vector<shared_state> shared_;  // merges
  std::size_t replicas_;
};

/// The law of stages that are tied, asked of replicas of a plan or of a solver's answer.
/// Requires  packs that are sound            Errors    invalid_input            Complexity  that of tie_fault
template <class Replicas>
[[nodiscard]] result<void> sound_ties(const Replicas& replicas, const batch_view& batch, const shape& on) {
  if (batch.shares_prefixes() &&
      std::any_of(replicas.begin(), replicas.end(), [](const auto& r) { return ties_stages(r); }))
    return error{errc::invalid_input, std::string("stages ") + what_ties +
                                          ", and samples share prefixes: plan them flat, each sample as a sequence of "
                                          "its own, or choose " +
                                          without_ties};
  std::optional<slice_order> order;
  for (std::size_t r = 0; r < replicas.size(); ++r)
    if (ties_stages(replicas[r])) {
      if (batch.shares_prefixes())
        return error{errc::invalid_input, "replica " + std::to_string(r) + ": stages " + what_ties +
                                              ", and samples share prefixes: plan them flat, or choose " +
                                              without_ties};
      if (const std::optional<std::string> fault = tie_fault(replicas[r], order ? *order : order.emplace(batch), on))
        return error{errc::invalid_input, "replica " + std::to_string(r) + ": " + *fault};
    }
  return success();
}

/// The laws of packs and of ties, asked of a plan.
[[nodiscard]] result<void> sound_packs(const plan& p, extent which);

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/core/soundness/impl/sound_packs.ipp>
#endif

#endif
