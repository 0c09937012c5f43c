#ifndef SLIMPACK_EXAMPLES_PLAN_PROGRESS_HPP
#define SLIMPACK_EXAMPLES_PLAN_PROGRESS_HPP

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace cli {

/// Says on stderr what takes longer than two seconds, when stderr is a terminal; cleans its line up at the end.
class progress {
 public:
  explicit progress(std::string what);
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

 private:
  std::string what_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;
};

}  // namespace cli

#endif
