#ifndef SLIMPACK_TRANSPORTS_IMPL_SENTENCES_IPP
#define SLIMPACK_TRANSPORTS_IMPL_SENTENCES_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/transports/detail/sentences.hpp>

#include <cmath>
#include <cstdio>
#include <string>

namespace slimpack::detail {

SLIMPACK_DECL error no_such_rank(int peer, int size) {
  return {errc::invalid_input, "no rank " + std::to_string(peer) + " among " + std::to_string(size)};
}

SLIMPACK_DECL std::string waited_for(seconds time_out) {
  char text[64];
  std::snprintf(text, sizeof text, "waited %g s for ", time_out.value);
  return text;
}

SLIMPACK_DECL error late_message(const route_name& on, seconds waited) {
  return {errc::timed_out, std::string(on.receives ? "no message from" : "no receive by") + " rank " +
                               std::to_string(on.peer) + " on channel " + std::to_string(on.channel) + " in " +
                               std::to_string(std::llround(waited.value * 1000)) + " ms"};
}

SLIMPACK_DECL error wrong_size(std::size_t came, std::size_t expected, int peer, int channel) {
  return {errc::wrong_message, "a message of " + std::to_string(came) + " bytes from rank " + std::to_string(peer) +
                                   " on channel " + std::to_string(channel) + ", where " + std::to_string(expected) +
                                   " were expected"};
}

}  // namespace slimpack::detail

#endif
