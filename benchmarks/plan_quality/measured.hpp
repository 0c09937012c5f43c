#ifndef SLIMPACK_BENCHMARKS_PLAN_QUALITY_MEASURED_HPP
#define SLIMPACK_BENCHMARKS_PLAN_QUALITY_MEASURED_HPP

#include <slimpack/core/shape.hpp>
#include <slimpack/costs/calibrated.hpp>
#include <slimpack/costs/kernels/kernel_times.hpp>
#include <slimpack/costs/kernels/wave_model.hpp>
#include <slimpack/costs/model/gpu.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/network/network.hpp>
#include <slimpack/costs/profiled.hpp>
#include <slimpack/costs/profiled_of.hpp>
#include <slimpack/io/profile.hpp>

#include <filesystem>

namespace slimpack::plan_quality {

/// A model's stages on a GPU by the tables of times that come with the library, below `data`.
[[nodiscard]] inline costs::profiled measured(const std::filesystem::path& data, const costs::model_shape& model,
                                              const costs::gpu& device, const shape& on) {
  const io::profile rows = io::read_profile(data / "profiles").value().of(device.name).value();
  const costs::wave_model sheet(device);
  const auto fitted = costs::calibrated::fit(sheet, rows.attention, rows.products);
  const costs::kernel_times kernels =
      costs::kernel_times::make(fitted ? fitted.value().model() : sheet, rows.attention, rows.products).value();
  const costs::network network = costs::network::make(device, rows.collectives).value();
  return costs::profiled_of(model, on, kernels, network, {}, rows.layers).value();
}

}  // namespace slimpack::plan_quality

#endif
