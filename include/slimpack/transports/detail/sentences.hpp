#ifndef SLIMPACK_TRANSPORTS_DETAIL_SENTENCES_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_SENTENCES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>

#include <cstddef>
#include <string>

/// What transports answer in the same words.
namespace slimpack::detail {

[[nodiscard]] inline bool is_rank(int peer, int size) noexcept { return peer >= 0 && peer < size; }
[[nodiscard]] error no_such_rank(int peer, int size);

/// One way of a channel.
struct route_name {
  int peer{};
  int channel{};
  bool receives{};
};
/// "waited ... s for ", which a sentence about a time-out goes on from.
[[nodiscard]] std::string waited_for(seconds time_out);
[[nodiscard]] error late_message(const route_name& on, seconds waited);

/// A message of another size than its receiver named.
[[nodiscard]] error wrong_size(std::size_t came, std::size_t expected, int peer, int channel);

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/transports/impl/sentences.ipp>
#endif

#endif
