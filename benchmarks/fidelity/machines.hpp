#ifndef SLIMPACK_BENCHMARKS_FIDELITY_MACHINES_HPP
#define SLIMPACK_BENCHMARKS_FIDELITY_MACHINES_HPP

#include "data.hpp"

#include <slimpack/costs/kernels/kernel_samples.hpp>
#include <slimpack/costs/kernels/kernel_times.hpp>
#include <slimpack/costs/network/network.hpp>
#include <slimpack/io/profile.hpp>

#include <filesystem>
#include <map>
#include <string>
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
  explicit machines(const std::filesystem::path& data, std::string kernel = {});

  /// Whether a GPU of that name is described, so that its rows can be predicted.
  [[nodiscard]] bool describes(const std::string& name) const;

  /// What is missing where none is.
  [[nodiscard]] std::string lacks(const std::string& name) const;

  const machine& of(const std::string& name);

 private:
  [[nodiscard]] std::filesystem::path description(const std::string& name) const;

  std::filesystem::path data_;
  std::string kernel_;
  io::profile profile_;
  std::map<std::filesystem::path, machine> made_;  // by description
};

}  // namespace fidelity

#endif
