#ifndef SLIMPACK_TESTING_DETAIL_COMPUTE_OPTIONS_HPP
#define SLIMPACK_TESTING_DETAIL_COMPUTE_OPTIONS_HPP

#include <slimpack/core/units.hpp>

#include <cstdint>

namespace slimpack::testing {

/// A sequence of the batches that a compute is tried with. One key, one content, in whatever batch it comes.
struct document {
  tokens length;
  std::uint64_t key{};
};

/// How hard a stage compute is tried.
struct compute_options {
  std::uint64_t seed{1};
  int cases{8};             ///< batches, each under random cuts
  tokens longest{48};       ///< no sequence is longer
  tokens quantum{4};        ///< cuts fall on its multiples
  int stages{1};            ///< the most stages that the model is cut into
  bool one_model{true};     ///< it has the same layers on any number of stages
  double tolerance{1e-10};  ///< of losses and gradients (norm-wise), relative to those of uncut sequences
  seconds time_out{20};     ///< until a rank that waits for another gives up
};

}  // namespace slimpack::testing

#endif
