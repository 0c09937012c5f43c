#ifndef SLIMPACK_EXAMPLES_TRAIN_JOURNAL_HPP
#define SLIMPACK_EXAMPLES_TRAIN_JOURNAL_HPP

#include "../plan/terminal.hpp"
#include "corpus.hpp"
#include "inputs.hpp"
#include "options.hpp"

#include <slimpack/core/plan.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/profiled.hpp>
#include <slimpack/executors/step_report.hpp>
#include <slimpack/profiling/clocks.hpp>
#include <slimpack/profiling/driver.hpp>
#include <slimpack/profiling/fit.hpp>
#include <slimpack/profiling/pack_sums.hpp>
#include <slimpack/profiling/stage_profile.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace train {

/// One planner's run of one step's batch.
struct step_figures {
  std::string planner;
  double loss{};  ///< nats per token that has a next one
  slimpack::tokens processed;
  slimpack::seconds measured;
  slimpack::seconds predicted;
  double bubble{};                                    ///< measured: 1 - time in instructions / (ranks * step time)
  slimpack::bytes peak;                               ///< of activations, on the stage that holds most
  slimpack::bytes predicted_peak;                     ///< of the same stage
  bool peaks_agree{};                                 ///< measured and predicted, to the byte, on every rank
  slimpack::bytes exchanged;                          ///< sent between replicas that share sequences, by all ranks
  slimpack::bytes predicted_exchanged;                ///< from the plan
  std::size_t backwards{};                            ///< backward packs of all replicas
  std::size_t apart{};                                ///< those of them whose weight gradients ran apart
  slimpack::bytes lent;                               ///< sent for attention that stages lend each other, by all ranks
  std::int64_t loan_messages{};                       ///< in so many messages
  bool loans_agree{};                                 ///< both as the plan says, on every rank
  slimpack::seconds checksums;                        ///< what checksums of messages took, on all ranks together
  std::vector<slimpack::profiling::pack_sum> sums{};  ///< of all ranks, where prices were measured
  std::optional<double> uncertainty{};                ///< of the predicted computation, by the rates of the prices
};

/// What rank 0 tells of a training: a line per step, a summary, and a file with all digits.
class journal {
 public:
  journal(const options& o, const inputs& in, std::ostream& out);

  /// How the stages were timed: by which clock, and what there was no time for.
  void timed(const slimpack::profiling::measurement& seen) const;
  void calibrated(const slimpack::costs::profiled& cost, const slimpack::profiling::stage_profile& profile,
                  slimpack::seconds took, bool read);
  /// The cost fitted to steps, and how far the one before was off them.
  void refitted(const slimpack::profiling::drift& off, const slimpack::profiling::fit_check& check,
                const slimpack::profiling::clocks& by) const;
  /// One step: the planner's run first, then those compared with it.
  void step(std::vector<step_figures> runs, slimpack::seconds planning);
  void summarize(slimpack::seconds took) const;
  /// What was held out, run forward alone.
  void evaluated(const slimpack::plan& p, const slimpack::step_report& ran) const;
  void write_log(std::ostream& out) const;

 private:
  void summarize(std::size_t run) const;
  /// Says which packs of a planner's steps were off their prices in sum, if any were: a speed-up in which plans were
  /// chosen by such prices, or compared by them, is not the one that right prices give.
  void warn_of_prices(std::size_t run) const;
  void warn_of_other_work(const slimpack::profiling::clocks& by) const;

  const options& options_;
  const corpus& texts_;
  mutable cli::report_stream out_;
  std::vector<std::vector<step_figures>> steps_;
  std::vector<double> planning_;
};

}  // namespace train

#endif
