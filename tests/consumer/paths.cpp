// A user's program with headers that reach each of the libraries that slimpack includes: Boost, Eigen and range-v3. It
// is compiled, linked and run where paths and flags alone are in question, so it plans nothing. A path to slimpack
// alone finds no Eigen, which SLIMPACK_WITHOUT_EIGEN leaves out.
#include <slimpack/core/error.hpp>
#ifndef SLIMPACK_WITHOUT_EIGEN
#include <slimpack/costs/calibrated.hpp>
#endif
#include <slimpack/views.hpp>

int main() {
  const slimpack::result<slimpack::tokens> given{slimpack::tokens{512}};
  return given && given.value() == slimpack::tokens{512} ? 0 : 1;
}
