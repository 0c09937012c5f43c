#ifndef SLIMPACK_EXAMPLES_PLAN_PROGRESS_HPP
#define SLIMPACK_EXAMPLES_PLAN_PROGRESS_HPP

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace cli {

/// Says on stderr what is under way, for how long and under which limit, when stderr is a terminal: from a fifth of a
/// second on, anew each second. Cleans its line up at the end.
class progress {
 public:
  explicit progress(std::string what, std::optional<std::chrono::milliseconds> limit = {});
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// How far it is, from any thread: shown from the next second on.
  void say(std::string how_far);

 private:
  std::string what_;
  std::string how_far_;
  std::optional<std::chrono::milliseconds> limit_;
  std::mutex mutex_;  // guards how_far_
  std::condition_variable_any changed_;
  std::jthread thread_;
};

}  // namespace cli

#endif
