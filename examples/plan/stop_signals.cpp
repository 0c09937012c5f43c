#include "stop_signals.hpp"

#include <pthread.h>
#include <signal.h>

namespace cli {

stop_signals::stop_signals(outputs& abandoned) {
  std::signal(SIGPIPE, SIG_IGN);
  sigemptyset(&caught_);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction set {};
    if (sigaction(number, nullptr, &set) != 0 || set.sa_handler == SIG_IGN) continue;
    sigaddset(&caught_, number);
    one_ = number;
  }
  pthread_sigmask(SIG_BLOCK, &caught_, nullptr);
  if (one_ == 0) return;
  // A thread that waits for signals may do what no handler may: lock, and remove files.
  thread_ = std::thread([this, &abandoned] {
    int number = 0;
    if (sigwait(&caught_, &number) != 0 || over_) return;
    abandoned.abandon();
    std::signal(number, SIG_DFL);
    sigset_t only_this;  // the one that ends a wait that is over may be due, too
    sigemptyset(&only_this);
    sigaddset(&only_this, number);
    pthread_sigmask(SIG_UNBLOCK, &only_this, nullptr);
    std::raise(number);
  });
}

stop_signals::~stop_signals() {
  over_ = true;
  if (thread_.joinable()) {
    pthread_kill(thread_.native_handle(), one_);
    thread_.join();
  }
}

}  // namespace cli
