#ifndef SLIMPACK_COSTS_PROFILED_OF_HPP
#define SLIMPACK_COSTS_PROFILED_OF_HPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/costs/kernels/kernel_samples.hpp>
#include <slimpack/costs/kernels/kernel_times.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/network/network.hpp>
#include <slimpack/costs/profiled.hpp>
#include <slimpack/costs/stage_options.hpp>

#include <span>

namespace slimpack::costs {

/// The cost model of a stage, out of times of single kernels and collectives: what each part of the model takes on one
/// of its ranks, tabulated, so that a question of a planner is as fast as any.
///
/// A part is its layers (dense, mixture of experts, MLA), with the embedding on the first and logits and loss on the
/// last, or, where the shape spreads the vocabulary, on all stages; a step has the reduction of gradients and the
/// optimizer besides. Detail headers list every kernel, byte and
/// message: detail/layer_pricing.hpp, detail/part_times.hpp, costs/network/traffic.hpp. `layers`: what was measured on
/// this GPU; where the model's own layer was on as many tensor-parallel ranks, these times replace its products and
/// element-wise kernels, and where only others were, both are as much slower than their kernels alone as the others
/// were.
///
/// What backward computes again, and what collectives take, are told from useful work by the shares that they have of a
/// sequence of 8192 tokens.
///
/// Slices are tabulated twice, among so many others as fill the device, and alone. Weight gradients (W) are their
/// products, at the rate of large packs. Messages take the time of the slowest boundary; where they are waited for they
/// count in the time of the pack that they carry, for sender and receiver alike. Gradients that a kernel of its own
/// adds to those of the step (accumulation_traffic) cost a backward pack the same however short it is. The optimizer
/// moves 52 bytes a
/// parameter: gradient cast and unscaled (6), its norm (4), clipped (8), Adam's reads and writes of gradient, weight
/// and both moments (28), the weight cast back (6). `sources()` of what is returned is about the uncut sequence of 8192
/// tokens, there and back through all parts.
///
/// Source    derived. Against published layer and iteration times: benchmarks/fidelity/iterations.cpp
/// Errors    invalid_input: a degree below 1, more parts than layers, tensor ranks that do not divide the heads, a list
///           of layers that does not add up, or experts that cannot be divided so
/// Complexity some thousand questions to kernels for each kind of part
[[nodiscard]] SLIMPACK_DECL result<profiled> profiled_of(const model_shape& model, const shape& on,
                                                         const kernel_times& kernels, const network& net,
                                                         const stage_options& with = {},
                                                         std::span<const layer_sample> layers = {});

}  // namespace slimpack::costs

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/costs/impl/profiled_of.ipp>
#endif

#endif
