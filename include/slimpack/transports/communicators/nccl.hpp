#ifndef SLIMPACK_TRANSPORTS_COMMUNICATORS_NCCL_HPP
#define SLIMPACK_TRANSPORTS_COMMUNICATORS_NCCL_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/devices/cuda.hpp>

#include <nccl.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// A communicator of NCCL, destroyed with this unless it was aborted.
class nccl_communicator {
 public:
  nccl_communicator() = default;
  nccl_communicator(const nccl_communicator&) = delete;
  nccl_communicator& operator=(const nccl_communicator&) = delete;
  ~nccl_communicator() {
    if (handle != nullptr) (void)ncclCommDestroy(handle);
  }

  ncclComm_t handle{};
};

}  // namespace slimpack::detail

namespace slimpack::transports::communicators {

/// NCCL's, not blocking. For nvcc, or any compiler that has the headers of CUDA and NCCL; who uses it links both.
/// Errors     transport_failed: NCCL's own sentence
class nccl {
 public:
  /// The bytes of a ncclUniqueId, whose type has no name of its own: nvcc 13.0 cannot put that into a result.
  struct identity {
    std::array<std::byte, sizeof(ncclUniqueId)> bytes;
  };

  class communicator {
    friend class nccl;
    std::shared_ptr<detail::nccl_communicator> joined_;
  };

  [[nodiscard]] result<identity> make_identity() {
    ncclUniqueId made{};
    if (result<void> r = told(ncclGetUniqueId(&made)); !r) return std::move(r).error();
    return std::bit_cast<identity>(made);
  }
  [[nodiscard]] result<communicator> join(const identity& id, int rank, int size) {
    communicator made;
    made.joined_ = std::make_shared<detail::nccl_communicator>();
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    if (result<void> r =
            told(ncclCommInitRankConfig(&made.joined_->handle, size, std::bit_cast<ncclUniqueId>(id), rank, &config));
        !r)
      return std::move(r).error();
    return made;
  }
  [[nodiscard]] result<bool> is_ready(const communicator& over) {
    ncclResult_t state = ncclSuccess;
    if (result<void> r = told(ncclCommGetAsyncError(over.joined_->handle, &state)); !r) return std::move(r).error();
    if (result<void> r = told(state); !r) return std::move(r).error();
    return state == ncclSuccess;
  }
  [[nodiscard]] result<void> send(const communicator& over, const devices::cuda::stream& on, int peer,
                                  std::span<const std::byte> bytes) {
    return told(ncclSend(bytes.data(), bytes.size(), ncclChar, peer, over.joined_->handle, on.get()));
  }
  [[nodiscard]] result<void> receive(const communicator& over, const devices::cuda::stream& on, int peer,
                                     std::span<std::byte> bytes) {
    return told(ncclRecv(bytes.data(), bytes.size(), ncclChar, peer, over.joined_->handle, on.get()));
  }
  [[nodiscard]] result<void> sum(const communicator& over, const devices::cuda::stream& on, std::span<float> data) {
    return told(
        ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclSum, over.joined_->handle, on.get()));
  }
  [[nodiscard]] result<void> sum(const communicator& over, const devices::cuda::stream& on, std::span<double> data) {
    return told(
        ncclAllReduce(data.data(), data.data(), data.size(), ncclDouble, ncclSum, over.joined_->handle, on.get()));
  }
  /// NCCL 2.26 and later do where the environment says so, which must be alike on all ranks.
  [[nodiscard]] bool keeps_launch_order() const {
    const char* const said = std::getenv("NCCL_LAUNCH_ORDER_IMPLICIT");
    int version = 0;
    return said != nullptr && std::string_view(said) == "1" && ncclGetVersion(&version) == ncclSuccess &&
           version >= 22600;
  }
  /// A thread for each: NCCL frees memory of the GPU in this call, which waits for the kernels of the other
  /// communicators.
  void abort(std::span<const communicator> all) {
    std::vector<std::thread> ending;
    for (const communicator& one : all)
      if (const ncclComm_t ended = std::exchange(one.joined_->handle, nullptr); ended != nullptr)
        ending.emplace_back([ended] { (void)ncclCommAbort(ended); });
    for (std::thread& one : ending) one.join();
  }

 private:
  static result<void> told(ncclResult_t code) {
    if (code == ncclSuccess || code == ncclInProgress) return success();
    return error{errc::transport_failed, std::string("NCCL: ") + ncclGetErrorString(code)};
  }
};

}  // namespace slimpack::transports::communicators

#endif
