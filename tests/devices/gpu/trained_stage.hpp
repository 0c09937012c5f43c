#ifndef SLIMPACK_TESTS_DEVICES_GPU_TRAINED_STAGE_HPP
#define SLIMPACK_TESTS_DEVICES_GPU_TRAINED_STAGE_HPP

#include "../../../examples/device/cuda_products.hpp"
#include "../../../examples/device/training.hpp"

#include <slimpack/planner_for.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack {

/// The stage of examples/adopt_cuda.cu on a real GPU, of which one call may fail.
template <class End>
class trained_stage : public device_trainer::layer_stage<End, device_trainer::cuda_products> {
  using base = device_trainer::layer_stage<End, device_trainer::cuda_products>;

 public:
  explicit trained_stage(base stage) : base(std::move(stage)) {}

  result<void> backward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    if (fails) return failure();
    return base::backward(p, in, out);
  }
  result<void> backward(std::span<const piece> row, std::span<const std::byte> in, outgoing& out, sharing& with) {
    if (fails) return failure();
    return base::backward(row, in, out, with);
  }

  bool fails{};

 private:
  static error failure() { return {errc::compute_failed, "a kernel that cannot be launched"}; }
};

/// Five texts on stages and replicas that may share them.
inline plan texts_planned(int stages, int replicas, std::uint32_t most_sharers) {
  struct end {  // any transport of device memory: planning asks for no endpoint
    devices::cuda& device();
    const devices::cuda::stream& stream();
  };
  const std::vector<tokens> lengths{{37}, {6}, {90}, {1}, {21}};
  const shape on{.stages = stages, .replicas = replicas, .quantum = {4}};
  return planner_for<device_trainer::layer_stage<end, device_trainer::cuda_products>>(
             on, {}, {}, {.most_sharers = most_sharers})(lengths)
      .value();
}

/// Steps on a rank of which the second fails on the rank `failing`: the others have the gradients of whole texts, the
/// second is told on all ranks. What is wrong, or nothing.
template <class End>
std::string steps_of(const plan& p, End& on, int failing) {
  const device_trainer::texts batch(p.lengths);
  auto products = device_trainer::cuda_products::make(on.stream());
  if (!products) return products.error().detail;
  auto made = device_trainer::layer_stage<End, device_trainer::cuda_products>::make(on, std::move(products).value(),
                                                                                    batch, on.rank() % p.shape.stages);
  if (!made) return made.error().detail;
  trained_stage<End> stage(std::move(made).value());
  const device_trainer::whole_batch expected(p.lengths, p.shape.stages);
  for (int step = 0; step < 4; ++step) {
    stage.fails = step == 1 && on.rank() == failing;
    const auto done = executors::packflow{}.execute(p, stage, on);
    if (step == 1) {
      if (done || done.error().detail.find("a kernel that cannot be launched") == std::string::npos)
        return "the step that fails says: " + (done ? std::string("nothing") : done.error().detail);
      continue;
    }
    if (!done) return "step " + std::to_string(step) + ": " + done.error().detail;
    const auto gradients = stage.gradients();
    if (!gradients) return gradients.error().detail;
    if (const double off = device_trainer::difference(expected, static_cast<std::size_t>(on.rank()), gradients.value());
        !(off < 1e-12))
      return "step " + std::to_string(step) + ": gradients are off by " + std::to_string(off * 1e12) + "e-12";
    if (auto changed = stage.step(0); !changed)
      return changed.error().detail;  // gradients begin at 0 again, weights
                                      // stay
  }
  if (auto ended = finish(on); !ended) return ended.error().detail;  // before the stage's memory goes
  return {};
}

/// Stages, replicas and sharers of a text.
struct gpu_layout {
  int stages, replicas;
  std::uint32_t sharers;
};

}  // namespace slimpack

#endif
