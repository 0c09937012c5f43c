#include "machines.hpp"

#include <slimpack/costs/calibrated.hpp>
#include <slimpack/io/gpu.hpp>

#include <algorithm>
#include <utility>

namespace fidelity {

machines::machines(const std::filesystem::path& data, std::string kernel)
    : data_(data), kernel_(std::move(kernel)), profile_(io::read_profile(data / "profiles").value()) {}

bool machines::describes(const std::string& name) const { return io::read_gpu(description(name)).has_value(); }

std::string machines::lacks(const std::string& name) const {
  return "GPU " + name + ": no gpus/" + io::gpu_family(name) + ".json describes it";
}

std::filesystem::path machines::description(const std::string& name) const {
  std::string board = costs::plain_gpu_name(name);
  std::replace(board.begin(), board.end(), ' ', '-');
  const std::filesystem::path own = found(data_, "gpus/" + board + ".json");
  return std::filesystem::exists(own) ? own : found(data_, "gpus/" + io::gpu_family(name) + ".json");
}

const machine& machines::of(const std::string& name) {
  const std::filesystem::path file = description(name);
  const auto known = made_.find(file);
  if (known != made_.end()) return known->second;
  const costs::gpu device = io::read_gpu(file).value();
  const std::string family = io::gpu_family(name);
  const result<io::profile> measured = profile_.of(family);
  io::profile own = measured ? measured.value() : io::profile{};  // else the data sheet's constants stand alone
  if (const result<costs::gpu> chip = io::read_gpu(found(data_, "gpus/" + family + ".json")))
    own = own.on_board(chip.value(), device);
  std::erase_if(own.collectives, [](const costs::collective_sample& s) { return s.ranks > s.ranks_per_node; });
  const auto other = [&](const costs::attention_sample& a) { return a.kernel.find(kernel_) == std::string::npos; };
  if (!std::all_of(own.attention.begin(), own.attention.end(), other)) std::erase_if(own.attention, other);
  costs::wave_model model(device);
  if (const auto fitted = costs::calibrated::fit(model, own.attention, own.products)) model = fitted.value().model();
  costs::kernel_times kernels = costs::kernel_times::make(model, own.attention, own.products).value();
  machine made{std::move(kernels), costs::network::make(device, own.collectives).value(), std::move(own.layers)};
  return made_.emplace(file, std::move(made)).first->second;
}

}  // namespace fidelity
