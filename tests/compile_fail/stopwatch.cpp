#include <slimpack/profiling/stopwatch.hpp>

// A device's clock that tells milliseconds as a number.
struct events {
  void start();
#ifdef SLIMPACK_REPAIRED
  slimpack::seconds stop();
#else
  float stop();
#endif
};

template <slimpack::profiling::stopwatch Watch>
struct timer {};

// own-lines: 21
// expected-diagnostic: a stopwatch offers void start() and seconds stop()
using wrong = timer<events>;
