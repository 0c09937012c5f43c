#ifndef SLIMPACK_EXECUTORS_JOB_DETAIL_WATCHED_CALL_HPP
#define SLIMPACK_EXECUTORS_JOB_DETAIL_WATCHED_CALL_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/executors/job/step_watch.hpp>

namespace slimpack::detail {

/// While it lives, a call of the compute runs, if allowed.
class watched_call {
 public:
  /// watch: may be null, all is allowed then
  explicit watched_call(executors::step_watch* watch) : watch_(watch) {
    if (watch_ != nullptr) entered_ = watch_->enter();
  }
  watched_call(const watched_call&) = delete;
  watched_call& operator=(const watched_call&) = delete;
  ~watched_call() {
    if (watch_ != nullptr && entered_) watch_->leave();
  }

  [[nodiscard]] bool allowed() const noexcept { return entered_.has_value(); }
  /// Requires   not allowed
  [[nodiscard]] const error& why() const { return entered_.error(); }

 private:
  executors::step_watch* watch_;
  result<void> entered_{success()};
};

/// Makes a call of the compute, of which a watch may have to end what it waits for; an error where the call is not
/// allowed.
/// watch     may be null
template <class Call>
auto watched(executors::step_watch* watch, const Call& call) -> decltype(call()) {
  const watched_call here(watch);
  if (!here.allowed()) return here.why();
  return call();
}

}  // namespace slimpack::detail

#endif
