#ifndef SLIMPACK_PROFILING_MEMORY_TRIALS_HPP
#define SLIMPACK_PROFILING_MEMORY_TRIALS_HPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/transports/gathered.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::profiling {

/// What a trainer's allocator says.
struct memory_reading {
  bytes now;   ///< in use
  bytes peak;  ///< the most in use since it was last asked
};

/// Asks it. In PyTorch it is torch.cuda.memory_allocated() and max_memory_allocated(), and reset_peak_memory_stats();
/// of an executors::activation_store held() and peak(), and restart_peak(). The question must not wait for the device:
/// allocators count when memory is asked for, not when kernels use it.
using memory_gauge = std::function<memory_reading()>;

/// What a call of a stage took and let go of.
struct memory_observation {
  instruction_kind kind{};  ///< forward, backward or weights
  bool apart{};             ///< a backward whose weight gradients come later
  int chunks{1};            ///< of the stage
  double tokens{};          ///< of the pack
  double pairs{};           ///< slice::dense_pairs of the pack
  double opened{};          ///< backward: tokens whose accumulators of dK and dV begin with it
  double closed{};          ///< and those whose accumulators end with it
  double before{};          ///< bytes in use before the call
  double peak{};            ///< the most while it ran
  double after{};

  friend bool operator==(const memory_observation&, const memory_observation&) = default;
};

/// What a stage's calls say of its memory.
struct memory_fit {
  memory_rates rates{.fixed = 0, .live_token = 0};
  double pair_bytes{};  ///< that a token's query and a key keep from forward to backward (costs::profiled::extras)
  double worst{};  ///< the largest error of what a call takes, lets go of or needs while it runs, over the largest of
                   ///< these
};

/// The rates that tell what was seen, none negative, and never less than the largest need of a running pack.
/// Formula   with n tokens, d dense pairs and g = gradient_token (closed - opened), all over the chunks of the stage:
///             after - before of a forward   live_token n + pair_bytes d
///             before - after of a backward  live_token n + pair_bytes d + g
///             before - after of a B         pair_bytes d + g - weight_token n
///             before - after of a W         (live_token + weight_token) n
///           and with n and d whole:
///             peak - after of a forward     forward_token n + forward_pair d + rest
///             peak - before of a backward   backward_token n + backward_pair d + rest, and what it opens
///           `rest`, the larger of both passes, and what the worst call needed above all that, are in `fixed`, with
///           `base`. So a call never needs more beside what is kept than the rates say of it
/// Source    derived: it is the account of simulators::stage_memory, read backwards
/// base      bytes in use where nothing is live
/// Units     bytes            Law  equal observations in equal order give equal bits
/// Errors    invalid_input: no forward or no backward among them, or bytes that are no numbers
/// Complexity O(observations)
[[nodiscard]] SLIMPACK_DECL result<memory_fit> fit_memory(std::span<const memory_observation> all, bytes base);

/// Reads a trainer's memory around the calls of a stage, in trials or in steps, and fits memory rates to it:
///
///   profiling::memory_trials memory{read};        // read: memory_gauge
///   memory.begin(plan);                           // nothing of it is live yet
///   memory.before();                              // then the call of an instruction, and
///   memory.after(instruction);
///   const profiling::memory_fit own = memory.fit().value();
///   const auto measured = profiling::gather_memory(world, own, stage, stages).value();
///   costs::profiled cost = profile.cost({.memory = measured.memory, .pair_bytes = measured.pair_bytes}).value();
///
/// What a trainer allocates only in steps, such as an optimizer's states at its first one, is in no trial: add it to
/// `fixed`. Rates that memory_fit does not name are not measured, and stay 0.
/// Requires  calls in the order of a program of the plan's first replica; nothing else that allocates beside them
class memory_trials {
 public:
  explicit memory_trials(memory_gauge read) : read_(std::move(read)) {}

  /// A plan of one replica begins, or a replica of a larger one.            Complexity  O(slices)
  SLIMPACK_DECL void begin(const plan& p, std::size_t replica = 0);

  void before() { before_ = read_().now.value; }
  void after(const instruction& i) {
    const memory_reading now = read_();
    if (i.is_pass() || i.is_weights()) seen_.push_back(observed(i, now));
  }

  [[nodiscard]] const std::vector<memory_observation>& seen() const noexcept { return seen_; }
  /// Errors    those of fit_memory
  [[nodiscard]] result<memory_fit> fit() const { return fit_memory(seen_, {base_}); }

 private:
  [[nodiscard]] SLIMPACK_DECL memory_observation observed(const instruction& i, const memory_reading& now) const;

  memory_gauge read_;
  workload work_{};                       // what packs open and close
  by_pass<std::vector<double>> sizes_{};  // tokens of each pack
  double base_{};
  double before_{};
  std::vector<memory_observation> seen_;
};

/// The memory of all stages, as a cost model takes it.
struct measured_memory {
  std::vector<memory_rates> memory;  ///< by stage
  std::vector<double> pair_bytes;    ///< by stage
  double worst{};                    ///< the largest of any rank
};

/// Tells all ranks what each has fitted: of the ranks of a stage the largest of each rate, since a plan must fit all.
/// So every rank has the same bits.
/// world     of all ranks of the job, in any order            stage  of this rank
/// Errors    those of the transport; invalid_input: no rank has measured some stage
/// Complexity a gather of O(rates) numbers a rank
template <class Transport>
[[nodiscard]] result<measured_memory> gather_memory(Transport& world, const memory_fit& own, int stage, int stages) {
  std::vector<double> told{static_cast<double>(stage), own.pair_bytes, own.worst};
  for (double memory_rates::*const rate : memory_rate_columns) told.push_back(own.rates.*rate);
  const result<std::vector<double>> all = gathered(world, std::span<const double>(told));
  if (!all) return all.error();
  const auto count = static_cast<std::size_t>(stages);
  measured_memory made{std::vector<memory_rates>(count, {.fixed = 0, .live_token = 0}), std::vector<double>(count), 0};
  std::vector<bool> known(count);
  for (std::size_t at = 0; at < all.value().size(); at += told.size()) {
    const std::span<const double> one = std::span(all.value()).subspan(at, told.size());
    const auto of = static_cast<std::size_t>(one[0]);
    if (of >= count) continue;
    known[of] = true;
    made.pair_bytes[of] = std::max(made.pair_bytes[of], one[1]);
    made.worst = std::max(made.worst, one[2]);
    std::size_t column = 3;
    for (double memory_rates::*const rate : memory_rate_columns) {
      double& most = made.memory[of].*rate;
      most = std::max(most, one[column++]);
    }
  }
  for (std::size_t of = 0; of < count; ++of)
    if (!known[of])
      return error{errc::invalid_input, "no rank has measured the memory of stage " + std::to_string(of) + " of " +
                                            std::to_string(count) + ": call gather_memory on all of them"};
  return made;
}

}  // namespace slimpack::profiling

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/profiling/impl/memory_trials.ipp>
#endif

#endif
