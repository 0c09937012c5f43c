#ifndef SLIMPACK_TESTS_EXECUTORS_PATH_STEPS_HPP
#define SLIMPACK_TESTS_EXECUTORS_PATH_STEPS_HPP

#include "everywhere.hpp"
#include "path_model.hpp"

#include <slimpack/core/plan.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace slimpack::tests {

/// A stage for each rank of a plan.
template <class Stage>
std::vector<Stage> path_stages_of(const plan& p) {
  std::vector<Stage> stages;
  for (int rank = 0; rank < ranks_of(p); ++rank)
    stages.emplace_back(rank % p.shape.stages, p.shape.stages, p.shape.chunks, p.shape.quantum);
  return stages;
}

/// Gradients of a replica as path_model has them.
template <class Stage>
std::vector<double> path_gradients_of(const std::vector<Stage>& stages, const shape& on, int replica = 0) {
  const auto first = stages.begin() + static_cast<std::ptrdiff_t>(replica) * on.stages;
  std::vector<double> all;
  for (int c = 0; c < on.chunks; ++c)
    for (int s = 0; s < on.stages; ++s) path_model::append(first[s].gradients_of(c), all);
  path_model::append(first->embedding_gradients(), all);
  path_model::append(first[on.stages - 1].output_gradients(), all);
  return all;
}

/// Of two vectors, relative to the second.
inline double path_difference(const std::vector<double>& found, const std::vector<double>& expected) {
  double difference = found.size() == expected.size() ? 0 : 1e300, norm = 0;
  for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i)
    difference += std::pow(found[i] - expected[i], 2), norm += expected[i] * expected[i];
  return std::sqrt(difference / norm);
}

}  // namespace slimpack::tests

#endif
