#ifndef SLIMPACK_TESTS_SIMGRID_EXPERIMENT_HPP
#define SLIMPACK_TESTS_SIMGRID_EXPERIMENT_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/costs/model/gpu.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace slimpack::tests {

/// Tasks and what they wait for, to be timed by SimGrid, which shares no code with the library.
///
/// A stage is a host of one core: tasks that are meant to run one by one need an edge between them, or they share its
/// speed and end too late. A wire is a core of a host of its own: what is on it neither occupies a stage nor delays
/// another. A transfer goes over the link between two stages, in latency + bytes / bandwidth (SimGrid's model CM02);
/// transfers on one link do not share its bandwidth.
class experiment {
 public:
  using task = std::uint32_t;

  explicit experiment(int stages) : stages_(stages) {}

  task compute(std::size_t stage, seconds duration) { return add({.from = stage, .duration = duration}); }
  task carry(seconds duration) { return add({.medium = medium::wire, .duration = duration}); }
  /// Requires  connect(from, to, ...), and a whole number of bytes
  task transfer(std::size_t from, std::size_t to, bytes size) {
    return add({.medium = medium::link, .from = from, .to = to, .size = size});
  }
  void connect(std::size_t from, std::size_t to, const costs::link& over) { links_[{from, to}] = over; }

  /// `then` starts after `first` has ended. Saying so twice is saying it once.
  void order(task first, task then);
  /// Takes an edge away again.
  void forget(task first, task then);

  [[nodiscard]] std::size_t size() const noexcept { return tasks_.size(); }

  /// Runs the tasks in SimGrid, each as soon as those it waits for have ended.
  /// Returns   when each task ends, from the start of the first; infinity for one that never could start
  [[nodiscard]] std::vector<seconds> ends() const;

 private:
  enum class medium : unsigned char { stage, wire, link };
  struct job {
    experiment::medium medium{medium::stage};
    std::size_t from{};
    std::size_t to{};
    seconds duration{};
    bytes size{};
    std::vector<task> successors{};
  };

  task add(job one) {
    tasks_.push_back(std::move(one));
    return static_cast<task>(tasks_.size() - 1);
  }
  [[nodiscard]] double time_unit() const;

  int stages_;
  std::vector<job> tasks_;
  std::map<std::pair<std::size_t, std::size_t>, costs::link> links_;
};

}  // namespace slimpack::tests

#endif
