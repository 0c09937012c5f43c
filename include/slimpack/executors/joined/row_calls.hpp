#ifndef SLIMPACK_EXECUTORS_JOINED_ROW_CALLS_HPP
#define SLIMPACK_EXECUTORS_JOINED_ROW_CALLS_HPP

#include <cstdint>
#include <string_view>

namespace slimpack::executors {

/// How a compute that offers joined calls is called with packs that hold rows which replicas share.
///
///   apart    row after row, each through all layers, and then the other pieces: every exchange is waited for where it
///            is posted. The default: a stage then holds what the plan says
///   joined   one call with the whole pack: in each layer the compute posts what all rows exchange, computes what needs
///            nothing of the others, and then takes what has come (executors/joined/joined_row.hpp). The pack's own
///            attention covers the exchanges. Of a pack with several rows the accumulators of all are there at once,
///            which a plan's peak_memory counts row after row
///
/// A transport that keeps the plan's order of transfers, or moves memory of a device, runs rows apart whatever is
/// chosen: that order has the exchanges of a row one after the other, all layers of it before the next row, and the
/// device runs them in the order in which they are issued, among the pack's work.
/// Source    Zeppelin (arXiv:2509.21841), its order between nodes, inside a node, local; over packs derived
enum class row_calls : std::uint8_t { apart, joined };

inline constexpr row_calls all_row_calls[]{row_calls::apart, row_calls::joined};

[[nodiscard]] constexpr std::string_view name_of(row_calls how) noexcept {
  return how == row_calls::joined ? "joined" : "apart";
}

}  // namespace slimpack::executors

#endif
