#include <slimpack/executors/step_outline.hpp>
