#ifndef SLIMPACK_VIEWS_NEEDS_HPP
#define SLIMPACK_VIEWS_NEEDS_HPP

#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/views.hpp>
#include <slimpack/views/detail/each_of.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace slimpack {

/// What a stage reads of a text: tokens that it embeds, or those that its predictions are compared with.
enum class token_use : unsigned char { inputs, targets };

/// Tokens that a rank needs, and when.
struct need_view {
  std::uint32_t replica{};
  std::uint32_t stage{};
  token_use use{};
  slimpack::slice tokens;  ///< of a sequence, by their places on its path. Targets are one further on than the inputs
                           ///< that predict them: where a plan names no targets (plan::targets), the last is the
                           ///< token behind the sequence, which is for the trainer to know
  std::size_t instruction{};  ///< of the stage's program, from 0: the first that needs them
};

namespace views {

namespace detail {

/// The targets of a plan, found by the tokens that predict them: a token's own sequence has one, and where it is the
/// last, each that goes on behind it may have its first.
class predictions {
 public:
  /// Requires  targets of the plan, which outlives it            Complexity  O(sequences + targets)
  explicit predictions(const plan& p) : targets_(p.targets), runs_(p.lengths.size() + 1), firsts_(runs_.size()) {
    const std::vector<sequence> all = batch_of(p).sequences();
    const auto follows_parent = [&](const target_run& t) {
      return t.begin == all[t.sequence.value].begin && !all[t.sequence.value].is_root();
    };
    for (const sequence& s : all) ends_.push_back(s.end());
    for (const target_run& t : targets_) {
      ++runs_[t.sequence.value + std::size_t{1}];
      if (follows_parent(t)) ++firsts_[all[t.sequence.value].parent.value + std::size_t{1}];
    }
    for (std::size_t s = 1; s < runs_.size(); ++s) runs_[s] += runs_[s - 1], firsts_[s] += firsts_[s - 1];
    behind_.resize(firsts_.back());
    std::vector<std::size_t> next(firsts_.begin(), firsts_.end() - 1);
    for (const target_run& t : targets_)
      if (follows_parent(t)) behind_[next[all[t.sequence.value].parent.value]++] = {t.sequence, t.begin, {1}};
  }

  /// How many runs of targets a slice predicts.            Complexity  O(log of the sequence's targets)
  [[nodiscard]] std::size_t count(const slice& s) const { return of_sequence(s).size() + of_others(s).size(); }
  /// One of them: first those of its own sequence.
  [[nodiscard]] slice at(const slice& s, std::size_t i) const {
    const std::span<const target_run> own = of_sequence(s);
    if (i >= own.size()) return of_others(s)[i - own.size()];
    const tokens begin = std::max(own[i].begin, s.begin + tokens{1});
    return {s.sequence, begin, std::min(own[i].begin + own[i].length, s.end() + tokens{1}) - begin};
  }

 private:
  /// Runs that have some of the tokens (s.begin, s.end()].
  [[nodiscard]] std::span<const target_run> of_sequence(const slice& s) const {
    const auto all = targets_.subspan(runs_[s.sequence.value], runs_[s.sequence.value + 1] - runs_[s.sequence.value]);
    const auto first = std::partition_point(
        all.begin(), all.end(), [&](const target_run& t) { return t.begin + t.length <= s.begin + tokens{1}; });
    const auto end = std::partition_point(first, all.end(), [&](const target_run& t) { return t.begin <= s.end(); });
    return {first, end};
  }
  /// First tokens of others, where the slice has the last of its sequence.
  [[nodiscard]] std::span<const slice> of_others(const slice& s) const {
    const std::size_t first = firsts_[s.sequence.value];
    if (s.end() != ends_[s.sequence.value]) return {};
    return std::span(behind_).subspan(first, firsts_[s.sequence.value + 1] - first);
  }

  std::span<const target_run> targets_;
  std::vector<std::size_t> runs_;    // by sequence, its first in targets_
  std::vector<std::size_t> firsts_;  // by sequence, in behind_
  std::vector<slice> behind_;        // first tokens of what goes on behind it
  std::vector<tokens> ends_;         // of sequences
};

/// An instruction that reads tokens.
struct reading {
  const plan* of;
  std::size_t replica;
  std::size_t stage;
  std::size_t instruction;
  token_use use;
  std::shared_ptr<const predictions> targets;  // where the plan names some

  [[nodiscard]] const slimpack::instruction& code() const { return of->replicas[replica].programs[stage][instruction]; }
  /// Of the model's ends: F of the first and of the last part, or E and V where there are such.
  [[nodiscard]] bool reads() const {
    const slimpack::instruction& i = code();
    if (facts_of(i.kind).weight_gradients) return false;
    const bool inputs = use == token_use::inputs;
    if (has(of->shape, instruction_kind::output))
      return i.kind == (inputs ? instruction_kind::embed : instruction_kind::output);
    const auto stages = static_cast<std::size_t>(of->shape.stages);
    const auto chunks = static_cast<std::uint32_t>(of->shape.chunks);
    return inputs ? stage == 0 && i.chunk == 0 : stage + 1 == stages && i.chunk + 1 == chunks;
  }
};

/// A slice of such an instruction.
struct read_slice {
  reading by;
  slice of;
};

struct slices_of_reading {
  static std::span<const slice> slices(const reading& r) {
    return r.of->replicas[r.replica].partition.forward[r.code().pack.value];
  }
  static std::size_t count(const reading& r) { return r.reads() ? slices(r).size() : 0; }
  static read_slice at(const reading& r, std::size_t i) { return {r, slices(r)[i]}; }
};

struct tokens_of_slice {
  static bool has_runs(const read_slice& s) { return s.by.use == token_use::targets && s.by.targets; }
  static std::size_t count(const read_slice& s) { return has_runs(s) ? s.by.targets->count(s.of) : 1; }
  static need_view at(const read_slice& s, std::size_t i) {
    slice tokens = has_runs(s) ? s.by.targets->at(s.of, i) : s.of;
    if (s.by.use == token_use::targets && !has_runs(s)) tokens.begin += slimpack::tokens{1};
    return {static_cast<std::uint32_t>(s.by.replica), static_cast<std::uint32_t>(s.by.stage), s.by.use, tokens,
            s.by.instruction};
  }
};

}  // namespace detail

/// The tokens that a stage of a replica needs, in the order in which it needs them; none on a stage between the ends of
/// the model. Each token is there once as an input and once as a target: what a backward reads of them again, its
/// forward has read. A plan that names its targets (plan::targets) needs these alone: the first of a sequence that goes
/// on behind another is needed where that one's last token runs. For data that is spread over ranks: who has a token
/// finds all that want it, and when (examples/ship_tokens.cpp).
/// Law       for each use, the stages of a replica that need anything need each token of its sequences once, or each
///           that is a target: one stage, or all where each has E and V
/// Complexity O(instructions of the stage + what it needs), and where targets are named O(sequences + targets) to make
///           it and a logarithm for each slice
[[nodiscard]] inline auto needs(const plan& p, std::size_t replica, std::size_t stage) {
  const plan* const all = &p;
  std::shared_ptr<const detail::predictions> targets;
  if (!p.targets.empty()) targets = std::make_shared<const detail::predictions>(p);
  return slimpack::detail::each_of<detail::tokens_of_slice>(slimpack::detail::each_of<detail::slices_of_reading>(
      detail::each(2 * p.replicas[replica].programs[stage].size(), [all, replica, stage, targets](std::size_t k) {
        return detail::reading{all,    replica, stage, k / 2, k % 2 == 0 ? token_use::inputs : token_use::targets,
                               targets};
      })));
}
void needs(const plan&&, std::size_t, std::size_t) = delete;

}  // namespace views
}  // namespace slimpack

#endif
