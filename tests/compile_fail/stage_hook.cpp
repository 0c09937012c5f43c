#include <slimpack/executors/hooks.hpp>

// A loss that the runtime would pass over in silence, were it not for its name.
struct layers {
#ifdef SLIMPACK_REPAIRED
  double loss() const;
#else
  slimpack::result<double> loss() const;
#endif
};

// expected-diagnostic: a stage compute's loss() gives double
double wrong(layers& compute) { return slimpack::loss_of(compute); }
