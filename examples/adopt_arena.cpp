// A trainer with layers written by hand over an arena per sequence adopts slimpack. Activations are found by token, so
// backward is cut where that is best, not where forward was. Gradients equal those of whole sequences.
#include <slimpack/executors/packflow.hpp>
#include <slimpack/planner_for.hpp>
#include <slimpack/transports/threads.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <future>
#include <map>
#include <numeric>
#include <vector>

// The trainer: attention over rows of the arena.
constexpr std::size_t width = 8;
using row = std::array<double, width>;
double dot(const row& a, const row& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }
void add(row& to, double factor, const row& a) {
  for (std::size_t i = 0; i < width; ++i) to[i] += factor * a[i];
}
struct token {
  row x{}, q{}, k{}, v{}, mixed{}, y{}, dx{}, dk{}, dv{}, dy{};
  double total{};
};
using arena = std::vector<token>;  // of one sequence
struct layer {
  std::array<row, 4 * width> weights{}, gradients{};  // four matrices, row after row
  layer() {
    for (std::size_t i = 0; i < 4 * width * width; ++i) weights[i / width][i % width] = std::sin(double(i * i)) / 2;
  }
  row product(std::size_t m, const row& x) const {
    row y{};
    for (std::size_t i = 0; i < width; ++i) y[i] = dot(weights[m * width + i], x);
    return y;
  }
  void pull(std::size_t m, const row& x, row& dx, const row& dy) {  // back through product(m, x)
    for (std::size_t i = 0, r = m * width; i < width; ++i, ++r) add(dx, dy[i], weights[r]), add(gradients[r], dy[i], x);
  }
  void forward(arena& a, std::size_t begin, std::size_t end) const {  // x to y
    for (std::size_t t = begin; t < end; ++t) {
      token& at = a[t];
      at = {.x = at.x, .q = product(0, at.x), .k = product(1, at.x), .v = product(2, at.x)};
      for (std::size_t s = 0; s <= t; ++s) at.total += std::exp(dot(at.q, a[s].k));
      for (std::size_t s = 0; s <= t; ++s) add(at.mixed, std::exp(dot(at.q, a[s].k)) / at.total, a[s].v);
      at.y = product(3, at.mixed), add(at.y, 1, at.x);
    }
  }
  void backward(arena& a, std::size_t begin, std::size_t end) {  // dy to dx, from the sequence's end to its beginning
    for (std::size_t t = end; t-- > begin;) {
      token& at = a[t];
      row dmixed{}, dq{};
      add(at.dx, 1, at.dy), pull(3, at.mixed, dmixed, at.dy);
      for (std::size_t s = 0; s <= t; ++s) {
        const double share = std::exp(dot(at.q, a[s].k)) / at.total;
        const double dscore = share * (dot(dmixed, a[s].v) - dot(dmixed, at.mixed));
        add(dq, dscore, a[s].k), add(a[s].dk, dscore, at.q), add(a[s].dv, share, dmixed);
      }
      pull(0, at.x, at.dx, dq), pull(1, at.x, at.dx, at.dk), pull(2, at.x, at.dx, at.dv);
    }
  }
};
row letter(slimpack::sequence_id s, std::size_t t) {  // one-hot; each learns to be the next
  row one{};
  return one[t * (t + s.value) / 2 % width] = 1, one;
}
double distance(token& at, const row& next, double weight) {  // of y to what it should be, half squared
  row miss = at.y;
  add(miss, -1, next), at.dy = {}, add(at.dy, weight, miss);
  return weight / 2 * dot(miss, miss);
}

// What adopts slimpack: a layer as a stage.
std::pair<std::size_t, std::size_t> range_of(const slimpack::piece& p) {
  return {static_cast<std::size_t>(p.slice.begin.value), static_cast<std::size_t>(p.slice.end().value)};
}
struct stage {
  static constexpr slimpack::backward_cuts cuts = slimpack::backward_cuts::any;
  layer own{};
  double sum{};
  std::map<slimpack::sequence_id, arena> arenas{};
  slimpack::message_format format() const { return {width, slimpack::element_type::float64}; }
  void begin_step(const slimpack::step_outline&) { sum = 0; }
  double loss() const { return sum; }
  slimpack::bytes held() const { return {static_cast<double>(arenas.size())}; }
  void abort_step() { arenas.clear(), own.gradients = {}; }
  void discard(const slimpack::piece& p) { arenas.erase(p.slice.sequence); }
  slimpack::result<void> forward(const slimpack::piece& p, std::span<const std::byte> in, slimpack::outgoing& out) {
    const auto [begin, end] = range_of(p);
    arena& a = arenas[p.slice.sequence];
    a.resize(static_cast<std::size_t>(p.sequence_length.value));
    for (std::size_t t = begin; t < end; ++t)
      a[t].x = in.empty() ? letter(p.slice.sequence, t) : slimpack::as<row>(in)[t - begin];
    own.forward(a, begin, end);
    for (std::size_t t = begin; t < end && out.wanted(); ++t) out.as<row>()[t - begin] = a[t].y;
    return slimpack::success();
  }
  slimpack::result<void> backward(const slimpack::piece& p, std::span<const std::byte> in, slimpack::outgoing& out) {
    const auto [begin, end] = range_of(p);
    arena& a = arenas[p.slice.sequence];
    for (std::size_t t = begin; t < end && !in.empty(); ++t) a[t].dy = slimpack::as<row>(in)[t - begin];
    for (std::size_t t = begin; t < end && in.empty(); ++t)
      sum += distance(a[t], letter(p.slice.sequence, t + 1), p.loss_weight / static_cast<double>(end - begin));
    own.backward(a, begin, end);
    for (std::size_t t = begin; t < end && out.wanted(); ++t) out.as<row>()[t - begin] = a[t].dx;
    if (p.is_first()) arenas.erase(p.slice.sequence);
    return slimpack::success();
  }
};
int main() {
  const std::vector<slimpack::tokens> lengths{{37}, {6}, {90}, {1}, {21}};
  const slimpack::plan plan = slimpack::planner_for<stage>({.stages = 2, .quantum = {4}})(lengths).value();
  slimpack::transports::threads world{2};
  std::array<stage, 2> stages;
  const auto run = [&](std::size_t rank) {
    auto port = world.endpoint(static_cast<int>(rank));
    return slimpack::executors::packflow{}.execute(plan, stages[rank], port).value().loss_sum;
  };
  // End of what adopts slimpack.
  bool same = true;
  for (int step = 0; step <= 40; ++step) {
    std::array<layer, 2> whole{stages[0].own, stages[1].own};
    auto other = std::async(std::launch::async, run, 1);
    const double loss = run(0), same_loss = other.get();
    double expected = 0;  // of the step as it was
    for (slimpack::sequence_id s{}; s.value < lengths.size(); ++s.value) {
      const auto n = static_cast<std::size_t>(lengths[s.value].value);
      arena a(n), b(n);
      for (std::size_t t = 0; t < n; ++t) a[t].x = letter(s, t);
      whole[0].forward(a, 0, n);
      for (std::size_t t = 0; t < n; ++t) b[t].x = a[t].y;
      whole[1].forward(b, 0, n);
      for (std::size_t t = 0; t < n; ++t) expected += distance(b[t], letter(s, t + 1), 1.0 / 155);
      whole[1].backward(b, 0, n);
      for (std::size_t t = 0; t < n; ++t) a[t].dy = b[t].dx;
      whole[0].backward(a, 0, n);
    }
    same = same && loss == same_loss && std::abs(loss - expected) < 1e-12 * expected;
    for (std::size_t i = 0; i < 8 * width; ++i) {
      row &g = stages[i % 2].own.gradients[i / 2], &e = whole[i % 2].gradients[i / 2];
      add(e, -1, g), same = same && dot(e, e) <= 1e-24 * dot(g, g);
      add(stages[i % 2].own.weights[i / 2], -0.5, g), g = {};  // the optimizer
    }
    if (step % 10 == 0) std::printf("step %2d, loss %.4f\n", step, loss);
  }
  std::printf("%zu slices backward: loss and gradients are %sthose of whole sequences, to 1e-12\n",
              plan.replicas[0].partition.backward.slices().size(), same ? "" : "not ");
}
