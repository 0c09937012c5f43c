#ifndef SLIMPACK_EXECUTORS_DETAIL_SCRIPT_TRANSFER_SCRIPT_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SCRIPT_TRANSFER_SCRIPT_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace slimpack::detail {

/// What a rank does with others in a step, in the plan's order of all transfers (simulators/transfer_order.hpp).
struct transfer_script {
  enum class kind : std::uint8_t { receive, rows, send, absent };
  struct step {
    kind what{};
    std::uint32_t at{};      // instruction of the rank's program that reads the message, has the rows, or sends; or of
                             // `absent`
    std::uint32_t number{};  // of the messages that the instruction reads, or of those that it sends
    friend bool operator==(const step&, const step&) = default;
  };
  /// Transfers with a row of which this rank has no tokens.
  struct absent_row {
    pass way{};
    std::uint32_t chunk{};
    std::uint32_t merge{};  // of the plan
    std::uint32_t row{};
    sequence_id sequence;
  };

  /// Up to which of the steps transfers are issued before an instruction runs, and until after it has.
  struct end_of {
    std::size_t before{};
    std::size_t after{};
  };

  std::vector<step> steps;
  std::vector<absent_row> absent;
  std::map<std::uint32_t, std::vector<std::uint32_t>> beside{};  // by instruction: those of `absent` that are among its
                                                                 // rows
  by_pass<std::vector<pack_id>>
      apart;             // packs whose rows are run one by one: some sharer has no tokens of one, or stages are tied
  std::uint64_t hash{};  // of the order of all that run together
  std::uint32_t together{};  // the first replica of these

  /// Where each transfer is issued at its place: before an instruction all that stand before what it reads or
  /// exchanges, after it all that stand before what it sends, and at the end of the program what is left.
  [[nodiscard]] std::vector<end_of> ends(std::size_t instructions) const {
    std::vector<end_of> found(instructions);
    for (std::size_t n = 0; n < steps.size(); ++n) {
      if (steps[n].what == kind::absent) continue;
      end_of& of = found[steps[n].at];
      (steps[n].what == kind::send ? of.after : of.before) = n + 1;
    }
    if (!found.empty()) found.back().after = steps.size();
    return found;
  }

  /// Requires  a program that is checked            Errors    those of transfer_order
  static result<transfer_script> of(const plan& p, std::uint32_t replica, std::uint32_t stage);

  /// Of a replica that runs one pack of its own through its stages.
  static transfer_script idle(const program& code, std::uint32_t replica, std::uint32_t stage, const shape& on);
};

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/executors/impl/transfer_script.ipp>
#endif

#endif
