#ifndef SLIMPACK_EXAMPLES_PLAN_STOP_SIGNALS_HPP
#define SLIMPACK_EXAMPLES_PLAN_STOP_SIGNALS_HPP

#include "outputs.hpp"

#include <atomic>
#include <csignal>
#include <thread>

namespace cli {

/// While it lives, SIGINT, SIGTERM and SIGHUP abandon the outputs before they end the program; those that the caller
/// has set to be ignored stay so. A pipe that nobody reads any more is an error of writing, no signal. Afterwards they
/// stay blocked: all is done and the program ends, so that its status says what it did, and not that somebody has
/// interrupted what was over.
/// Requires  no other thread yet: threads take the signals that are blocked from the one that makes them; after it,
///           nothing that may wait, such as output that is not flushed
class stop_signals {
 public:
  explicit stop_signals(outputs& abandoned);
  ~stop_signals();
  stop_signals(const stop_signals&) = delete;
  stop_signals& operator=(const stop_signals&) = delete;

 private:
  sigset_t caught_{};
  int one_{};  ///< of the caught, to wake the thread with
  std::atomic<bool> over_{};
  std::thread thread_;
};

}  // namespace cli

#endif
