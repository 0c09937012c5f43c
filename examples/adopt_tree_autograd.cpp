// A trainer with an autograd engine adopts slimpack, for answers to prompts: what samples begin with alike runs once.
// The keys and values of a prompt are leaves of the graphs of all its answers, so that engine adds up their gradients.
// Loss and gradients equal those of flat copies, each with its own prompt.
#include <slimpack/executors/packflow.hpp>
#include <slimpack/forests/from_tokens.hpp>
#include <slimpack/planner_for.hpp>
#include <slimpack/transports/threads.hpp>

#include <Eigen/Core>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <functional>
#include <future>
#include <map>
#include <vector>

// The trainer: a tensor is a node of a graph that knows how to pull its gradient back into those it was made from.
using matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using tensor = std::shared_ptr<struct node>;
struct node {
  matrix value;
  std::vector<tensor> from{};
  std::function<void(const matrix& grad)> pull = [](const matrix&) {};
  matrix grad = matrix::Zero(value.rows(), value.cols());
  int id = made++;
  static inline std::atomic<int> made;
};
tensor make(node n) { return std::make_shared<node>(std::move(n)); }
tensor operator+(const tensor& a, const tensor& b) {
  return make({a->value + b->value, {a, b}, [a, b](const matrix& g) { a->grad += g, b->grad += g; }});
}
tensor operator*(const tensor& a, const tensor& b) {
  return make({a->value * b->value, {a, b}, [a, b](const matrix& g) {
                 a->grad += g * b->value.transpose(), b->grad += a->value.transpose() * g;
               }});
}
tensor joined(const tensor& a, const tensor& b) {  // rows of a above rows of b
  if (!a) return b;
  matrix rows(a->value.rows() + b->value.rows(), b->value.cols());
  rows << a->value, b->value;
  return make({rows, {a, b}, [a, b](const matrix& g) {
                 a->grad += g.topRows(a->grad.rows()), b->grad += g.bottomRows(b->grad.rows());
               }});
}
tensor attention(const tensor& q, const tensor& k, const tensor& v) {  // of the last rows to all: causal
  matrix p = (q->value * k->value.transpose()).array().exp();
  for (Eigen::Index hidden = 1; hidden < p.rows(); ++hidden) p.row(p.rows() - 1 - hidden).tail(hidden).setZero();
  p.array().colwise() /= p.rowwise().sum().eval().array();
  return make({p * v->value, {q, k, v}, [=](const matrix& g) {
                 const matrix gp = p.cwiseProduct(g * v->value.transpose()),
                              gs = gp - matrix(gp.rowwise().sum().asDiagonal() * p);
                 q->grad += gs * k->value, k->grad += gs.transpose() * q->value, v->grad += p.transpose() * g;
               }});
}
tensor rows_of(const tensor& a, Eigen::Index first, Eigen::Index count) {
  return make(
      {a->value.middleRows(first, count), {a}, [=](const matrix& g) { a->grad.middleRows(first, count) += g; }});
}
tensor distance(const tensor& a, const matrix& to, double weight) {
  return make({matrix::Constant(1, 1, weight / 2 * (a->value - to).squaredNorm()), {a}, [=](const matrix& g) {
                 a->grad += weight * g(0) * (a->value - to);
               }});
}
void pull_all(const tensor& root) {
  std::map<int, node*, std::greater<>> open{{root->id, root.get()}};  // the latest first: all made from it is done
  for (; !open.empty(); open.erase(open.begin())) {
    const node& n = *open.begin()->second;
    n.pull(n.grad);
    for (const tensor& one : n.from) open[one->id] = one.get();
  }
}
constexpr int letters = 8;  // and the width of the model, whose tokens are one-hot
using ids = std::vector<std::int32_t>;
matrix text(const ids& all, slimpack::tokens begin, slimpack::tokens length) {
  return matrix::NullaryExpr(length.value, letters, [&](auto row, auto letter) {
    return all[static_cast<std::size_t>(begin.value + row)] == letter ? 1 : 0;
  });
}
struct sample {
  ids all;                                   // a prompt and an answer
  slimpack::forests::trained_run is_learnt;  // the answer, with what came of its reward
};
std::vector<sample> sampled() {
  std::vector<sample> all;
  for (const auto& [prompt, answers] : {std::pair{61, std::array{37, 6, 21}}, {42, {12, 9, 30}}})
    for (int k = 0; const int answer : answers) {
      sample& s = all.emplace_back(sample{{}, {{prompt}, {answer}, 1 - ++k / 4.0}});
      for (int t = 0; t < prompt; ++t) s.all.push_back((prompt + t * (t + 1) / 2) % letters);
      for (int t = 0; t < answer; ++t) s.all.push_back((k + t * (t + k) / 2) % letters);
    }
  return all;
}
struct slice_of_layer {
  tensor x, y, keys, values, seen_keys, seen_values;
};
struct layer {  // a slice attends to itself and to what of its path came before
  static tensor weight(int seed) {
    return make({matrix::NullaryExpr(letters, letters, [=](auto i, auto j) {
      return std::sin(static_cast<double>(seed * (i + 1) * (j + 5) + i * i)) / 2;
    })});
  }
  std::array<tensor, 4> w{weight(1), weight(2), weight(3), weight(4)};
  slice_of_layer operator()(const tensor& x, const slice_of_layer& past = {}) const {
    const tensor k = joined(past.seen_keys, x * w[0]), v = joined(past.seen_values, x * w[1]);
    return {x, x + attention(x * w[2], k, v) * w[3], k, v, make({k->value}), make({v->value})};  // leaves: a graph ends
  }
};

// What adopts slimpack: a layer as a stage, slice by slice.
std::span<const std::byte> as_span(const tensor& t) {
  return std::as_bytes(std::span(t->value.data(), static_cast<std::size_t>(t->value.size())));
}
matrix rows_of(std::span<const std::byte> message, slimpack::tokens length) {
  return Eigen::Map<const matrix>(slimpack::as<double>(message).data(), length.value, letters);
}
struct stage {
  using state = slice_of_layer;
  static constexpr bool shares_prefixes = true;
  const layer& attend;
  std::function<const ids&(slimpack::sequence_id)> path;  // of a sequence, down to its end
  double sum{}, targets{};
  std::map<slimpack::sequence_id, state> past{};  // the latest slice of each sequence
  slimpack::message_format format() const { return {letters, slimpack::element_of<double>}; }
  void begin_step(const slimpack::step_outline& o) { sum = 0, targets = static_cast<double>(o.valid_tokens.value); }
  double loss() const { return sum; }
  slimpack::result<state> forward(const slimpack::piece& p, std::span<const std::byte> in, slimpack::outgoing& out) {
    const auto [sequence, begin, length] = p.slice;
    const state before = !p.is_first() ? past[sequence] : p.prefix.empty() ? state{} : past[p.prefix.back().sequence];
    state s = attend(make({in.empty() ? text(path(sequence), begin, length) : rows_of(in, length)}), before);
    past[sequence] = s;
    if (out.wanted()) return (void)out.put(s.y), s;
    tensor all = distance(rows_of(s.y, 0, 0), matrix(0, letters), 0);
    for (const slimpack::target_run& run : p.edges)  // the last token of a prompt has one to each answer
      all = all + distance(rows_of(s.y, run.begin.value - 1 - begin.value, run.length.value),
                           text(path(run.sequence), run.begin, run.length), run.weight / targets);
    sum += all->value(0), s.y = all;
    return s;
  }
  slimpack::result<void> backward(const slimpack::piece& p, state s, std::span<const std::byte> in,
                                  slimpack::outgoing& out) {
    s.y->grad = in.empty() ? matrix::Ones(1, 1) : rows_of(in, p.slice.length);
    s.keys->grad = s.seen_keys->grad, s.values->grad = s.seen_values->grad;  // from all that came later on its paths
    pull_all(make({matrix(0, 0), {s.y, s.keys, s.values}}));
    if (p.is_first()) past.erase(p.slice.sequence);
    return out.put(make({s.x->grad}));
  }
  void discard(const slimpack::piece& p, const state&) { past.erase(p.slice.sequence); }
};

int main() {
  const std::vector<sample> samples = sampled();
  std::vector<slimpack::forests::token_sample> texts;
  for (const sample& s : samples) texts.push_back({s.all, {&s.is_learnt, 1}});
  const slimpack::forests::token_forest batch = slimpack::forests::from_tokens(texts).value();
  const slimpack::costs::quadratic cost{.per_call = {2e-6}};  // each slice is a call, as long as 2 tokens
  const slimpack::plan plan = slimpack::planner_for<stage>({.stages = 2, .quantum = {4}}, {}, cost)(batch.all).value();
  slimpack::transports::threads world{2};
  const std::array<layer, 2> shared, flat;
  const auto path = [&](slimpack::sequence_id s) -> const ids& { return samples[batch.text[s.value]].all; };
  std::array stages{stage{shared[0], path}, stage{shared[1], path}};
  const auto run = [&](std::size_t rank) {
    auto port = world.endpoint(static_cast<int>(rank));
    return slimpack::executors::packflow{}.execute(plan, stages[rank], port).value().loss_sum;
  };
  // End of what adopts slimpack.

  bool same = true;
  for (int step = 0; step <= 40; ++step) {
    auto other = std::async(std::launch::async, run, 1);
    const double loss = run(0), same_loss = other.get();
    double expected = 0;
    for (const sample& s : samples) {  // the step as it was
      const slimpack::tokens size{static_cast<std::int64_t>(s.all.size())};
      const tensor y = flat[1](flat[0](make({text(s.all, {0}, size)})).y).y;
      const auto [begin, length, weight] = s.is_learnt;
      const tensor l = distance(rows_of(y, begin.value - 1, length.value), text(s.all, begin, length), weight / 115);
      l->grad.setOnes(), pull_all(l), expected += l->value(0);
    }
    same = same && loss == same_loss && std::abs(loss - expected) < 1e-12 * expected;
    for (std::size_t i = 0; i < 8; ++i) {
      node &a = *shared[i / 4].w[i % 4], &b = *flat[i / 4].w[i % 4];
      same = same && (a.grad - b.grad).norm() < 1e-12 * b.grad.norm();
      b.value = a.value -= a.grad, a.grad.setZero(), b.grad.setZero();  // the optimizer
    }
    if (step % 10 == 0) std::printf("step %2d, loss %.4f\n", step, loss);
  }
  std::printf("%zu samples, %zu sequences, %zu slices: loss and gradients are %sthose of flat copies, to 1e-12\n",
              samples.size(), plan.lengths.size(), plan.replicas[0].partition.forward.slices().size(),
              same ? "" : "not ");
}
