#include <slimpack/fwd.hpp>

namespace slimpack::fwd_test {

/// A header of a user's, which mentions names and needs no definitions.
int mentions(const slice*, const sequence*, const shape*, const problem*, const workload*);
int mentions(const plan*, const piece*, const step_report*, const error*, const micropacks*, const deadline*);
int mentions(const slicers::equal_cost*, const costs::profiled*, const solvers::two_phase*, const schedules::list*);
int mentions(const shapes::layout*, const transports::threads*, const simulators::task_graph*);
int mentions(const executors::packflow*);

}  // namespace slimpack::fwd_test

// The definitions follow: a name that is declared as another kind of thing, or that is gone, does not compile.
#include <slimpack/slimpack.hpp>

#include <gtest/gtest.h>

namespace slimpack::fwd_test {

int mentions(const slice*, const sequence*, const shape*, const problem*, const workload*) { return 1; }
int mentions(const plan*, const piece*, const step_report*, const error*, const micropacks*, const deadline*) {
  return 2;
}
int mentions(const slicers::equal_cost*, const costs::profiled*, const solvers::two_phase*, const schedules::list*) {
  return 3;
}
int mentions(const shapes::layout*, const transports::threads*, const simulators::task_graph*) { return 4; }
int mentions(const executors::packflow*) { return 5; }

namespace {

TEST(Forward, DeclaresWhatTheLibraryDefines) {
  const plan p;
  const slicers::equal_cost slicer;
  EXPECT_EQ(mentions(&p, nullptr, nullptr, nullptr, nullptr, nullptr), 2);
  EXPECT_EQ(mentions(&slicer, nullptr, nullptr, nullptr), 3);
  EXPECT_EQ(mentions(static_cast<executors::packflow*>(nullptr)), 5);
}

}  // namespace
}  // namespace slimpack::fwd_test
