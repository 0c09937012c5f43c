#ifndef SLIMPACK_SOLVERS_ASSEMBLY_DETAIL_CHECKED_SLICER_HPP
#define SLIMPACK_SOLVERS_ASSEMBLY_DETAIL_CHECKED_SLICER_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/detail/time_faults.hpp>
#include <slimpack/slicers/cut_budget.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

namespace slimpack::detail {

/// What a slicer was asked.
struct slicer_question {
  sequence of;
  tokens at;
  slimpack::pass pass{};
  cut_budget left;
};

/// Whether an answer keeps slicer laws 1 to 4.
[[nodiscard]] constexpr bool is_slice_for(const slice& given, const slicer_question& asked) noexcept {
  const auto& [s, at, p, left] = asked;
  if (given.length == tokens{0}) return !left.empty || left.size < s.length;
  const bool forward = p == pass::forward;
  if (given.sequence != s.id || given.length < tokens{0} || given.length > left.size) return false;
  if (given.length > (forward ? s.length - at : at)) return false;
  if (given.begin != (forward ? at : at - given.length)) return false;
  const tokens cut = forward ? given.end() : given.begin;
  return cut == (forward ? s.length : tokens{0}) || cut.value % left.quantum.value == 0;
}

/// What is wrong with an answer that is none, in a sentence. Solvers number the sequences of a replica anew: named is
/// one of the batch that is as long.
[[nodiscard]] inline error told_slice(const slice& given, const slicer_question& asked,
                                      std::span<const tokens> lengths) {
  const auto& [s, at, p, left] = asked;
  const auto number = [](tokens n) { return std::to_string(n.value); };
  const bool forward = p == pass::forward;
  std::size_t named = s.id.value;
  if (named >= lengths.size() || lengths[named] != s.length)
    named = static_cast<std::size_t>(std::find(lengths.begin(), lengths.end(), s.length) - lengths.begin());
  std::string text = "the slicer's answer is wrong: of " +
                     (named < lengths.size() ? "sequence " + std::to_string(named) : std::string("a sequence")) +
                     " of " + number(s.length) + " tokens, " + name_of(p) +
                     (forward ? " from token " : " down from token ") + number(at) + ", with room for " +
                     (left.size < s.length ? number(left.size) : std::string("all of it")) + ", it gives ";
  if (given.length == tokens{0})
    return {errc::invalid_input,
            text + "nothing, although the pack is empty: some slice must be given then (slicer law 4)"};
  text += number(given.length) + " tokens from " + number(given.begin);
  if (given.sequence != s.id)
    text += " of another sequence: slices must be of the sequence that is asked for (slicer law 1)";
  else if (given.length < tokens{0})
    text += ": a slice has no negative length (slicer law 1)";
  else if (given.begin < tokens{0} || given.begin > s.length || given.length > s.length - given.begin)
    text += ": slices must lie in their sequence (slicer law 1)";
  else if ((forward ? given.begin : given.end()) != at)
    text +=
        std::string(": a slice must ") + (forward ? "begin" : "end") + " at token " + number(at) + " (slicer law 1)";
  else if (given.length > left.size)
    text += ": a slice must not exceed the room (slicer law 3)";
  else
    text += ": cuts must fall on multiples of the quantum, " + number(left.quantum) +
            " tokens, or on an end of the sequence (slicer law 2)";
  return {errc::invalid_input, text};
}

/// A slicer as a planner hands it to a solver: each answer is looked at, and of one that breaks a law the sentence goes
/// into the list of faults, which ends the search. The solver gets a sound slice instead, so that it never sees a wrong
/// one and all its loops end; the planner then gives the fault instead of a plan.
/// Law       answers are those of the slicer, where they keep its laws
/// Complexity that of the slicer, and some comparisons
template <class Slicer>
class checked_slicer {
 public:
  /// Requires  all outlive it
  checked_slicer(const Slicer& slicer, std::span<const tokens> lengths, time_faults& faults) noexcept
      : slicer_(&slicer), lengths_(lengths), faults_(&faults) {}

  template <class Cost>
  [[nodiscard]] slice next(const sequence& s, tokens at, pass p, const cut_budget& left, const Cost& cost) const {
    const slice given = slicer_->next(s, at, p, left, cost);
    const slicer_question asked{s, at, p, left};
    return is_slice_for(given, asked) ? given : refused(given, asked);
  }

 private:
  /// All that is left of the sequence, or nothing where that has no room.
  [[gnu::cold, gnu::noinline]] slice refused(const slice& given, const slicer_question& asked) const {
    const auto& [s, at, p, left] = asked;
    if (!faults_->any()) faults_->add(told_slice(given, asked, lengths_));
    const slice rest = p == pass::forward ? slice{s.id, at, s.length - at} : slice{s.id, {0}, at};
    return rest.length <= left.size ? rest : slice{s.id, at, {0}};
  }

  const Slicer* slicer_;
  std::span<const tokens> lengths_;
  time_faults* faults_;
};

}  // namespace slimpack::detail

#endif
