#include "progress.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

namespace cli {

progress::progress(std::string what) : what_(std::move(what)) {
  if (isatty(STDERR_FILENO) == 0) return;
  thread_ = std::jthread([this](std::stop_token stop) {
    std::unique_lock lock(mutex_);
    const auto never = [] { return false; };
    int seconds = 0;
    while (!changed_.wait_for(lock, stop, std::chrono::seconds(1), never) && !stop.stop_requested()) {
      if (++seconds >= 2) std::fprintf(stderr, "\r%s ... %d s", what_.c_str(), seconds);
    }
    if (seconds >= 2) std::fprintf(stderr, "\r\033[K");
  });
}

progress::~progress() = default;

}  // namespace cli
