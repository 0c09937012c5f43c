#ifndef SLIMPACK_TRANSPORTS_DETAIL_SENTENCES_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_SENTENCES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/rank_names.hpp>
#include <slimpack/core/units.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>

/// What transports answer in the same words.
namespace slimpack::detail {

[[nodiscard]] inline bool is_rank(int peer, int size) noexcept { return peer >= 0 && peer < size; }

[[nodiscard]] inline error no_such_rank(int peer, int size) {
  return {errc::invalid_input, "no rank " + std::to_string(peer) + " among " + std::to_string(size)};
}

/// One way of a channel.
struct route_name {
  int peer{};
  int channel{};
  bool receives{};
};
/// "waited ... s for ", which a sentence about a time-out goes on from.
[[nodiscard]] inline std::string waited_for(seconds time_out) {
  char text[64];
  std::snprintf(text, sizeof text, "waited %g s for ", time_out.value);
  return text;
}

[[nodiscard]] inline error late_message(const route_name& on, seconds waited) {
  return error_of_ranks(errc::timed_out, on.receives ? "no message from rank " : "no receive by rank ",
                        own_rank{on.peer}, " on channel " + std::to_string(on.channel) + " in ",
                        std::to_string(std::llround(waited.value * 1000)) + " ms");
}

/// A message of another size than its receiver named.
[[nodiscard]] inline error wrong_size(std::size_t came, std::size_t expected, int peer, int channel) {
  return error_of_ranks(
      errc::wrong_message, "a message of " + std::to_string(came) + " bytes from rank ", own_rank{peer},
      " on channel " + std::to_string(channel) + ", where " + std::to_string(expected) + " were expected");
}

}  // namespace slimpack::detail

#endif
