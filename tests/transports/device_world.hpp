#ifndef SLIMPACK_TESTS_TRANSPORTS_DEVICE_WORLD_HPP
#define SLIMPACK_TESTS_TRANSPORTS_DEVICE_WORLD_HPP

#include <slimpack/devices/host.hpp>
#include <slimpack/transports/cuda.hpp>

namespace slimpack {

/// Ranks with a stand-in device each, whose endpoints are there from the start.
class device_world {
 public:
  using port = transports::cuda<devices::host>::port;

  device_world(int ranks, devices::host::options device, seconds time_out)
      : world_(devices::host::make(ranks, device), {time_out}) {
    for (int r = 0; r < ranks; ++r) ends_.push_back(world_.endpoint(r).value());
  }
  [[nodiscard]] int size() const noexcept { return world_.size(); }
  [[nodiscard]] port endpoint(int rank) const { return ends_[static_cast<std::size_t>(rank)]; }

 private:
  transports::cuda<devices::host> world_;
  std::vector<port> ends_;
};

}  // namespace slimpack

#endif
