#include <slimpack/costs/kernels/wave_model.hpp>
