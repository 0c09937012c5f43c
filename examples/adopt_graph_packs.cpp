// A trainer with an autograd engine runs whole packs in one call. Forward runs linear layers once over the rows of its
// pack and splits the result into leaves, one state for each piece. Backward joins the rows of its own pack, whichever
// forward packs they came from. Gradients equal those of whole sequences.
#include <slimpack/executors/packflow.hpp>
#include <slimpack/planner_for.hpp>
#include <slimpack/transports/threads.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <functional>
#include <future>
#include <map>
#include <set>

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
tensor product(const tensor& a, const tensor& b, matrix value) {  // whose gradients do not need its value
  return make({std::move(value), {a, b}, [a, b](const matrix& g) {
                 a->grad += g * b->value.transpose(), b->grad += a->value.transpose() * g;
               }});
}
tensor operator*(const tensor& a, const tensor& b) { return product(a, b, a->value * b->value); }
tensor joined(const std::vector<tensor>& parts) {  // rows of the first above those of the next
  Eigen::Index rows = 0;
  for (const tensor& part : parts) rows += part->value.rows();
  node all{matrix(rows, parts.at(0)->value.cols()), parts};
  for (Eigen::Index at = 0; const tensor& part : parts)
    all.value.middleRows(at, part->value.rows()) = part->value, at += part->value.rows();
  all.pull = [parts](const matrix& g) {
    for (Eigen::Index at = 0; const tensor& part : parts)
      part->grad += g.middleRows(at, part->grad.rows()), at += part->grad.rows();
  };
  return make(std::move(all));
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
constexpr int letters = 8;  // and the width of the model, whose tokens are one-hot and learn to be the next
matrix text(slimpack::sequence_id s, slimpack::tokens begin, slimpack::tokens length) {
  return matrix::NullaryExpr(length.value, letters, [=](auto row, auto letter) {
    return (begin.value + row) * (begin.value + row + s.value) / 2 % letters == letter ? 1 : 0;
  });
}
struct layer {
  static tensor weight(int seed) {
    return make({matrix::NullaryExpr(letters, letters, [=](auto i, auto j) {
      return std::sin(static_cast<double>(seed * (i + 1) * (j + 5) + i * i)) / 2;
    })});
  }
  std::array<tensor, 4> w{weight(1), weight(2), weight(3), weight(4)};  // of queries, keys, values, outputs
  tensor operator()(const tensor& x) const { return x + attention(x * w[0], x * w[1], x * w[2]) * w[3]; }
};

// What adopts slimpack: a layer as a stage, pack by pack. A graph ends at leaves, so that each piece has one of its
// own.
struct stage {
  struct state {
    tensor x, q, k, v, mixed, y;
  };  // leaves, but for mixed, what attention makes of q, k and v
  using pieces = std::span<const slimpack::piece>;
  using states = std::span<state>;
  const layer& own;
  double sum{};
  std::size_t calls{};                                                         // of forward
  std::map<slimpack::sequence_id, std::array<std::vector<tensor>, 2>> past{};  // keys and values of its slices so far

  slimpack::message_format format() const { return {letters, slimpack::element_of<double>}; }
  void begin_step(const slimpack::step_outline&) { sum = 0, calls = 0; }
  double loss() const { return sum; }
  void discard(const slimpack::piece& p, const state&) { past.erase(p.slice.sequence); }

  static matrix stacked(states all, auto rows) {
    std::vector<tensor> parts;
    for (const state& s : all) parts.push_back(make({rows(s)}));
    return joined(parts)->value;
  }
  static matrix rows_of(std::span<const std::byte> message) {
    const std::span<const double> all = slimpack::as<double>(message);
    return Eigen::Map<const matrix>(all.data(), static_cast<Eigen::Index>(all.size()) / letters, letters);
  }
  static slimpack::result<void> put(const matrix& rows, slimpack::outgoing& out) {
    return out.put(std::span(rows.data(), static_cast<std::size_t>(rows.size())));
  }
  /// Gives each piece its rows of a pack.
  static void split(pieces pack, const auto& visit) {
    Eigen::Index at = 0;
    for (std::size_t i = 0; i < pack.size(); at += pack[i++].slice.length.value)
      visit(i, at, pack[i].slice.length.value);
  }

  slimpack::result<void> forward(pieces pack, states graphs, std::span<const std::byte> in, slimpack::outgoing& out) {
    ++calls;
    for (std::size_t i = 0; i < pack.size() && in.empty(); ++i)
      graphs[i].x = make({text(pack[i].slice.sequence, pack[i].slice.begin, pack[i].slice.length)});
    const matrix x = in.empty() ? stacked(graphs, [](const state& s) { return s.x->value; }) : rows_of(in);
    const matrix q = x * own.w[0]->value, k = x * own.w[1]->value, v = x * own.w[2]->value;  // once for all pieces
    split(pack, [&](std::size_t i, auto at, auto size) {
      const auto leaf = [&](const matrix& all) { return make({all.middleRows(at, size)}); };
      auto& [keys, values] = past[pack[i].slice.sequence];
      state& s = graphs[i] = {leaf(x), leaf(q), leaf(k), leaf(v), {}, {}};
      keys.push_back(s.k), values.push_back(s.v);
      s.mixed = attention(s.q, joined(keys), joined(values));
    });
    const matrix y = x + stacked(graphs, [](const state& s) { return s.mixed->value; }) * own.w[3]->value;
    split(pack, [&](std::size_t i, auto at, auto size) {
      if (out.wanted()) return;
      const auto& [sequence, begin, length] = pack[i].slice;
      graphs[i].y = make({y.middleRows(at, size)});
      const tensor loss = distance(graphs[i].y, text(sequence, {begin.value + 1}, length),
                                   pack[i].loss_weight / static_cast<double>(size));
      loss->grad.setOnes(), pull_all(loss), sum += loss->value(0);
    });
    return put(y, out);
  }
  slimpack::result<void> backward(pieces pack, states graphs, std::span<const std::byte> in, slimpack::outgoing& out) {
    const tensor x = make({stacked(graphs, [](const state& s) { return s.x->value; })});
    const tensor mixed = make({stacked(graphs, [](const state& s) { return s.mixed->value; })});
    x->grad = in.empty() ? stacked(graphs, [](const state& s) { return s.y->grad; }) : rows_of(in);
    const tensor y = product(mixed, own.w[3], {});
    y->grad = x->grad, pull_all(y);
    split(pack, [&](std::size_t i, auto at, auto size) {  // the last piece of a sequence first
      graphs[i].mixed->grad = mixed->grad.middleRows(at, size), pull_all(graphs[i].mixed);
      if (pack[i].is_first()) past.erase(pack[i].slice.sequence);
    });
    const tensor q = product(x, own.w[0], {}), k = product(x, own.w[1], {}), v = product(x, own.w[2], {});
    q->grad = stacked(graphs, [](const state& s) { return s.q->grad; });
    k->grad = stacked(graphs, [](const state& s) { return s.k->grad; });  // from all later slices, too
    v->grad = stacked(graphs, [](const state& s) { return s.v->grad; });
    pull_all(make({{}, {q, k, v}}));
    return put(x->grad, out);
  }
};
// End of what adopts slimpack.

int main() {
  const std::vector<slimpack::tokens> lengths{{37}, {6}, {90}, {1}, {21}, {14}, {9}, {52}};
  const slimpack::costs::quadratic cost{.per_pack = {2e-5}};  // launches of a pack, as much as 20 tokens
  const slimpack::plan plan = slimpack::planner_for<stage>({.stages = 2, .quantum = {4}}, {}, cost)(lengths).value();
  slimpack::transports::threads world{2};
  const std::array<layer, 2> packed, whole;
  std::array stages{stage{packed[0]}, stage{packed[1]}};
  const auto run = [&](std::size_t rank) {
    auto port = world.endpoint(static_cast<int>(rank));
    return slimpack::executors::packflow{}.execute(plan, stages[rank], port).value().loss_sum;
  };

  bool same = true;
  for (int step = 0; step <= 40; ++step) {
    auto other = std::async(std::launch::async, run, 1);
    const double loss = run(0), same_loss = other.get();
    double expected = 0;
    for (slimpack::sequence_id s{}; s.value < lengths.size(); ++s.value) {  // the step as it was
      const tensor l = distance(whole[1](whole[0](make({text(s, {0}, lengths[s.value])}))),
                                text(s, {1}, lengths[s.value]), 1.0 / 230);
      l->grad.setOnes(), pull_all(l), expected += l->value(0);
    }
    same = same && loss == same_loss && std::abs(loss - expected) < 1e-12 * expected;
    for (std::size_t i = 0; i < 8; ++i) {
      node &a = *packed[i / 4].w[i % 4], &b = *whole[i / 4].w[i % 4];
      same = same && (a.grad - b.grad).norm() < 1e-12 * b.grad.norm();
      b.value = a.value -= a.grad, a.grad.setZero(), b.grad.setZero();  // the optimizer
    }
    if (step % 10 == 0) std::printf("step %2d, loss %.4f\n", step, loss);
  }
  const slimpack::partition& cut = plan.replicas[0].partition;
  std::map<std::pair<slimpack::sequence_id, slimpack::tokens>, std::size_t> ran;  // forward pack of each piece
  for (std::size_t i = 0; i < cut.forward.size(); ++i)
    for (const slimpack::slice& s : cut.forward[i]) ran[{s.sequence, s.begin}] = i;
  std::size_t most = 0;
  for (std::size_t i = 0; i < cut.backward.size(); ++i) {
    std::set<std::size_t> from;
    for (const slimpack::slice& s : cut.backward[i]) from.insert(ran.at({s.sequence, s.begin}));
    most = std::max(most, from.size());
  }
  std::printf("%zu sequences in %zu forward and %zu backward packs of %zu pieces, one of %zu forward packs\n",
              lengths.size(), cut.forward.size(), cut.backward.size(), cut.forward.slices().size(), most);
  std::printf("%zu calls of forward on each stage: loss and gradients are %sthose of whole sequences, to 1e-12\n",
              stages[0].calls, same ? "" : "not ");
}
