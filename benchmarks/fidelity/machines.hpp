#ifndef SLIMPACK_BENCHMARKS_FIDELITY_MACHINES_HPP
#define SLIMPACK_BENCHMARKS_FIDELITY_MACHINES_HPP

#include "memory_data.hpp"

#include <slimpack/costs/calibrated.hpp>
#include <slimpack/costs/kernel_samples.hpp>
#include <slimpack/costs/kernel_times.hpp>
#include <slimpack/costs/network.hpp>
#include <slimpack/io/gpu.hpp>
#include <slimpack/io/profile.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fidelity {

/// A GPU with the tables that were measured on it; between and beyond their points times follow a wave model fitted to
/// them.
struct machine {
  costs::kernel_times kernels;
  costs::network net;
  std::vector<costs::layer_sample> layers;
};

/// The GPUs of the data, by the name that a row gives. Nodes are joined as the GPU's description says: tables of
/// collectives between nodes are of one cluster, and left out.
class machines {
 public:
  /// `kernel`: what the names of attention kernels must have in them, where any of a GPU's has; empty: all are taken.
  explicit machines(const std::filesystem::path& data, std::string kernel = {})
      : data_(data), kernel_(std::move(kernel)), profile_(io::read_profile(data / "profiles").value()) {}

  /// Whether a GPU of that name is described, so that its rows can be predicted.
  [[nodiscard]] bool describes(const std::string& name) const { return io::read_gpu(description(name)).has_value(); }

  const machine& of(const std::string& name) {
    const std::string family = io::gpu_family(name);
    const auto known = made_.find(family);
    if (known != made_.end()) return known->second;
    const costs::gpu device = io::read_gpu(description(name)).value();
    const result<io::profile> measured = profile_.of(family);
    io::profile own = measured ? measured.value() : io::profile{};  // else the data sheet's constants stand alone
    std::erase_if(own.collectives, [](const costs::collective_sample& s) { return s.ranks > s.ranks_per_node; });
    const auto other = [&](const costs::attention_sample& a) { return a.kernel.find(kernel_) == std::string::npos; };
    if (!std::all_of(own.attention.begin(), own.attention.end(), other)) std::erase_if(own.attention, other);
    costs::wave_model model(device);
    if (const auto fitted = costs::calibrated::fit(model, own.attention, own.products)) model = fitted.value().model();
    costs::kernel_times kernels = costs::kernel_times::make(model, own.attention, own.products).value();
    machine made{std::move(kernels), costs::network::make(device, own.collectives).value(), std::move(own.layers)};
    return made_.emplace(family, std::move(made)).first->second;
  }

 private:
  [[nodiscard]] std::filesystem::path description(const std::string& name) const {
    return found(data_, "gpus/" + io::gpu_family(name) + ".json");
  }

  std::filesystem::path data_;
  std::string kernel_;
  io::profile profile_;
  std::map<std::string, machine> made_;
};

}  // namespace fidelity

#endif
