// A trainer with an autograd engine, whose stage of several layers is one call for one slice, and whose replicas share
// sequences that are too long for one. In each layer its attention meets the other slices of the row, once forward and
// once backward; in between the runtime exchanges what replicas need of each other. Gradients equal those of whole
// sequences on one rank.
#include <slimpack/executors/joined/row_threads.hpp>
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
constexpr int letters = 8;  // and the width of the model, whose tokens are one-hot and learn to be the next
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
tensor attention(const tensor& q, const tensor& kv) {  // of the last rows to all: causal
  const matrix k = kv->value.leftCols(letters), v = kv->value.rightCols(letters);
  matrix p = (q->value * k.transpose()).array().exp();
  for (Eigen::Index hidden = 1; hidden < p.rows(); ++hidden) p.row(p.rows() - 1 - hidden).tail(hidden).setZero();
  p.array().colwise() /= p.rowwise().sum().eval().array();
  return make({p * v, {q, kv}, [=](const matrix& g) {
                 const matrix gp = p.cwiseProduct(g * v.transpose()),
                              gs = gp - matrix(gp.rowwise().sum().asDiagonal() * p);
                 q->grad += gs * k, kv->grad.leftCols(letters) += gs.transpose() * q->value,
                     kv->grad.rightCols(letters) += p.transpose() * g;
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
matrix text(slimpack::sequence_id s, slimpack::tokens begin, slimpack::tokens length) {
  return matrix::NullaryExpr(length.value, letters, [=](auto row, auto letter) {
    return (begin.value + row) * (begin.value + row + s.value) / 2 % letters == letter ? 1 : 0;
  });
}
using slimpack::executors::meeting;
struct layer {
  static tensor weight(int seed, int columns = letters) {
    return make({matrix::NullaryExpr(letters, columns, [=](auto i, auto j) {
      return std::sin(static_cast<double>(seed * (i + 1) * (j + 5) + i * i)) / 2;
    })});
  }
  int number;
  std::array<tensor, 3> w{weight(3 * number + 1, 2 * letters), weight(3 * number + 2), weight(3 * number + 3)};
  using leaves = std::map<std::int64_t, tensor>;  // keys and values of a sequence, by first token
  struct graph {                                  // of a slice: it ends at x and at keys and values, as leaves
    tensor x, kv, y;
  };
  graph forward(const matrix& x, std::int64_t begin, leaves& seen, const meeting& meet) const;
  matrix backward(const graph& g, const matrix& dy, std::int64_t begin, const leaves& seen, const meeting& meet) const;
};
layer::graph layer::forward(const matrix& x, std::int64_t begin, leaves& seen, const meeting& meet) const {
  graph g{.x = make({x}), .kv{}, .y{}};
  g.kv = g.x * w[0], seen[begin] = make({g.kv->value});
  meet(number);  // from here on keys and values of all tokens before it are there
  std::vector<tensor> before;
  for (auto leaf = seen.begin(); leaf != seen.upper_bound(begin); ++leaf) before.push_back(leaf->second);
  g.y = g.x + attention(g.x * w[1], joined(before)) * w[2];
  return g;
}
matrix layer::backward(const graph& g, const matrix& dy, std::int64_t begin, const leaves& seen,
                       const meeting& meet) const {
  g.y->grad = dy, pull_all(g.y);
  meet(number);  // from here on the gradients of its keys and values are whole
  g.kv->grad = seen.at(begin)->grad, pull_all(g.kv);
  return g.x->grad;
}

// What adopts slimpack, besides meet in a layer: layers as a stage that can share.
using slimpack::outgoing, slimpack::piece, slimpack::result, slimpack::sharing, slimpack::slice, slimpack::pass;
std::span<double> all_of(matrix& m) { return {m.data(), static_cast<std::size_t>(m.size())}; }
Eigen::Map<const matrix> rows_of(std::span<const std::byte> message, Eigen::Index columns) {
  const std::span<const double> all = slimpack::as<double>(message);
  return {all.data(), static_cast<Eigen::Index>(all.size()) / columns, columns};
}
struct ledger {                                          // own keys and values of a sequence, and what others gave
  static constexpr int layers = 2, width = 2 * letters;  // of a stage; of a token's key and value
  std::array<layer::leaves, layers> seen;
  void read(int l, const slice& s, std::span<std::byte> to) { copy(l, s, to, &node::value); }
  void read_gradients(int l, const slice& s, std::span<std::byte> to) { copy(l, s, to, &node::grad); }
  void write(int l, const slice& s, std::span<const std::byte> from) {
    at(l)[s.begin.value] = make({rows_of(from, width)});
  }
  void write_gradients(int l, const slice& s, std::span<const std::byte> from) {
    for (std::int64_t i = 0; i < s.length.value; ++i) row(l, s, i, &node::grad) = rows_of(from, width).row(i);
  }
  layer::leaves& at(int l) { return seen[static_cast<std::size_t>(l)]; }
  matrix::RowXpr row(int l, const slice& s, std::int64_t i, matrix node::*of) {
    const auto& [begin, leaf] = *std::prev(at(l).upper_bound(s.begin.value + i));
    return ((*leaf).*of).row(s.begin.value + i - begin);
  }
  void copy(int l, const slice& s, std::span<std::byte> to, matrix node::*of) {
    Eigen::Map<matrix> rows(reinterpret_cast<double*>(to.data()), s.length.value, width);
    for (std::int64_t i = 0; i < s.length.value; ++i) rows.row(i) = row(l, s, i, of);
  }
};
struct stage {
  static constexpr bool shares_rows = true;
  using state = std::vector<layer::graph>;
  using pieces = std::span<const piece>;
  using states = std::span<state>;
  using message = std::span<const std::byte>;
  std::array<layer, ledger::layers> own{layer{0}, layer{1}};
  double sum{};
  std::map<slimpack::sequence_id, ledger> known{};
  slimpack::message_format format() const { return {letters, slimpack::element_of<double>}; }
  slimpack::row_format rows(std::uint32_t) const {
    const slimpack::message_format both{ledger::width, slimpack::element_of<double>};
    return {ledger::layers, both, both};  // keys with values, and their gradients
  }
  void begin_step(const slimpack::step_outline&) { sum = 0; }
  double loss() const { return sum; }
  void discard(const piece& p, const state&) { known.erase(p.slice.sequence); }
  void abort_step() {
    known.clear();
    for (const layer& l : own)
      for (const tensor& w : l.w) w->grad.setZero();
  }
  result<void> reduce(auto& replicas) {
    for (const layer& l : own)
      for (const tensor& w : l.w)
        if (auto done = replicas.sum(all_of(w->grad)); !done) return done;
    return slimpack::success();
  }
  // The trainer's call for one slice, through all layers.
  matrix fore(const piece& p, const matrix& in, state& graphs, bool ends, const meeting& meet) {
    const auto [sequence, begin, length] = p.slice;
    matrix x = in.size() == 0 ? text(sequence, begin, length) : in;
    for (const layer& l : own) {
      graphs.push_back(l.forward(x, begin.value, known[sequence].at(l.number), meet));
      x = graphs.back().y->value;
    }
    if (!ends) return x;
    const double weight = p.loss_weight / static_cast<double>(length.value);
    graphs.back().y = distance(graphs.back().y, text(sequence, {begin.value + 1}, length), weight);
    sum += graphs.back().y->value(0);
    return x;
  }
  matrix back(const piece& p, const matrix& in, state& graphs, const meeting& meet) {
    matrix dy = in.size() == 0 ? matrix(matrix::Ones(1, 1)) : in;
    for (auto l = own.rbegin(); l != own.rend(); ++l, graphs.pop_back())
      dy = l->backward(graphs.back(), dy, p.slice.begin.value, known[p.slice.sequence].at(l->number), meet);
    return dy;
  }
  // Calls of it for pieces of sequences that this replica has alone, and of rows that others share.
  result<void> run(pass way, pieces row, states s, message in, outgoing& out, sharing* with) {
    matrix all;
    std::vector<matrix> rows;
    for (const piece& p : row) {
      const std::size_t size =
          in.empty() ? 0 : static_cast<std::size_t>(p.slice.length.value) * letters * sizeof(double);
      rows.push_back(rows_of(in.first(size), letters)), in = in.subspan(size);
    }
    const auto call = [&](std::size_t i, const meeting& meet) {
      rows[i] =
          way == pass::forward ? fore(row[i], rows[i], s[i], !out.wanted(), meet) : back(row[i], rows[i], s[i], meet);
    };
    ledger& kept = known[row[0].slice.sequence];
    if (with == nullptr)
      call(0, {});
    else if (auto done = slimpack::executors::run_row(way, row, *with, this->rows(0), kept, call); !done)
      return done;
    if (way == pass::backward && row.back().is_own_first()) known.erase(row[0].slice.sequence);
    for (const matrix& one : rows)
      all.conservativeResize(all.rows() + one.rows(), letters), all.bottomRows(one.rows()) = one;
    return out.put(all_of(all));
  }
  result<state> forward(const piece& p, message in, outgoing& out) {
    state s;
    if (result<void> done = run(pass::forward, {&p, 1}, {&s, 1}, in, out, nullptr); !done) return done.error();
    return s;
  }
  result<void> backward(const piece& p, state s, message in, outgoing& out) {
    return run(pass::backward, {&p, 1}, {&s, 1}, in, out, nullptr);
  }
  result<void> forward(pieces row, states s, message in, outgoing& out, sharing& with) {
    return run(pass::forward, row, s, in, out, &with);
  }
  result<void> backward(pieces row, states s, message in, outgoing& out, sharing& with) {
    return run(pass::backward, row, s, in, out, &with);
  }
};

int main() {
  const std::vector<slimpack::tokens> lengths{{37}, {6}, {90}, {1}, {21}};
  const slimpack::plan plan =
      slimpack::planner_for<stage>({.stages = 2, .replicas = 2, .quantum = {4}})(lengths).value();
  slimpack::transports::threads world{4};
  std::array<stage, 4> stages;
  const auto run = [&](std::size_t rank) {
    auto port = world.endpoint(static_cast<int>(rank));
    return slimpack::executors::packflow{}.execute(plan, stages[rank], port).value().loss_sum;
  };
  // End of what adopts slimpack.

  const std::array<std::array<layer, ledger::layers>, 2> whole{stage{}.own, stage{}.own};
  bool same = true;
  for (int step = 0; step <= 8; ++step) {
    std::array<std::future<double>, 4> losses;
    for (std::size_t rank = 0; rank < 4; ++rank) losses[rank] = std::async(std::launch::async, run, rank);
    const double loss = losses[0].get();
    for (std::size_t rank = 1; rank < 4; ++rank) same = losses[rank].get() == loss && same;
    double expected = 0;
    for (slimpack::sequence_id s{}; s.value < lengths.size(); ++s.value) {  // the step as it was
      tensor y = make({text(s, {0}, lengths[s.value])});
      for (const auto& half : whole)
        for (const layer& l : half) y = y + attention(y * l.w[1], y * l.w[0]) * l.w[2];
      const tensor l = distance(y, text(s, {1}, lengths[s.value]), 1.0 / 155);
      l->grad.setOnes(), pull_all(l), expected += l->value(0);
    }
    same = same && std::abs(loss - expected) < 1e-12 * expected;
    for (std::size_t i = 0; i < 12; ++i) {
      const auto weight = [&](auto& half) -> node& { return *half[i / 3 % 2].w[i % 3]; };
      node& b = weight(whole[i / 6]);
      for (const std::size_t rank : {i / 6, i / 6 + 2}) {
        node& a = weight(stages[rank].own);
        same = same && (a.grad - b.grad).norm() < 1e-12 * b.grad.norm();
        a.value -= a.grad / 8, a.grad.setZero();  // the optimizer
      }
      b.value -= b.grad / 8, b.grad.setZero();
    }
    if (step % 2 == 0) std::printf("step %2d, loss %.4f\n", step, loss);
  }
  std::printf("sequence %u runs on %zu replicas: loss and gradients are %sthose of whole sequences, to 1e-12\n",
              plan.merges.at(0).sequence.value, plan.merges.at(0).replicas.size(), same ? "" : "not ");
}
