#ifndef SLIMPACK_EXAMPLES_PLAN_SETTING_HPP
#define SLIMPACK_EXAMPLES_PLAN_SETTING_HPP

#include "options.hpp"
#include "planners.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/costs/gpu.hpp>
#include <slimpack/costs/kernel_samples.hpp>
#include <slimpack/costs/kernel_times.hpp>
#include <slimpack/costs/model_shape.hpp>
#include <slimpack/costs/network.hpp>
#include <slimpack/costs/saved_tensors.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cli {

/// What was measured on the GPU, ready to ask.
struct measurements {
  slimpack::costs::kernel_times kernels;
  slimpack::costs::network network;
  std::vector<slimpack::costs::layer_sample> layers;
  bool links{};                    ///< collectives were measured
  std::vector<std::string> notes;  ///< a line each
};

/// What every batch is planned with: the options, and what their files hold.
struct setting {
  cli::options options;
  std::optional<slimpack::costs::model_shape> model{};
  std::optional<slimpack::costs::gpu> device{};
  slimpack::costs::saved_tensors tensors{slimpack::costs::saved_tensors::flash_attention()};
  std::optional<measurements> measured{};  ///< under --cost profiled
  slimpack::shape shape{};                 ///< with the memory limit
  any_cost cost{};
};

/// Reads the files that the options name, and makes the cost model.
slimpack::result<setting> prepare(const options& o);

/// The cost model of a setting on another shape, or with other recomputation. Not for quadratic costs.
slimpack::result<any_cost> cost_on(const setting& s, const slimpack::shape& on, slimpack::costs::recompute again);

}  // namespace cli

#endif
