#ifndef SLIMPACK_ADAPTERS_TORCH_HPP
#define SLIMPACK_ADAPTERS_TORCH_HPP

#include <ATen/core/ivalue.h>
#include <torch/torch.h>

#endif
