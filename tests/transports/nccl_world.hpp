#ifndef SLIMPACK_TESTS_TRANSPORTS_NCCL_WORLD_HPP
#define SLIMPACK_TESTS_TRANSPORTS_NCCL_WORLD_HPP

#include <slimpack/devices/host.hpp>
#include <slimpack/transports/communicators/host.hpp>
#include <slimpack/transports/nccl.hpp>
#include <slimpack/transports/threads.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace slimpack {

/// Ranks of transports::nccl over stand-ins, whose hosts are threads.
class nccl_world {
 public:
  using end = transports::nccl<devices::host, transports::communicators::host, transports::threads::port>;

  /// other: a rank that is told the opposite of keeps_launch_order
  nccl_world(int ranks, devices::host::options device, seconds time_out, bool keeps_launch_order = true, int other = -1)
      : hosts_(ranks, {.time_out = time_out}) {
    std::vector<devices::host> all = devices::host::make(ranks, device);
    for (int r = 0; r < ranks; ++r) {
      ports_.push_back(std::make_unique<transports::threads::port>(hosts_.endpoint(r)));
      devices::host& one = all[static_cast<std::size_t>(r)];
      ends_.push_back(std::make_unique<end>(*ports_.back(), one,
                                            transports::communicators::host(one, keeps_launch_order != (r == other)),
                                            end::options{time_out}));
      ends_.back()->open().value();
    }
  }
  [[nodiscard]] int size() const noexcept { return hosts_.size(); }
  [[nodiscard]] end& endpoint(int rank) const { return *ends_[static_cast<std::size_t>(rank)]; }

 private:
  transports::threads hosts_;
  std::vector<std::unique_ptr<transports::threads::port>> ports_;
  std::vector<std::unique_ptr<end>> ends_;
};

}  // namespace slimpack

#endif
