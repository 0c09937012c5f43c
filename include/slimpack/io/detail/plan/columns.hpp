#ifndef SLIMPACK_IO_DETAIL_PLAN_COLUMNS_HPP
#define SLIMPACK_IO_DETAIL_PLAN_COLUMNS_HPP

#include <slimpack/core/timings.hpp>
#include <slimpack/core/units.hpp>

#include <span>

/// Where plan files have the columns of time_columns: times of calls with their packs, messages in "message".
namespace slimpack::io::detail {

[[nodiscard]] constexpr const char* key_of(time_column c) noexcept {
  if (c == instruction_kind::forward || c == instruction_kind::backward) return "time";
  return c == instruction_kind::weights ? "weight_time" : c.name();
}

/// Of a pack's messages in a column, those that there are, in order of places: none leaves the last part or stage of a
/// pass, but the last embedding, which part 0 waits for.
/// Shapes    pack: one value per place
template <class Seconds>
[[nodiscard]] std::span<Seconds> sent_in(time_column c, std::span<Seconds> pack) noexcept {
  return c == message_kind::embedded ? pack : slimpack::detail::boundaries(pack, c.pass());
}

/// The key of what part 0's B sends to G on the last stage.
inline constexpr const char* to_gradients = "to_gradients";

}  // namespace slimpack::io::detail

#endif
