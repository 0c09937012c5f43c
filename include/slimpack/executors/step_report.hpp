#ifndef SLIMPACK_EXECUTORS_STEP_REPORT_HPP
#define SLIMPACK_EXECUTORS_STEP_REPORT_HPP

#include <slimpack/core/program.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/edge_values.hpp>

#include <cstdint>
#include <vector>

namespace slimpack {

/// What an executor returns after the last gradient of a step and before the optimizer, which stays with the trainer.
struct step_report {
  double loss_sum{};             ///< of the whole batch: the sum over ranks of the compute's loss(), already normalised
  tokens valid_tokens;           ///< of the whole batch
  tokens processed;              ///< tokens of the whole batch
  seconds elapsed;               ///< from the common start to the end of this rank's last instruction
  seconds reduce;                ///< gradient reduction on this rank, waiting for others included
  seconds step;                  ///< the slowest rank's elapsed and reduction: what the plan's step_time predicts
  bytes exchanged;               ///< sent to those that share sequences with this rank (executors/row_traffic.hpp)
  bytes lent;                    ///< sent for attention that this stage and others lend each other
                                 ///< (executors/lending/loan_traffic.hpp)
  std::int64_t loan_messages{};  ///< how many messages that were
  tokens peak_tokens;            ///< most live tokens on this stage, in (token, chunk) over chunks
  std::vector<timed_instruction> timeline;  ///< this stage's program as it ran
  edge_values log_probabilities;            ///< of the edges that this rank ran, where the compute offers them
  seconds checksums{};  ///< what checksums of messages have taken on this rank (packflow::checksums)
};

}  // namespace slimpack

#endif
