#include <slimpack/costs/model/layer.hpp>
