#ifndef SLIMPACK_IO_DETAIL_PLAN_VOCABULARY_COLUMNS_HPP
#define SLIMPACK_IO_DETAIL_PLAN_VOCABULARY_COLUMNS_HPP

#include <slimpack/core/pass_timing.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/core/vocabulary.hpp>

#include <span>
#include <vector>

/// Where plan files have the columns of vocabulary_columns: times of calls with their packs, messages in "message".
namespace slimpack::io::detail {

using vocabulary_column = std::vector<seconds> vocabulary_timing::*;

[[nodiscard]] constexpr bool is_call(vocabulary_column c) noexcept {
  return c == &vocabulary_timing::embed || c == &vocabulary_timing::output || c == &vocabulary_timing::output_weights ||
         c == &vocabulary_timing::embed_gradients;
}
/// Whose packs it has times of.
[[nodiscard]] constexpr pass pass_of(vocabulary_column c) noexcept {
  return c == &vocabulary_timing::embed_gradients || c == &vocabulary_timing::gradients ? pass::backward
                                                                                        : pass::forward;
}

/// Of a pack's messages in a column, those that there are, in order of stages.
/// Shapes    pack: one value per stage
template <class Seconds>
[[nodiscard]] std::span<Seconds> sent_in(vocabulary_column c, std::span<Seconds> pack) noexcept {
  return c == &vocabulary_timing::embedded ? pack : slimpack::detail::boundaries(pack, pass_of(c));
}

/// The key of what part 0's B sends to G on the last stage.
inline constexpr const char* to_gradients = "to_gradients";

}  // namespace slimpack::io::detail

#endif
