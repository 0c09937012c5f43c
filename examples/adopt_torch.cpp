// A trainer on libtorch adopts slimpack: a GPT with rotary positions, whose queries share keys and values in groups.
// What it computes by slices, over two stages and two replicas that share long sequences, equals what it computes by
// whole sequences: losses, gradients, and the weights after 20 steps of AdamW.
#include <slimpack/adapters/torch.hpp>
#include <slimpack/executors/packflow.hpp>
#include <slimpack/planner_for.hpp>
#include <slimpack/transports/threads.hpp>

#include <cmath>
#include <cstdio>
#include <future>
#include <memory>

// The trainer.
using torch::Tensor, slimpack::libtorch::slice_call;
constexpr int words = 61, hidden = 32, heads = 4, key_heads = 2, head = hidden / heads, depth = 4;

Tensor turned(const Tensor& x, const Tensor& positions) {  // rotary positions of (tokens, heads, size)
  const std::int64_t half = x.size(2) / 2;
  const Tensor speeds = torch::pow(1e4, -torch::arange(half, x.options()) / static_cast<double>(half));
  const Tensor angle = (positions.to(x.dtype()).unsqueeze(1) * speeds).unsqueeze(1);
  const Tensor a = x.narrow(2, 0, half), b = x.narrow(2, half, half);
  return torch::cat({a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()}, 2);
}
Tensor causal(const Tensor& q, const Tensor& k, const Tensor& v) {  // query i sees keys 0 to m - n + i
  constexpr std::int64_t block = 256;  // no more of the masked triangle is computed than that
  const std::int64_t n = q.size(0), m = k.size(0), groups = q.size(1) / k.size(1), size = q.size(2);
  std::vector<Tensor> rows;
  for (std::int64_t first = 0; first < n; first += block) {
    const std::int64_t some = std::min(block, n - first), seen = m - n + first + some;
    const Tensor ask = q.narrow(0, first, some).view({some, k.size(1), groups, size}).permute({1, 2, 0, 3});
    const Tensor scores = ask.reshape({k.size(1), groups * some, size}).bmm(k.narrow(0, 0, seen).permute({1, 2, 0})) /
                          std::sqrt(static_cast<double>(size));
    const Tensor hidden_ones = torch::ones({some, seen}, torch::kBool).triu(seen - some + 1);
    const Tensor p = scores.view({k.size(1), groups, some, seen}).masked_fill(hidden_ones, -INFINITY).softmax(-1);
    const Tensor mixed = p.view({k.size(1), groups * some, seen}).bmm(v.narrow(0, 0, seen).transpose(0, 1));
    rows.push_back(mixed.view({k.size(1), groups, some, size}).permute({2, 0, 1, 3}).reshape({some, -1}));
  }
  return rows.size() == 1 ? rows[0] : torch::cat(rows);
}
struct block_impl : torch::nn::Module {
  torch::nn::LayerNorm norm_1{nullptr}, norm_2{nullptr};
  torch::nn::Linear q{nullptr}, k{nullptr}, v{nullptr}, out{nullptr}, up{nullptr}, down{nullptr};
  block_impl() {
    using torch::nn::Linear, torch::nn::LayerNorm, torch::nn::LayerNormOptions;
    norm_1 = register_module("norm_1", LayerNorm(LayerNormOptions({hidden})));
    norm_2 = register_module("norm_2", LayerNorm(LayerNormOptions({hidden})));
    q = register_module("q", Linear(hidden, hidden)), k = register_module("k", Linear(hidden, key_heads * head));
    v = register_module("v", Linear(hidden, key_heads * head)), out = register_module("out", Linear(hidden, hidden));
    up = register_module("up", Linear(hidden, 4 * hidden)), down = register_module("down", Linear(4 * hidden, hidden));
  }
  Tensor forward(Tensor x, const Tensor& positions, int layer, slice_call* call) {
    if (call != nullptr) x = call->enter(layer, x);
    const Tensor h = norm_1(x), queries = turned(q(h).view({-1, heads, head}), positions),
                 keys = turned(k(h).view({-1, key_heads, head}), positions), values = v(h).view({-1, key_heads, head});
    x = x + out(call != nullptr ? call->attend(layer, queries, keys, values, causal) : causal(queries, keys, values));
    return x + down(torch::gelu(up(norm_2(x))));
  }
};
struct part_impl : torch::nn::Module {  // a pipeline stage's layers, with the words at either end
  torch::nn::Embedding embedding{nullptr};
  torch::nn::LayerNorm norm{nullptr};
  torch::nn::Linear output{nullptr};
  std::vector<std::shared_ptr<block_impl>> blocks;
  part_impl(int stage, int stages) {
    torch::manual_seed(7);  // each stage makes all layers, and keeps its own: the same weights on any number of stages
    torch::nn::Embedding all(words, hidden);
    if (stage == 0) embedding = register_module("embedding", all);
    for (int layer = 0; layer < depth; ++layer) {
      auto made = std::make_shared<block_impl>();
      if (layer * stages / depth == stage)
        blocks.push_back(register_module("block_" + std::to_string(layer), std::move(made)));
    }
    torch::nn::LayerNorm last(torch::nn::LayerNormOptions({hidden}));
    torch::nn::Linear logits(hidden, words);
    if (stage == stages - 1) norm = register_module("norm", last), output = register_module("output", logits);
    to(torch::kDouble);
  }
  Tensor forward(Tensor x, const Tensor& positions, slice_call* call = nullptr) {
    for (std::size_t i = 0; i < blocks.size(); ++i) x = blocks[i]->forward(x, positions, static_cast<int>(i), call);
    return x;
  }
  Tensor logits(const Tensor& y) { return output(norm(y)); }
};
Tensor text(const slimpack::slice& s) {  // any text: each word follows from its place
  const Tensor at = torch::arange(s.begin.value, s.end().value, torch::kLong);
  return (at * at + at * static_cast<std::int64_t>(s.sequence.value % 7)) % words;
}

// What adopts slimpack.
struct chunk {
  static constexpr bool shares_rows = true;
  std::shared_ptr<part_impl> part;
  std::vector<Tensor> parameters() const { return part->parameters(); }
  Tensor forward(slice_call& call, Tensor x) {
    if (!x.defined()) x = part->embedding(call.of_pieces(text));
    return part->forward(x, call.positions(), &call);
  }
  Tensor loss(slice_call& call, const Tensor& y) { return call.loss(part->logits(y), text); }
};
using gpt_stage = slimpack::libtorch::stage<chunk>;
const slimpack::libtorch::sizes messages{{hidden, slimpack::element_of<double>}, depth / 2, key_heads, head};
// End of what adopts slimpack.

int main() {
  at::set_num_threads(1);
  const std::vector<slimpack::tokens> lengths{{37}, {6}, {90}, {1}, {21}, {14}, {9}, {52}};
  const slimpack::plan plan = slimpack::planner_for<gpt_stage>({.stages = 2, .replicas = 2, .quantum = {4}})(lengths).value();
  slimpack::transports::threads world{4};
  std::vector<gpt_stage> stages;
  std::vector<std::unique_ptr<torch::optim::AdamW>> optimizers;
  for (int rank = 0; rank < 4; ++rank) {
    stages.emplace_back(messages, std::vector{chunk{std::make_shared<part_impl>(rank % 2, 2)}});
    optimizers.push_back(std::make_unique<torch::optim::AdamW>(stages.back().chunk_of(0).parameters(), 1e-2));
  }
  const auto run = [&](std::size_t rank) {
    optimizers[rank]->zero_grad();
    auto port = world.endpoint(static_cast<int>(rank));
    return slimpack::executors::packflow{}.execute(plan, stages[rank], port).value().loss_sum;
  };

  part_impl whole(0, 1);
  torch::optim::AdamW whole_optimizer(whole.parameters(), 1e-2);
  double worst = 0;
  const auto differ = [&](const Tensor& a, const Tensor& b) {
    worst = std::max(worst, ((a - b).norm() / b.norm().clamp_min(1e-30)).item<double>());
  };
  for (int step = 0; step < 20; ++step) {
    std::vector<std::future<double>> losses;
    for (std::size_t rank = 0; rank < 4; ++rank) losses.push_back(std::async(std::launch::async, run, rank));
    double loss = 0;
    for (auto& one : losses) loss = one.get();
    whole_optimizer.zero_grad();
    double expected = 0;
    for (slimpack::sequence_id s{}; s.value < lengths.size(); ++s.value) {  // the step as it was
      const slimpack::slice all{s, {0}, lengths[s.value]}, next{s, {1}, lengths[s.value]};
      const Tensor y = whole.forward(whole.embedding(text(all)), torch::arange(all.length.value));
      const Tensor l = torch::nn::functional::cross_entropy(whole.logits(y), text(next),
                                                            torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum)) / 230;
      l.backward(), expected += l.item<double>();
    }
    worst = std::max(worst, std::abs(loss / expected - 1));
    const auto named = whole.named_parameters();
    for (std::size_t rank = 0; rank < 4; ++rank)
      for (const auto& p : stages[rank].chunk_of(0).part->named_parameters()) differ(p.value().grad(), named[p.key()].grad());
    for (auto& o : optimizers) o->step();
    whole_optimizer.step();
    if (step % 5 == 4) std::printf("step %2d, loss %.4f\n", step, loss);
  }
  std::printf("worst %.2g\n", worst);
  std::printf("%zu shared\n", plan.merges.size());
}
