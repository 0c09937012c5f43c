#ifndef SLIMPACK_ADAPTERS_TORCH_LAWS_HPP
#define SLIMPACK_ADAPTERS_TORCH_LAWS_HPP

#include <slimpack/adapters/torch.hpp>
#include <slimpack/testing/stage_compute_laws.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::libtorch {

/// For each sequence of a step the documents that it is put together from.
using parts_of_sequences = std::span<const std::vector<testing::document>>;

/// A model on libtorch as testing::stage_compute_laws takes it, from two functions of the trainer:
///
///   slimpack::libtorch::laws_model model{
///       [](int stage, int stages) { return std::make_unique<slimpack::libtorch::stage<my_chunk>>(...); },
///       [](slimpack::libtorch::stage<my_chunk>& s, slimpack::libtorch::parts_of_sequences batch) { ... }};
///   const slimpack::testing::report found = slimpack::testing::stage_compute_laws(model, {.evaluates = true});
///
/// make      a stage with the same weights every time, whatever the number of stages
/// load      sequence i of the stage's next step has the tokens of all documents batch[i], one after the other. There
///           is one, unless the stage shares prefixes; there a sequence's own tokens begin behind its prefix
template <class Make, class Load>
class laws_model {
 public:
  laws_model(Make make, Load load) : make_(std::move(make)), load_(std::move(load)) {}

  [[nodiscard]] auto make(int stage, int stages) const { return make_(stage, stages); }
  template <class Stage>
  void load(Stage& stage, std::span<const testing::document> batch) const {
    std::vector<std::vector<testing::document>> parts;
    for (const testing::document& d : batch) parts.push_back({d});
    load_(stage, parts_of_sequences(parts));
  }
  template <class Stage>
  void load_parts(Stage& stage, parts_of_sequences batch) const {
    load_(stage, batch);
  }
  /// Gradients of all chunks' parameters, in their order.
  template <class Stage>
  [[nodiscard]] std::vector<double> gradients(const Stage& stage) const {
    std::vector<double> all;
    each_parameter(stage, [&](const at::Tensor& p) {
      const at::Tensor g = p.grad().defined() ? p.grad() : at::zeros_like(p);
      const at::Tensor numbers = g.detach().to(at::kCPU, at::kDouble).contiguous();
      all.insert(all.end(), numbers.data_ptr<double>(), numbers.data_ptr<double>() + numbers.numel());
    });
    return all;
  }
  template <class Stage>
  void zero(const Stage& stage) const {
    each_parameter(stage, [](const at::Tensor& p) { p.mutable_grad().reset(); });
  }

 private:
  template <class Stage, class Visit>
  static void each_parameter(const Stage& stage, Visit&& visit) {
    for (int c = 0; c < stage.chunks(); ++c)
      for (const at::Tensor& p : stage.chunk_of(static_cast<std::size_t>(c)).parameters()) visit(p);
  }

  Make make_;
  Load load_;
};

}  // namespace slimpack::libtorch

#endif
