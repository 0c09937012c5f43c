#ifndef SLIMPACK_BENCHMARKS_FIDELITY_PAPER_RUNS_HPP
#define SLIMPACK_BENCHMARKS_FIDELITY_PAPER_RUNS_HPP

#include "data.hpp"
#include "machines.hpp"
#include "prices.hpp"

#include <slimpack/core/shape.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/stage_options.hpp>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace fidelity {

/// How Megatron-LM ran in the papers: before flash attention, with dropout; kernels fused and written for its widths,
/// so that rows are read once; gradients in fp32, one optimizer on every copy.
[[nodiscard]] costs::stage_options megatron(bool sequence_parallel, const std::string& recompute);

/// GPT as a row of a table describes it.
[[nodiscard]] costs::model_shape gpt_of(const cells& c, int layers, std::int64_t vocabulary);

/// One run of Megatron-LM as a paper describes it; what it does not print is empty.
struct paper_run {
  std::string name;
  std::string file;
  std::string gpu;
  costs::model_shape model;
  shape on;
  int batch{};  ///< sequences
  tokens sequence;
  std::optional<int> micro_batch;
  bool chunks_printed{};
  costs::stage_options with;
  seconds measured;

  /// Of a GPU, for the dumb baselines.
  [[nodiscard]] double flops() const {
    const double all = 6 * costs::parameters(model) * batch * static_cast<double>(sequence.value);
    return all / (on.stages * on.replicas * on.tensor);
  }
};

struct prediction {
  seconds time{std::numeric_limits<double>::infinity()};
  int micro_batch{};
  int chunks{};
};

/// What was not printed is chosen as its authors would: the fastest of 1, 2, 4, 8 sequences a micro-batch, and of the
/// chunks that divide a stage's layers, in whole rounds of the pipeline and within memory.
[[nodiscard]] prediction predicted(const paper_run& r, machines& cluster, price_kind by = price_kind::measured);

/// The runs of Korthikanti et al. and of Narayanan et al. that the machines can predict, and notes on the others.
[[nodiscard]] std::vector<paper_run> megatron_runs(const std::filesystem::path& data, machines& cluster,
                                                   std::vector<std::string>& notes);

}  // namespace fidelity

#endif
