#include <slimpack/executors/backward_cuts.hpp>
