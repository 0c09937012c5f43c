#include <slimpack/costs/model/gpus.hpp>
