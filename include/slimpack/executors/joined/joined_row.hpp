#ifndef SLIMPACK_EXECUTORS_JOINED_JOINED_ROW_HPP
#define SLIMPACK_EXECUTORS_JOINED_JOINED_ROW_HPP

#include <slimpack/detail/has_member.hpp>
#include <slimpack/executors/sharing.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace slimpack::executors {

/// How a compute that offers joined calls is called with packs that hold rows which replicas share.
///
///   apart    row after row, each through all layers, and then the other pieces: every exchange is waited for where it
///            is posted. The default: a stage then holds what the plan says
///   joined   one call with the whole pack: in each layer the compute posts what all rows exchange, computes what needs
///            nothing of the others, and then takes what has come (joined_row, below). The pack's own
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

namespace slimpack {

namespace detail {
SLIMPACK_DETAIL_HAS_MEMBER(joins_rows);

template <class Compute>
consteval bool says_joins_rows() {
  if constexpr (requires {
                  { Compute::joins_rows } -> std::same_as<const bool&>;
                  typename std::bool_constant<Compute::joins_rows>;
                }) {
    static_assert(!Compute::joins_rows || shares_rows<Compute>,
                  "a stage compute that joins rows shares rows: it says shares_rows, too");
    return Compute::joins_rows;
  } else {
    static_assert(!has_member_joins_rows<Compute>, "a stage compute's joins_rows is a public static constexpr bool");
    return false;
  }
}

/// Whether a compute says `static constexpr bool joins_rows = true`: it can be called with a whole pack, rows that
/// replicas share among it.
template <class Compute>
concept joins_rows = says_joins_rows<Compute>();
}  // namespace detail

/// A row that replicas share in a pack that a stage compute is called with whole:
///
///   result<void> forward(span<const piece> pack, span<const byte> in, outgoing& out, span<const joined_row> rows)
///   result<void> backward(span<const piece> pack, span<const byte> in, outgoing& out, span<const joined_row> rows)
///
/// The rows are in the order in which a compute posts them: those with a sharer on another node first, as packflow's
/// node_of says, then those inside a node; among equals in order of sequence. Within a row, what goes to other nodes is
/// posted first. In each layer, one row's calls are those of executors/sharing.hpp, and all rows of the pack are
/// exchanged at once:
///
///   1. for each row, in order      post: give, or launch; backward owe, once the row's attention has added up what it
///      owes, or launch
///   2. attention of pieces that are in no row, and of each rank's own tokens of rows that go round, while rows travel
///   3. for each row, in order      take what has come: take, or rotate until it is home; backward due, or rotate
///
/// Law       a layer posts all rows before it takes one, and takes them in the order of the list: so no rank waits for
///           one that waits for it, since all sharers of a pack's rows run these packs at the same time, and have the
///           same order
/// Requires  a compute that keeps its states itself, is called by pack and offers the calls for one row, too: rows of
///           which some sharer has no tokens (merge::none) are run apart, and so are all that run together with these;
///           and row_calls::apart
/// Errors    those of sharing; a row that is not through all its layers when the call returns is an error of the
///           compute
struct joined_row {
  sharing* with{};       ///< its exchange
  std::size_t first{};   ///< of its pieces in the pack
  std::size_t count{};   ///< of them; all are of one sequence
  bool crosses_nodes{};  ///< some of the sharers are on another node than this rank
};

}  // namespace slimpack

#endif
