#ifndef SLIMPACK_BENCHMARKS_FIDELITY_UNTAUGHT_HPP
#define SLIMPACK_BENCHMARKS_FIDELITY_UNTAUGHT_HPP

#include <slimpack/costs/kernels/wave_model.hpp>
#include <slimpack/costs/model/gpu.hpp>

namespace fidelity {

/// Round constants that saw no table.
inline slimpack::costs::wave_model untaught(const slimpack::costs::gpu& device) {
  return {device,
          {.launch = {1e-5},
           .share = 0.6,
           .tile_keys = 100,
           .waves = 0.5,
           .diagonal = 1.2,
           .key_passes = 1,
           .head_passes = 1,
           .backward_launch = {1e-5},
           .backward_cost = 2.5,
           .backward_tile = 100},
          {.launch = {1e-5}, .share = 0.8, .tile_depth = 128, .waves = 0.5, .passes = 1}};
}

}  // namespace fidelity

#endif
