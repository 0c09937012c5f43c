#include <slimpack/costs/model/model_shape.hpp>
