#ifndef SLIMPACK_TRANSPORTS_COMMUNICATORS_NCCL_HPP
#define SLIMPACK_TRANSPORTS_COMMUNICATORS_NCCL_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/devices/cuda.hpp>

#include <nccl.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace slimpack::transports::communicators {

/// NCCL's, not blocking. For nvcc, or any compiler that has the headers of CUDA and NCCL; who uses it links both.
/// Errors     transport_failed: NCCL's own sentence
class nccl {
 public:
  using identity = ncclUniqueId;

  class communicator {
    friend class nccl;
    struct joined {
      ncclComm_t handle{};
      bool aborted{};
      joined() = default;
      joined(const joined&) = delete;
      joined& operator=(const joined&) = delete;
      ~joined() {
        if (handle != nullptr && !aborted) (void)ncclCommDestroy(handle);
      }
    };
    std::shared_ptr<joined> joined_ = std::make_shared<joined>();
  };

  [[nodiscard]] result<identity> make_identity() {
    identity made{};
    if (result<void> r = told(ncclGetUniqueId(&made)); !r) return std::move(r).error();
    return made;
  }
  [[nodiscard]] result<communicator> join(const identity& id, int rank, int size) {
    communicator made;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    if (result<void> r = told(ncclCommInitRankConfig(&made.joined_->handle, size, id, rank, &config)); !r) return std::move(r).error();
    return made;
  }
  [[nodiscard]] result<bool> is_ready(const communicator& over) {
    ncclResult_t state = ncclSuccess;
    if (result<void> r = told(ncclCommGetAsyncError(over.joined_->handle, &state)); !r) return std::move(r).error();
    if (result<void> r = told(state); !r) return std::move(r).error();
    return state == ncclSuccess;
  }
  [[nodiscard]] result<void> send(const communicator& over, const devices::cuda::stream& on, int peer, std::span<const std::byte> bytes) {
    return told(ncclSend(bytes.data(), bytes.size(), ncclChar, peer, over.joined_->handle, on.get()));
  }
  [[nodiscard]] result<void> receive(const communicator& over, const devices::cuda::stream& on, int peer, std::span<std::byte> bytes) {
    return told(ncclRecv(bytes.data(), bytes.size(), ncclChar, peer, over.joined_->handle, on.get()));
  }
  [[nodiscard]] result<void> sum(const communicator& over, const devices::cuda::stream& on, std::span<float> data) {
    return told(ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclSum, over.joined_->handle, on.get()));
  }
  [[nodiscard]] result<void> sum(const communicator& over, const devices::cuda::stream& on, std::span<double> data) {
    return told(ncclAllReduce(data.data(), data.data(), data.size(), ncclDouble, ncclSum, over.joined_->handle, on.get()));
  }
  /// NCCL 2.26 and later do where the environment says so, which must be alike on all ranks.
  [[nodiscard]] bool keeps_launch_order() const {
    const char* const said = std::getenv("NCCL_LAUNCH_ORDER_IMPLICIT");
    int version = 0;
    return said != nullptr && std::string_view(said) == "1" && ncclGetVersion(&version) == ncclSuccess && version >= 22600;
  }
  void abort(const communicator& over) {
    if (over.joined_->handle == nullptr || over.joined_->aborted) return;
    over.joined_->aborted = true;
    (void)ncclCommAbort(over.joined_->handle);
  }

 private:
  static result<void> told(ncclResult_t code) {
    if (code == ncclSuccess || code == ncclInProgress) return success();
    return error{errc::transport_failed, std::string("NCCL: ") + ncclGetErrorString(code)};
  }
};

}  // namespace slimpack::transports::communicators

#endif
