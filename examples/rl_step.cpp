// Reinforcement learning by a clipped objective (PPO, GRPO): the old log-probabilities of two minibatches by the plans
// of their steps, made beforehand, then the steps. While weights are the same, every ratio is exactly 1, in float.
#include <slimpack/executors/packflow.hpp>
#include <slimpack/planner_for.hpp>
#include <slimpack/solvers/forward.hpp>
#include <slimpack/transports/threads.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <thread>
#include <vector>

using slimpack::sequence_id, slimpack::tokens, slimpack::edge_values;
constexpr std::size_t words = 8, ranks = 4;  // two stages of two replicas
using row = std::array<float, words>;

/// Answers to prompts of 8 tokens, four to each, as a sampler gave them, with their rewards.
struct minibatch {
  std::vector<tokens> lengths;
  std::vector<float> rewards;
  std::size_t word(sequence_id s, std::int64_t t) const {
    return static_cast<std::size_t>(t < 8 ? t * (s.value / 4 + 3) : t * t / 3 + t * s.value) % words;
  }
  float advantage(sequence_id s) const {  // over the mean of the prompt's answers
    const auto first = rewards.begin() + s.value / 4 * 4;
    return rewards[s.value] - std::accumulate(first, first + 4, 0.0f) / 4;
  }
};

/// w m for each row of a call. As libraries do, it has a kernel for many rows, which adds in another order than that
/// for few: the last bits depend on what else is in the pack.
std::vector<row> product(const std::array<row, words>& w, const std::vector<row>& m) {
  std::vector<row> y(m.size());
  for (std::size_t k = 0; k < m.size() * words; ++k) {
    float sum = 0, odd = 0;
    for (std::size_t j = 0; j < words; ++j)
      (m.size() >= 24 && j % 2 == 1 ? odd : sum) += w[k % words][j] * m[k / words][j];
    y[k / words][k % words] = sum + odd;
  }
  return y;
}

/// A stage: y_t = x_t + w (the mean of x_0 to x_t). On the last one, y are the logits of the next word.
struct stage {
  static constexpr slimpack::backward_cuts cuts = slimpack::backward_cuts::any;
  struct arena {
    std::vector<row> means, d_logits;
    row sum, later;  // of x; what later tokens add to the gradient of each x
  };
  std::array<row, words> w{}, dw{};
  stage() {
    for (std::size_t k = 0; k < words * words; ++k) w[k / words][k % words] = std::sin(static_cast<float>(k * k));
  }
  const minibatch* batch{};
  const edge_values* old{};  // of a step
  std::map<sequence_id, arena> arenas{};
  edge_values edges{};
  double sum{};
  int exact{}, clipped{};
  slimpack::message_format format() const { return {words, slimpack::element_type::float32}; }
  tokens valid_tokens(const slimpack::slice& s) const {  // those before a word of the answer
    const tokens end = std::min(s.end(), batch->lengths[s.sequence.value] - tokens{1});
    return std::max(end - std::max(s.begin, tokens{7}), tokens{});
  }
  void begin_step(const slimpack::step_outline&) { edges = {}, sum = 0, exact = clipped = 0; }
  void log_probabilities(edge_values& to) const { to.add(edges); }
  double loss() const { return sum; }
  void discard(const slimpack::piece& p) { arenas.erase(p.slice.sequence); }
  slimpack::result<void> reduce(auto& copies) { return copies.sum(std::span(dw[0].data(), words * words)); }

  slimpack::result<void> forward(std::span<const slimpack::piece> pack, std::span<const std::byte> in,
                                 slimpack::outgoing& out) {
    std::vector<row> x, means;
    for (const slimpack::piece& p : pack)
      for (std::int64_t t = p.slice.begin.value; t < p.slice.end().value; ++t) {
        x.push_back(in.empty() ? row{} : slimpack::as<row>(in)[x.size()]);
        if (in.empty()) x.back()[batch->word(p.slice.sequence, t)] = 1;
        arena& a = arenas[p.slice.sequence];
        row& mean = means.emplace_back();
        for (std::size_t i = 0; i < words; ++i) mean[i] = (a.sum[i] += x.back()[i]) / static_cast<float>(t + 1);
        a.means.push_back(mean);
      }
    std::vector<row> y = product(w, means);
    for (std::size_t k = 0; k < y.size() * words; ++k) y[k / words][k % words] += x[k / words][k % words];
    for (const row* logits = y.data(); const slimpack::piece& p : pack)
      for (std::int64_t t = p.slice.begin.value; t < p.slice.end().value; ++t, ++logits)
        if (!out.wanted()) arenas[p.slice.sequence].d_logits.push_back(objective(p, t, *logits));
    return out.put(slimpack::as_span(y));
  }
  /// -min(ratio A, clip(ratio) A) of the word after token t, added to the loss. Returns its gradient.
  row objective(const slimpack::piece& p, std::int64_t t, const row& logits) {
    const sequence_id s = p.slice.sequence;
    if (valid_tokens({s, {t}, {1}}) == tokens{}) return {};
    float total = 0;
    for (const float l : logits) total += std::exp(l);
    const std::size_t next = batch->word(s, t + 1);
    const float log_p = logits[next] - std::log(total);
    edges.add(s, {t + 1}, log_p);
    const float ratio = old ? std::exp(log_p - static_cast<float>(old->at(s, {t + 1}).value())) : 1;
    const float a = batch->advantage(s), gain = ratio * a, most = std::clamp(ratio, 0.8f, 1.2f) * a;
    const auto weight = static_cast<float>(p.loss_weight / static_cast<double>(valid_tokens(p.slice).value));
    exact += ratio == 1, clipped += most < gain, sum -= weight * std::min(gain, most);
    row d{};
    for (std::size_t i = 0; i < words && gain <= most; ++i)
      d[i] = weight * gain * (std::exp(logits[i]) / total - (i == next ? 1.0f : 0.0f));
    return d;
  }
  slimpack::result<void> backward(std::span<const slimpack::piece> pack, std::span<const std::byte> in,
                                  slimpack::outgoing& out) {
    std::vector<row> dx;
    for (const slimpack::piece& p : pack) {
      arena& a = arenas[p.slice.sequence];
      dx.resize(dx.size() + static_cast<std::size_t>(p.slice.length.value));
      std::size_t at = dx.size();
      for (std::int64_t t = p.slice.end().value; t-- > p.slice.begin.value; a.means.pop_back()) {
        const row dy = in.empty() ? a.d_logits.back() : slimpack::as<row>(in)[at - 1];
        if (in.empty()) a.d_logits.pop_back();
        for (std::size_t k = 0; k < words * words; ++k) {
          dw[k / words][k % words] += dy[k / words] * a.means.back()[k % words];
          a.later[k % words] += w[k / words][k % words] * dy[k / words] / static_cast<float>(t + 1);
        }
        --at;
        for (std::size_t i = 0; i < words; ++i) dx[at][i] = dy[i] + a.later[i];
      }
      if (p.is_first()) arenas.erase(p.slice.sequence);
    }
    return out.put(slimpack::as_span(dx));
  }
};

int main() {
  const std::array<minibatch, 2> batches{
      {{{{90}, {31}, {17}, {46}, {12}, {200}, {25}, {38}}, {1, 0, 0, 1, 0, 1, 1, 1}},
       {{{60}, {19}, {150}, {33}, {27}, {14}, {71}, {40}}, {0, 0, 1, 0, 1, 0, 1, 0}}}};
  const auto plan_batch = slimpack::planner_for<stage>({.stages = 2, .replicas = 2, .quantum = {4}});
  const std::array<slimpack::plan, 2> plans{plan_batch(batches[0].lengths).value(),
                                            plan_batch(batches[1].lengths).value()};
  const slimpack::plan forward = plan_batch.plan_forward(batches[0].lengths).value();
  const slimpack::executors::packflow run;
  slimpack::transports::threads world{ranks};
  std::array<stage, ranks> all;
  const auto on_all = [&](const minibatch& b, auto call) {
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < ranks; ++r)
      threads.emplace_back([&, r] {
        auto port = world.endpoint(static_cast<int>(r));
        all[r].batch = &b, all[r].old = nullptr;
        call(r, all[r], port);
      });
  };
  const auto count = [&](int stage::*what) {
    int sum = 0;
    for (const stage& s : all) sum += s.*what;
    return sum;
  };

  // Old log-probabilities of all minibatches, each by the plan of its step; of the first by other packs, too.
  std::array<std::array<edge_values, ranks>, 3> old;
  const std::array by{&plans[0], &plans[1], &forward};
  for (std::size_t k = 0; k < 3; ++k)
    on_all(batches[k % 2], [&](std::size_t r, stage& s, auto& port) {
      old[k][r] = run.evaluate(*by[k], s, port).value().log_probabilities;
    });
  edge_values others;
  int answers = 0;  // tokens, of the first minibatch
  for (std::size_t r = 0; r < ranks; ++r) others.add(old[2][r]), answers += static_cast<int>(old[0][r].all().size());
  others.close().value();
  on_all(batches[0], [&](std::size_t, stage& s, auto& port) {
    s.old = &others;
    run.evaluate(plans[0], s, port).value();
  });
  std::printf("by packs of plan_forward, %d of %d ratios are not 1: %s\n", answers - count(&stage::exact), answers,
              old[2][1].of_step(plans[0]).error().detail.c_str());

  // The steps. Minibatches come twice, so that from the second step on weights are others.
  for (std::size_t step = 0; step < 4; ++step) {
    std::array<double, ranks> loss{};
    on_all(batches[step % 2], [&](std::size_t r, stage& s, auto& port) {
      s.old = old[step % 2][r].of_step(plans[step % 2]).value();
      loss[r] = run.execute(plans[step % 2], s, port).value().loss_sum;
      for (std::size_t k = 0; k < words * words; ++k) s.w[k / words][k % words] -= 2 * s.dw[k / words][k % words];
      s.dw = {};
    });
    std::printf("step %zu, loss %7.4f: %3d ratios are exactly 1, %d clipped\n", step, loss[0], count(&stage::exact),
                count(&stage::clipped));
    if (step == 0 && count(&stage::exact) != answers) return std::puts("a ratio of the first step is not 1"), 1;
  }
}
