#ifndef SLIMPACK_TESTING_OPTIONS_HPP
#define SLIMPACK_TESTING_OPTIONS_HPP

#include <slimpack/core/units.hpp>

#include <cstdint>

namespace slimpack::testing {

/// How hard the laws are tried. Equal options ask equal questions, on every compiler and standard library.
struct options {
  std::uint64_t seed{1};
  int cases{200};          ///< random cases, beside the edge cases that are always tried
  tokens longest{262144};  ///< no sequence is longer
  tokens quantum{128};     ///< cuts fall on its multiples
  bool analytic{true};     ///< cost_model_laws: false leaves out law 4, which measured tables do not obey
  int chunks{1};           ///< schedule_laws: the most virtual stages to try
};

}  // namespace slimpack::testing

#endif
