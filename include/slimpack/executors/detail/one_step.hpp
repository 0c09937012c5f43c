#ifndef SLIMPACK_EXECUTORS_DETAIL_ONE_STEP_HPP
#define SLIMPACK_EXECUTORS_DETAIL_ONE_STEP_HPP

#include <slimpack/core/error.hpp>

#include <utility>

namespace slimpack::detail {

/// That this thread runs a step, as long as it lives. A compute that calls the executor back would begin another in the
/// middle of it: its messages would be taken for those of the step, on this rank and on others.
class one_step {
 public:
  one_step() noexcept : is_within_(std::exchange(runs(), true)) {}
  one_step(const one_step&) = delete;
  one_step& operator=(const one_step&) = delete;
  ~one_step() { runs() = is_within_; }

  /// Whether the thread runs another step already.
  [[nodiscard]] bool is_within() const noexcept { return is_within_; }
  [[nodiscard]] static error refused() {
    return {errc::out_of_order,
            "packflow is called from within a call of a compute that it runs, and a thread runs one step at a time: "
            "call it "
            "again when it has returned"};
  }

 private:
  [[nodiscard]] static bool& runs() noexcept {
    thread_local bool one = false;
    return one;
  }

  bool is_within_;
};

}  // namespace slimpack::detail

#endif
