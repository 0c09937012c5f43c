#ifndef SLIMPACK_ADAPTERS_TORCH_HPP
#define SLIMPACK_ADAPTERS_TORCH_HPP

// First, since clang 14 does not compile libtorch 1.13's own umbrella header alone in C++20.
#include <ATen/core/ivalue.h>

#include <slimpack/adapters/torch/byte_counter.hpp>
#include <slimpack/adapters/torch/graphs.hpp>
#include <slimpack/adapters/torch/keys_values.hpp>
#include <slimpack/adapters/torch/slice_call.hpp>
#include <slimpack/adapters/torch/stages.hpp>
#include <slimpack/adapters/torch/tensor_messages.hpp>

/// For trainers on libtorch, PyTorch's C++ interface: what each of them would write again between its model and
/// slimpack. A model's attention calls slice_call::attend, two or three functions make it a chunk, and `stage` or
/// `pack_stage` is the stage compute. adapters/torch_laws.hpp tests it.
/// Component torch of CMake, target slimpack::torch. No other header of slimpack includes these.
/// Versions  compiled with and tested on libtorch 1.13.1 (Debian 12), on CPUs
namespace slimpack::libtorch {}

#endif
