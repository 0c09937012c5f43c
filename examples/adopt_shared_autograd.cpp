// A trainer with an autograd engine whose replicas share sequences that are too long for one. Keys and values of others
// enter a slice's graph as leaves, and the gradients of these leaves leave it for whoever made them. The runtime keeps
// a graph per slice. Gradients equal those of whole sequences on one rank.
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
#include <iterator>
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
struct layer {
  static tensor weight(int seed, int columns = letters) {
    return make({matrix::NullaryExpr(letters, columns, [=](auto i, auto j) {
      return std::sin(static_cast<double>(seed * (i + 1) * (j + 5) + i * i)) / 2;
    })});
  }
  std::array<tensor, 3> w{weight(1, 2 * letters), weight(3), weight(4)};
  tensor keys_values(const tensor& x) const { return x * w[0]; }
  tensor operator()(const tensor& x, const tensor& kv) const { return x + attention(x * w[1], kv) * w[2]; }
};

// What adopts slimpack: a layer as a stage that can share.
using slimpack::outgoing, slimpack::piece, slimpack::result, slimpack::sharing, slimpack::slice;
std::span<double> all_of(matrix& m) { return {m.data(), static_cast<std::size_t>(m.size())}; }
matrix rows_of(std::span<const std::byte> message, Eigen::Index columns) {
  const std::span<const double> all = slimpack::as<double>(message);
  return Eigen::Map<const matrix>(all.data(), static_cast<Eigen::Index>(all.size()) / columns, columns);
}
struct stage {
  static constexpr bool shares_rows = true;
  struct state {
    tensor x, kv, y;
  };
  using pieces = std::span<const piece>;
  using states = std::span<state>;
  using message = std::span<const std::byte>;
  using leaves = std::map<std::int64_t, tensor>;  // keys and values by first token, where the graphs of later slices
                                                  // end
  layer own{};
  double sum{};
  std::map<slimpack::sequence_id, leaves> known{};  // own, and what others gave
  slimpack::message_format format() const { return {letters, slimpack::element_of<double>}; }
  slimpack::row_format rows(std::uint32_t) const {  // a layer; key and value; the gradient of each
    return {1, {2 * letters, slimpack::element_of<double>}, {2 * letters, slimpack::element_of<double>}};
  }
  void begin_step(const slimpack::step_outline&) { sum = 0; }
  double loss() const { return sum; }
  void discard(const piece& p, const state&) { known.erase(p.slice.sequence); }
  void abort_step() {
    known.clear();
    for (const tensor& w : own.w) w->grad.setZero();
  }
  result<void> reduce(auto& replicas) {
    for (const tensor& w : own.w)
      if (auto done = replicas.sum(all_of(w->grad)); !done) return done;
    return slimpack::success();
  }
  // Pieces of sequences that this replica has alone, and of rows that others share.
  result<state> forward(const piece& p, message in, outgoing& out) {
    state s;
    if (result<void> done = fore({&p, 1}, {&s, 1}, in, out, nullptr); !done) return done.error();
    return s;
  }
  result<void> backward(const piece& p, state s, message in, outgoing& out) {
    return back({&p, 1}, {&s, 1}, in, out, nullptr);
  }
  result<void> forward(pieces row, states s, message in, outgoing& out, sharing& with) {
    return fore(row, s, in, out, &with);
  }
  result<void> backward(pieces row, states s, message in, outgoing& out, sharing& with) {
    return back(row, s, in, out, &with);
  }

  static matrix stacked(states all, auto rows) {
    matrix m;
    for (const state& s : all) {
      const matrix& next = rows(s);
      m.conservativeResize(m.rows() + next.rows(), next.cols()), m.bottomRows(next.rows()) = next;
    }
    return m;
  }
  result<void> fore(pieces row, states graphs, message in, outgoing& out, sharing* with) {
    leaves& seen = known[row[0].slice.sequence];
    for (std::size_t k = 0, at = 0; k < row.size(); ++k) {
      const auto [sequence, begin, length] = row[k].slice;
      const std::size_t size = static_cast<std::size_t>(length.value) * format().bytes_per_token();
      graphs[k].x = make({in.empty() ? text(sequence, begin, length) : rows_of(in.subspan(at, size), letters)});
      graphs[k].kv = own.keys_values(graphs[k].x), at += size;
      seen[begin.value] = make({graphs[k].kv->value});
    }
    if (with != nullptr) {
      matrix mine = stacked(graphs, [](const state& s) -> const matrix& { return s.kv->value; });
      if (result<void> given = with->give(0, slimpack::as_span(all_of(mine))); !given) return given;
      const auto taken = with->take(0);
      if (!taken) return taken.error();
      const matrix theirs = rows_of(taken.value(), 2 * letters);
      Eigen::Index at = 0;
      for (const slice& s : with->others())
        seen[s.begin.value] = make({theirs.middleRows(at, s.length.value)}), at += s.length.value;
    }
    for (std::size_t k = 0; k < row.size(); ++k) {
      std::vector<tensor> before;
      const auto end = seen.upper_bound(row[k].slice.begin.value);
      for (auto leaf = seen.begin(); leaf != end; ++leaf) before.push_back(leaf->second);
      graphs[k].y = own(graphs[k].x, joined(before));
    }
    matrix y = stacked(graphs, [](const state& s) -> const matrix& { return s.y->value; });
    for (std::size_t k = 0; k < row.size() && !out.wanted(); ++k) {
      const auto [sequence, begin, length] = row[k].slice;
      const double weight = row[k].loss_weight / static_cast<double>(length.value);
      graphs[k].y = distance(graphs[k].y, text(sequence, {begin.value + 1}, length), weight);
      sum += graphs[k].y->value(0);
    }
    return out.put(all_of(y));
  }
  result<void> back(pieces row, states graphs, message in, outgoing& out, sharing* with) {
    leaves& seen = known[row[0].slice.sequence];
    std::size_t from = 0;
    for (state& s : graphs) {
      const std::size_t size = static_cast<std::size_t>(s.x->value.size()) * sizeof(double);
      s.y->grad = in.empty() ? matrix(matrix::Ones(1, 1)) : rows_of(in.subspan(from, size), letters);
      pull_all(s.y), from += size;  // as far as the leaves
    }
    if (with != nullptr) {
      const auto gradients = [&](std::span<const slice> slices, auto visit) {  // of keys and values, by token
        for (const slice& s : slices)
          for (std::int64_t t = s.begin.value; t < s.end().value; ++t) {
            const auto& [begin, leaf] = *std::prev(seen.upper_bound(t));
            visit(leaf->grad.row(t - begin));
          }
      };
      std::vector<double> theirs, mine;
      gradients(with->others(), [&](auto r) { theirs.insert(theirs.end(), r.begin(), r.end()); });
      if (result<void> owed = with->owe(0, slimpack::as_span(theirs)); !owed) return owed;
      gradients(with->own(), [&](auto r) { mine.insert(mine.end(), r.begin(), r.end()); });
      if (result<void> due = with->due(0, std::span(mine)); !due) return due;
      auto next = mine.begin();
      gradients(with->own(), [&](auto r) { std::copy_n(next, r.size(), r.begin()), next += r.size(); });
    }
    for (std::size_t k = 0; k < row.size(); ++k)
      graphs[k].kv->grad = seen.at(row[k].slice.begin.value)->grad, pull_all(graphs[k].kv);
    if (row.back().is_own_first()) known.erase(row[0].slice.sequence);
    matrix dx = stacked(graphs, [](const state& s) -> const matrix& { return s.x->grad; });
    return out.put(all_of(dx));
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

  const std::array<layer, 2> whole;
  bool same = true;
  for (int step = 0; step <= 40; ++step) {
    std::array<std::future<double>, 4> losses;
    for (std::size_t rank = 0; rank < 4; ++rank) losses[rank] = std::async(std::launch::async, run, rank);
    const double loss = losses[0].get();
    for (std::size_t rank = 1; rank < 4; ++rank) same = losses[rank].get() == loss && same;
    double expected = 0;
    for (slimpack::sequence_id s{}; s.value < lengths.size(); ++s.value) {  // the step as it was
      tensor y = make({text(s, {0}, lengths[s.value])});
      for (const layer& l : whole) y = l(y, l.keys_values(y));
      const tensor l = distance(y, text(s, {1}, lengths[s.value]), 1.0 / 155);
      l->grad.setOnes(), pull_all(l), expected += l->value(0);
    }
    same = same && std::abs(loss - expected) < 1e-12 * expected;
    for (std::size_t i = 0; i < 6; ++i) {
      node& b = *whole[i / 3].w[i % 3];
      for (const std::size_t rank : {i / 3, i / 3 + 2}) {
        node& a = *stages[rank].own.w[i % 3];
        same = same && (a.grad - b.grad).norm() < 1e-12 * b.grad.norm();
        a.value -= a.grad / 8, a.grad.setZero();  // the optimizer
      }
      b.value -= b.grad / 8, b.grad.setZero();
    }
    if (step % 10 == 0) std::printf("step %2d, loss %.4f\n", step, loss);
  }
  std::printf("sequence %u runs on %zu replicas: loss and gradients are %sthose of whole sequences, to 1e-12\n",
              plan.merges.at(0).sequence.value, plan.merges.at(0).replicas.size(), same ? "" : "not ");
}
