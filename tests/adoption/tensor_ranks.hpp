#ifndef SLIMPACK_TESTS_ADOPTION_TENSOR_RANKS_HPP
#define SLIMPACK_TESTS_ADOPTION_TENSOR_RANKS_HPP

#include <slimpack/executors/packflow.hpp>
#include <slimpack/executors/job/watchdog.hpp>
#include <slimpack/planner_for.hpp>
#include <slimpack/transports/threads.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

// The example as it is; what it includes is included above. Its main is not called.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"
namespace adopt_tensor {
#include "../../examples/adopt_tensor.cpp"
}
#pragma GCC diagnostic pop

namespace slimpack::tests {

/// A rank of examples/adopt_tensor.cpp: the heads of a stage that a tensor rank has.
inline std::vector<adopt_tensor::head> heads_of(std::size_t stage, std::size_t rank, std::size_t ranks) {
  std::vector<adopt_tensor::head> made;
  const std::size_t own = adopt_tensor::heads / ranks;
  for (std::size_t h = 0; h < own; ++h) made.emplace_back(stage * adopt_tensor::heads + rank * own + h);
  return made;
}

/// Gradients of undivided layers on whole sequences, by stage and head, and the loss.
struct undivided {
  std::vector<adopt_tensor::layer> stages;
  double loss{};

  undivided(std::size_t count, const std::vector<tokens>& lengths) {
    for (std::size_t stage = 0; stage < count; ++stage) stages.push_back({heads_of(stage, 0, 1)});
    loss = adopt_tensor::step_of_whole_texts(stages, lengths);
  }

  /// The norm of the difference to what a tensor rank of all replicas together has, over the norm.
  [[nodiscard]] double error_of(const std::vector<const adopt_tensor::layer*>& replicas, std::size_t stage, std::size_t rank,
                                std::size_t ranks) const {
    using namespace adopt_tensor;
    double off = 0, norm = 0;
    const std::size_t own = heads / ranks;
    const auto compare = [&](const auto& gradient_of, const row& right) {
      row sum{};
      for (const layer* one : replicas) add(sum, 1, gradient_of(*one));
      add(sum, -1, right);
      off += dot(sum, sum), norm += dot(right, right);
    };
    for (std::size_t h = 0; h < own; ++h) {
      const head& right = stages[stage].own[rank * own + h];
      for (std::size_t i = 0; i < head_width; ++i) {
        for (std::size_t m = 0; m < 3; ++m)
          compare([&](const layer& l) -> const row& { return l.own[h].din[m][i]; }, right.din[m][i]);
        compare([&](const layer& l) -> const row& { return l.own[h].dout[i]; }, right.dout[i]);
      }
    }
    return std::sqrt(off / norm);
  }
};

}  // namespace slimpack::tests

#endif
