#ifndef SLIMPACK_DEVICES_CUDA_HPP
#define SLIMPACK_DEVICES_CUDA_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace slimpack::devices {

/// A GPU by the CUDA runtime. For nvcc, or any compiler that has CUDA's headers; who uses it links cudart.
/// Requires   the GPU is the calling thread's current one (cudaSetDevice)
/// Errors     transport_failed: CUDA's own sentence, of an earlier kernel perhaps
class cuda {
 public:
  class stream {
   public:
    /// For kernels and libraries.
    [[nodiscard]] cudaStream_t get() const noexcept { return handle_.get(); }

   private:
    friend class cuda;
    std::shared_ptr<std::remove_pointer_t<cudaStream_t>> handle_;
  };
  class event {
    friend class cuda;
    std::shared_ptr<std::remove_pointer_t<cudaEvent_t>> handle_;
  };
  class memory {
   public:
    friend std::span<std::byte> as_span(memory& m) noexcept { return {m.bytes_.get(), m.size_}; }

   private:
    friend class cuda;
    using release = cudaError_t (*)(void*);
    memory(void* bytes, release how, std::size_t size) : bytes_(static_cast<std::byte*>(bytes), {how}), size_(size) {}
    struct releaser {
      release how;
      void operator()(std::byte* p) const noexcept { (void)how(p); }
    };
    std::unique_ptr<std::byte[], releaser> bytes_;
    std::size_t size_;
  };

  [[nodiscard]] result<stream> make_stream() {
    cudaStream_t made{};
    if (result<void> r = told(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking)); !r) return std::move(r).error();
    stream s;
    s.handle_.reset(made, cudaStreamDestroy);
    return s;
  }
  [[nodiscard]] result<event> record(const stream& on) {
    cudaEvent_t made{};
    if (result<void> r = told(cudaEventCreate(&made)); !r) return std::move(r).error();
    event e;
    e.handle_.reset(made, cudaEventDestroy);
    if (result<void> r = told(cudaEventRecord(made, on.get())); !r) return std::move(r).error();
    return e;
  }
  [[nodiscard]] result<void> wait(const stream& on, const event& at) {
    return told(cudaStreamWaitEvent(on.get(), at.handle_.get(), 0));
  }
  [[nodiscard]] result<bool> query(const event& at) {
    const cudaError_t code = cudaEventQuery(at.handle_.get());
    if (code == cudaErrorNotReady) {
      (void)cudaGetLastError();  // CUDA remembers it as it does errors, and a trainer may ask after a launch
      return false;
    }
    if (result<void> r = told(code); !r) return std::move(r).error();
    return true;
  }
  /// Requires   both are reached
  [[nodiscard]] result<seconds> elapsed(const event& from, const event& to) {
    float milliseconds = 0;
    if (result<void> r = told(cudaEventElapsedTime(&milliseconds, from.handle_.get(), to.handle_.get())); !r)
      return std::move(r).error();
    return seconds{1e-3 * static_cast<double>(milliseconds)};
  }
  [[nodiscard]] result<void> copy(const stream& on, std::span<std::byte> to, std::span<const std::byte> from) {
    return told(cudaMemcpyAsync(to.data(), from.data(), from.size(), cudaMemcpyDefault, on.get()));
  }
  [[nodiscard]] result<void> run(const stream& on, std::function<void()> work) {
    auto kept = std::make_unique<std::function<void()>>(std::move(work));
    const auto call = [](void* given) {
      (*std::unique_ptr<std::function<void()>>(static_cast<std::function<void()>*>(given)))();
    };
    if (result<void> r = told(cudaLaunchHostFunc(on.get(), call, kept.get())); !r) return r;
    (void)kept.release();  // the call's
    return success();
  }
  [[nodiscard]] result<void> synchronize(const stream& on) { return told(cudaStreamSynchronize(on.get())); }
  [[nodiscard]] result<memory> allocate(std::size_t size) {
    void* made = nullptr;
    if (result<void> r = told(cudaMalloc(&made, size)); !r) return std::move(r).error();
    return memory(made, &cudaFree, size);
  }
  [[nodiscard]] result<memory> allocate_pinned(std::size_t size) {
    void* made = nullptr;
    if (result<void> r = told(cudaHostAlloc(&made, size, cudaHostAllocDefault)); !r) return std::move(r).error();
    return memory(made, &cudaFreeHost, size);
  }

 private:
  static result<void> told(cudaError_t code) {
    if (code == cudaSuccess) return success();
    (void)cudaGetLastError();  // said here, and not by the next launch
    return error{errc::transport_failed, std::string("CUDA: ") + cudaGetErrorString(code)};
  }
};

}  // namespace slimpack::devices

#endif
