#ifndef SLIMPACK_TESTS_ADOPTION_TENSOR_RANKS_HPP
#define SLIMPACK_TESTS_ADOPTION_TENSOR_RANKS_HPP

#include <slimpack/executors/job/watchdog.hpp>
#include <slimpack/executors/packflow.hpp>
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

/// The heads of a tensor rank on all chunks of a stage: each chunk is a stage of the example.
struct chunks_of_heads {
  static constexpr backward_cuts cuts = backward_cuts::any;
  std::vector<adopt_tensor::stage> parts;

  chunks_of_heads(std::size_t stage, std::size_t stages, std::size_t count, std::size_t rank, std::size_t ranks,
                  const std::function<bool(std::vector<adopt_tensor::row>&)>& sum_up) {
    for (std::size_t chunk = 0; chunk < count; ++chunk) {
      adopt_tensor::stage& made = parts.emplace_back();
      made.own.own = heads_of(chunk * stages + stage, rank, ranks);
      made.sum_up = sum_up;
    }
  }

  [[nodiscard]] int chunks() const { return static_cast<int>(parts.size()); }
  [[nodiscard]] message_format format() const { return parts[0].format(); }
  [[nodiscard]] double loss() const { return parts.back().loss(); }
  result<void> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    return parts[p.chunk].forward(p, in, out);
  }
  result<void> backward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    return parts[p.chunk].backward(p, in, out);
  }
  void discard(const piece& p) { parts[p.chunk].discard(p); }
};

/// Gradients of undivided layers on whole sequences, by part of the model and head, and the loss.
struct undivided {
  std::vector<adopt_tensor::layer> parts;
  double loss{};

  undivided(std::size_t count, const std::vector<tokens>& lengths) {
    for (std::size_t part = 0; part < count; ++part) parts.push_back({heads_of(part, 0, 1)});
    loss = adopt_tensor::step_of_whole_texts(parts, lengths);
  }

  /// The norm of the difference to what a tensor rank of all replicas together has, over the norm.
  [[nodiscard]] double error_of(const std::vector<const adopt_tensor::layer*>& replicas, std::size_t part,
                                std::size_t rank, std::size_t ranks) const {
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
      const head& right = parts[part].own[rank * own + h];
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
