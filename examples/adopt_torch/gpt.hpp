#ifndef SLIMPACK_EXAMPLES_ADOPT_TORCH_GPT_HPP
#define SLIMPACK_EXAMPLES_ADOPT_TORCH_GPT_HPP

#include <slimpack/adapters/torch.hpp>

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// A GPT on libtorch, for any number of pipeline stages: layers of attention with rotary positions, whose queries share
/// keys and values in groups. It knows slimpack in two lines, in block::forward; without a slice_call it runs whole
/// sequences.
namespace gpt {

constexpr std::int64_t words = 61, heads = 4, key_heads = 2;
struct sizes {
  std::int64_t hidden{32};
  int depth{4};
  at::ScalarType type{torch::kDouble};
};

/// Rotary positions: what turns the heads of each token, once for all layers.
struct rotary {
  torch::Tensor cos, sin;  // (tokens, 1, half of a head)
  rotary(const torch::Tensor& positions, std::int64_t half, const torch::TensorOptions& like) {
    const torch::Tensor speeds = torch::pow(1e4, -torch::arange(half, like) / static_cast<double>(half));
    const torch::Tensor angle = (positions.to(like.dtype()).unsqueeze(1) * speeds).unsqueeze(1);
    cos = angle.cos(), sin = angle.sin();
  }
  torch::Tensor operator()(const torch::Tensor& x) const {  // (tokens, heads, size)
    const std::vector<torch::Tensor> half = x.chunk(2, 2);
    return torch::cat({half[0] * cos - half[1] * sin, half[1] * cos + half[0] * sin}, 2);
  }
};
inline torch::Tensor causal(const torch::Tensor& q, const torch::Tensor& k,
                            const torch::Tensor& v) {  // query i sees keys 0 to m - n + i
  constexpr std::int64_t most = 256;                   // no more of the masked triangle is computed than that
  const std::int64_t n = q.size(0), m = k.size(0), groups = q.size(1) / k.size(1), size = q.size(2);
  std::vector<torch::Tensor> rows;
  for (std::int64_t first = 0; first < n; first += most) {
    const std::int64_t some = std::min(most, n - first), seen = m - n + first + some;
    const torch::Tensor ask = q.narrow(0, first, some).view({some, k.size(1), groups, size}).permute({1, 2, 0, 3});
    const torch::Tensor scores =
        ask.reshape({k.size(1), groups * some, size}).bmm(k.narrow(0, 0, seen).permute({1, 2, 0})) /
        std::sqrt(static_cast<double>(size));
    const torch::Tensor hidden_ones = torch::ones({some, seen}, torch::kBool).triu(seen - some + 1);
    const torch::Tensor p =
        scores.view({k.size(1), groups, some, seen}).masked_fill(hidden_ones, -INFINITY).softmax(-1);
    const torch::Tensor mixed = p.view({k.size(1), groups * some, seen}).bmm(v.narrow(0, 0, seen).transpose(0, 1));
    rows.push_back(mixed.view({k.size(1), groups, some, size}).permute({2, 0, 1, 3}).reshape({some, -1}));
  }
  return rows.size() == 1 ? rows[0] : torch::cat(rows);
}
struct block : torch::nn::Module {
  torch::nn::LayerNorm norm_1{nullptr}, norm_2{nullptr};
  torch::nn::Linear q{nullptr}, k{nullptr}, v{nullptr}, out{nullptr}, up{nullptr}, down{nullptr};
  std::int64_t head;
  explicit block(std::int64_t hidden) : head(hidden / heads) {
    using torch::nn::Linear, torch::nn::LayerNorm, torch::nn::LayerNormOptions;
    norm_1 = register_module("norm_1", LayerNorm(LayerNormOptions({hidden})));
    norm_2 = register_module("norm_2", LayerNorm(LayerNormOptions({hidden})));
    q = register_module("q", Linear(hidden, hidden)), k = register_module("k", Linear(hidden, key_heads * head));
    v = register_module("v", Linear(hidden, key_heads * head)), out = register_module("out", Linear(hidden, hidden));
    up = register_module("up", Linear(hidden, 4 * hidden)), down = register_module("down", Linear(4 * hidden, hidden));
  }
  torch::Tensor forward(torch::Tensor x, const rotary& turned, int layer, slimpack::libtorch::slice_call* call) {
    if (call != nullptr) x = call->enter(layer, x);
    const torch::Tensor h = norm_1(x), queries = turned(q(h).view({-1, heads, head})),
                        keys = turned(k(h).view({-1, key_heads, head})), values = v(h).view({-1, key_heads, head});
    x = x + out(call != nullptr ? call->attend(layer, queries, keys, values, causal) : causal(queries, keys, values));
    return x + down(torch::gelu(up(norm_2(x))));
  }
};
struct gpt_part : torch::nn::Module {  // a pipeline stage's layers, with the words at either end
  torch::nn::Embedding embedding{nullptr};
  torch::nn::LayerNorm norm{nullptr};
  torch::nn::Linear output{nullptr};
  std::vector<std::shared_ptr<block>> blocks;
  gpt_part(int stage, int stages, sizes g = {}) {
    torch::manual_seed(7);  // each stage makes all layers, and keeps its own: the same weights on any number of stages
    torch::nn::Embedding all(words, g.hidden);
    if (stage == 0) embedding = register_module("embedding", all);
    for (int layer = 0; layer < g.depth; ++layer) {
      auto made = std::make_shared<block>(g.hidden);
      if (layer * stages / g.depth == stage)
        blocks.push_back(register_module("block_" + std::to_string(layer), std::move(made)));
    }
    torch::nn::LayerNorm last(torch::nn::LayerNormOptions({g.hidden}));
    torch::nn::Linear logits(g.hidden, words);
    if (stage == stages - 1) norm = register_module("norm", last), output = register_module("output", logits);
    to(g.type);
  }
  torch::Tensor forward(torch::Tensor x, const torch::Tensor& positions,
                        slimpack::libtorch::slice_call* call = nullptr) {
    const rotary turned(positions, x.size(1) / heads / 2, x.options().requires_grad(false));
    for (std::size_t i = 0; i < blocks.size(); ++i) x = blocks[i]->forward(x, turned, static_cast<int>(i), call);
    return x;
  }
  torch::Tensor logits(const torch::Tensor& y) { return output(norm(y)); }
};
inline torch::Tensor text(const slimpack::slice& s) {  // any text: each word follows from its place
  const torch::Tensor at = torch::arange(s.begin.value, s.end().value, torch::kLong);
  return (at * at + at * static_cast<std::int64_t>(s.sequence.value % 7)) % words;
}

}  // namespace gpt

#endif
