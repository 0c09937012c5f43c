// A trainer with an autograd engine adopts slimpack. What a forward leaves behind is a graph behind a pointer: the
// runtime keeps one per slice and hands it back for the slice's backward. Gradients equal those of whole sequences.
#include <slimpack/executors/packflow.hpp>
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

// The trainer: a tensor is a node of a graph that knows how to pull its gradient back into those it was made from.
using matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using tensor = std::shared_ptr<struct node>;
struct node {
  matrix value;
  std::vector<tensor> from{};
  std::function<void(const matrix& grad)> pull = [](const matrix&) {};
  std::function<void()> hook = [] {};  // data parallelism: called when the node has its gradient of this graph
  matrix grad = matrix::Zero(value.rows(), value.cols());
  int id = made++;
  static inline std::atomic<int> made;
};
tensor make(node n) { return std::make_shared<node>(std::move(n)); }
tensor operator+(const tensor& a, const tensor& b) {
  return make({a->value + b->value, {a, b}, [a, b](const matrix& g) { a->grad += g, b->grad += g; }});
}
tensor operator*(const tensor& a, const tensor& b) {
  const auto pull = [=](const matrix& g) { a->grad += g * b->value.transpose(), b->grad += a->value.transpose() * g; };
  return make({a->value * b->value, {a, b}, pull});
}
tensor joined(const tensor& a, const tensor& b) {  // rows of a above rows of b
  if (!a) return b;
  const Eigen::Index m = a->value.rows(), n = b->value.rows();
  matrix rows(m + n, b->value.cols());
  rows << a->value, b->value;
  return make({rows, {a, b}, [=](const matrix& g) { a->grad += g.topRows(m), b->grad += g.bottomRows(n); }});
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
tensor distance(const tensor& a, const matrix& to, double weight) {
  const auto pull = [=](const matrix& g) { a->grad += weight * g(0) * (a->value - to); };
  return make({matrix::Constant(1, 1, weight / 2 * (a->value - to).squaredNorm()), {a}, pull});
}
void pull_all(const tensor& root) {
  std::map<int, node*, std::greater<>> open{{root->id, root.get()}};  // the latest first: all made from it is done
  for (; !open.empty(); open.erase(open.begin())) {
    const node& n = *open.begin()->second;
    n.pull(n.grad), n.hook();
    for (const tensor& one : n.from) open[one->id] = one.get();
  }
}
constexpr int letters = 8;  // and the width of the model, whose tokens are one-hot and learn to be the next
matrix text(slimpack::sequence_id s, slimpack::tokens begin, slimpack::tokens length) {
  return matrix::NullaryExpr(length.value, letters, [=](auto row, auto letter) {
    return (begin.value + row) * (begin.value + row + s.value) / 2 % letters == letter ? 1 : 0;
  });
}
struct slice_of_layer {
  tensor x, y, keys, values, seen_keys, seen_values;
};
struct layer {  // a slice attends to itself and to what of its sequence came before
  static tensor weight(int seed) {
    const auto entry = [=](auto i, auto j) { return std::sin(double(seed * (i + 1) * (j + 5) + i * i)) / 2; };
    return make({matrix::NullaryExpr(letters, letters, entry)});
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
  const layer& attend;
  double sum{};
  std::map<slimpack::sequence_id, state> past{};  // the latest slice of each sequence
  bool armed{};  // many graphs add to a weight's gradient in a step: its hook may reduce in the last of them alone
  int reduced{};
  slimpack::message_format format() const { return {letters, slimpack::element_of<double>}; }
  void begin_step(const slimpack::step_outline&) {
    for (sum = 0; const tensor& w : attend.w) w->hook = [this] { reduced += armed; };  // here the trainer's all-reduce
  }
  int reductions(int /*chunk*/) const { return reduced / 4; }  // asked after every call, so that no hook is early
  double loss() const { return sum; }
  slimpack::result<state> forward(const slimpack::piece& p, std::span<const std::byte> in, slimpack::outgoing& out) {
    const auto [sequence, begin, length] = p.slice;
    state s = attend(make({in.empty() ? text(sequence, begin, length) : rows_of(in, length)}), past[sequence]);
    const double weight = p.loss_weight / static_cast<double>(length.value);
    if (!out.wanted()) s.y = distance(s.y, text(sequence, {begin.value + 1}, length), weight), sum += s.y->value(0);
    (void)out.put(s.y);
    return past[sequence] = s;
  }
  slimpack::result<void> backward(const slimpack::piece& p, state s, std::span<const std::byte> in,
                                  slimpack::outgoing& out) {
    armed = p.last_of_chunk;
    s.y->grad = in.empty() ? matrix::Ones(1, 1) : rows_of(in, p.slice.length);
    s.keys->grad = s.seen_keys->grad, s.values->grad = s.seen_values->grad;  // from all later slices
    pull_all(make({matrix(0, 0), {s.y, s.keys, s.values}}));
    if (p.is_first()) past.erase(p.slice.sequence);
    return out.put(make({s.x->grad}));
  }
  void discard(const slimpack::piece& p, const state&) { past.erase(p.slice.sequence); }
};
int main() {
  const std::vector<slimpack::tokens> lengths{{37}, {6}, {90}, {1}, {21}};
  const slimpack::costs::quadratic cost{.per_call = {2e-6}};  // the launches of a slice take as long as 2 tokens
  // A graph runs backward as a whole, so planner_for plans by solvers::refined: both passes are cut at the same places.
  const slimpack::plan plan = slimpack::planner_for<stage>({.stages = 2, .quantum = {4}}, {}, cost)(lengths).value();
  slimpack::transports::threads world{2};
  const std::array<layer, 2> sliced, whole;
  std::array stages{stage{sliced[0]}, stage{sliced[1]}};
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
    for (slimpack::sequence_id s{}; s.value < lengths.size(); ++s.value) {  // the step as it was
      const tensor y = whole[1](whole[0](make({text(s, {0}, lengths[s.value])})).y).y;
      const tensor l = distance(y, text(s, {1}, lengths[s.value]), 1.0 / 155);
      l->grad.setOnes(), pull_all(l), expected += l->value(0);
    }
    same = same && loss == same_loss && std::abs(loss - expected) < 1e-12 * loss && stages[1].reduced == 4 * step + 4;
    for (std::size_t i = 0; i < 8; ++i) {
      node &a = *sliced[i / 4].w[i % 4], &b = *whole[i / 4].w[i % 4];
      same = same && (a.grad - b.grad).norm() < 1e-12 * b.grad.norm();
      b.value = a.value -= a.grad, a.grad.setZero(), b.grad.setZero();  // the optimizer
    }
    if (step % 10 == 0) std::printf("step %2d, loss %.4f\n", step, loss);
  }
  std::printf("%zu sequences, %zu slices: loss and gradients are %sthose of whole sequences, to 1e-12\n",
              lengths.size(), plan.replicas[0].partition.forward.slices().size(), same ? "" : "not ");
}
