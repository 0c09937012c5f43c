#ifndef SLIMPACK_SOLVERS_ASSEMBLY_IMPL_CHECKED_SLICER_IPP
#define SLIMPACK_SOLVERS_ASSEMBLY_IMPL_CHECKED_SLICER_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/solvers/assembly/detail/checked_slicer.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace slimpack::detail {

SLIMPACK_DECL error told_slice(const slice& given, const slicer_question& asked, std::span<const tokens> lengths) {
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

}  // namespace slimpack::detail

#endif
