#ifndef SLIMPACK_SIMULATORS_TRANSFER_HPP
#define SLIMPACK_SIMULATORS_TRANSFER_HPP

#include <slimpack/core/program.hpp>

#include <cstdint>
#include <variant>

/// What ranks send each other in a step, as simulators::transfer_order puts it in order. Each has the replica and the
/// stage of a rank that takes part in it.
namespace slimpack::simulators::transfers {

/// A message that an instruction sends.
struct message {
  instruction what;
  std::uint32_t stage{};
  std::uint32_t replica{};
  std::uint32_t receiver{};  ///< the stage
  friend bool operator==(const message&, const message&) = default;
};

/// What a pack's rows exchange with the other sharers, all rows of the pack. Those of the sharers stand next to each
/// other.
struct rows {
  instruction what;
  std::uint32_t stage{};
  std::uint32_t replica{};
  std::uint32_t gate{};  ///< what runs together has one number
  friend bool operator==(const rows&, const rows&) = default;
};

/// The transfers of a sharer with a row of which it has no tokens, behind those of the row.
struct absent {
  slimpack::pass pass{};
  std::uint32_t chunk{};
  std::uint32_t stage{};
  std::uint32_t replica{};
  std::uint32_t merge{};  ///< which of the plan's
  std::uint32_t row{};    ///< of the merge
  std::uint32_t gate{};   ///< that of the row
  friend bool operator==(const absent&, const absent&) = default;
};

/// A leg of rows that cross between nodes over proxies, in every hop of every layer, behind the rows.
struct leg {
  slimpack::pass pass{};
  std::uint32_t chunk{};
  std::uint32_t stage{};
  std::uint32_t replica{};   ///< that sends it
  std::uint32_t receiver{};  ///< the replica
  std::uint32_t merge{};     ///< which of the plan's
  std::uint32_t row{};       ///< of the merge
  std::uint32_t number{};    ///< its place in legs_in_order
  std::uint32_t gate{};      ///< that of the rows
  friend bool operator==(const leg&, const leg&) = default;
};

/// What an instruction and those of other stages that it is tied to send each other (core/ensemble/stage_ties.hpp),
/// layer by layer. Those of what runs together stand next to each other, behind their rows.
struct ties {
  instruction what;
  std::uint32_t stage{};
  std::uint32_t replica{};
  std::uint32_t gate{};  ///< what runs together has one number
  friend bool operator==(const ties&, const ties&) = default;
};

}  // namespace slimpack::simulators::transfers

namespace slimpack::simulators {

using transfer = std::variant<transfers::message, transfers::rows, transfers::absent, transfers::leg, transfers::ties>;

}  // namespace slimpack::simulators

#endif
