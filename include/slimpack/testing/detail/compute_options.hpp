#ifndef SLIMPACK_TESTING_DETAIL_COMPUTE_OPTIONS_HPP
#define SLIMPACK_TESTING_DETAIL_COMPUTE_OPTIONS_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/executors/message_format.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace slimpack::testing {

/// A sequence of the batches that a compute is tried with. One key, one content, in whatever batch it comes.
struct document {
  tokens length;
  std::uint64_t key{};
};

/// Gradients of a model that belong together, in the order in which it gives them.
struct parameter {
  std::string name;
  std::size_t count{};  ///< elements
};

/// What sums in another order may differ by in the gradients of a batch, norm-wise: some hundred times the rounding of
/// an element, and well below what a missing term makes.
[[nodiscard]] constexpr double tolerance_of(element_type element) noexcept {
  switch (element) {
    case element_type::float64:
      return 1e-10;
    case element_type::float32:
      return 1e-4;
    case element_type::float16:
      return 2e-2;
    case element_type::bfloat16:
      return 1e-1;
    case element_type::int8:
      return 2e-1;
  }
  return 0;
}

/// How hard a stage compute is tried.
struct compute_options {
  std::uint64_t seed{1};
  int cases{8};          ///< batches, each under random cuts
  tokens longest{48};    ///< no sequence is longer
  tokens quantum{4};     ///< cuts fall on its multiples
  int stages{2};         ///< the most stages that the model is cut into; with 1, no message is tried
  bool one_model{true};  ///< it has the same layers on any number of stages
  bool evaluates{};      ///< law 8 is tried: its forward computes the loss, so that it can evaluate; of one that offers
                         ///< log_probabilities it is tried in any case
  /// Of losses and gradients (norm-wise), relative to those of uncut sequences; 0: tolerance_of the messages' elements.
  double tolerance{};
  seconds time_out{20};  ///< until a rank that waits for another gives up
};

}  // namespace slimpack::testing

#endif
