#include "progress.hpp"

#include <unistd.h>

#include <cstdio>
#include <utility>

namespace cli {

progress::progress(std::string what, std::optional<std::chrono::milliseconds> limit)
    : what_(std::move(what)), limit_(limit) {
  if (isatty(STDERR_FILENO) == 0) return;
  thread_ = std::jthread([this](std::stop_token stop) {
    using clock = std::chrono::steady_clock;
    const clock::time_point begin = clock::now();
    const auto never = [] { return false; };
    std::unique_lock lock(mutex_);
    bool shown = false;
    for (clock::duration pause = std::chrono::milliseconds(200);; pause = std::chrono::seconds(1), shown = true) {
      if (changed_.wait_for(lock, stop, pause, never) || stop.stop_requested()) break;
      const double seconds = std::chrono::duration<double>(clock::now() - begin).count();
      std::fprintf(stderr, "\r%s ... %.0f s", what_.c_str(), seconds);
      if (limit_) std::fprintf(stderr, " of %.1f s", std::chrono::duration<double>(*limit_).count());
      std::fprintf(stderr, "%s%s\033[K", how_far_.empty() ? "" : ": ", how_far_.c_str());
      std::fflush(stderr);
    }
    if (shown) std::fprintf(stderr, "\r\033[K");
  });
}

progress::~progress() = default;

void progress::say(std::string how_far) {
  const std::lock_guard lock(mutex_);
  how_far_ = std::move(how_far);
}

}  // namespace cli
