// A trainer whose replicas share sequences that are too long for one: each runs its own tokens, keys and values travel
// once, and their gradients come back. Gradients equal those of whole sequences on one rank.
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

// The trainer: a layer of attention over rows of an arena, in the four steps between which sharers need each other.
constexpr std::size_t width = 8;
using row = std::array<double, width>;
double dot(const row& a, const row& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }
void add(row& to, double factor, const row& a) {
  for (std::size_t i = 0; i < width; ++i) to[i] += factor * a[i];
}
struct token {
  row x{}, q{}, k{}, v{}, mixed{}, y{}, dx{}, dq{}, dk{}, dv{}, dy{};
  double total{};
};
using arena = std::vector<token>;  // of one sequence
using places = std::vector<std::size_t>;
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
  void project(arena& a, const places& at) const {  // x to q, k, v
    for (const std::size_t t : at)
      a[t].q = product(0, a[t].x), a[t].k = product(1, a[t].x), a[t].v = product(2, a[t].x);
  }
  void attend(arena& a, const places& at) const {  // q, and k, v of what lies before, to y
    for (const std::size_t t : at) {
      for (std::size_t s = 0; s <= t; ++s) a[t].total += std::exp(dot(a[t].q, a[s].k));
      for (std::size_t s = 0; s <= t; ++s) add(a[t].mixed, std::exp(dot(a[t].q, a[s].k)) / a[t].total, a[s].v);
      a[t].y = product(3, a[t].mixed), add(a[t].y, 1, a[t].x);
    }
  }
  void attend_back(arena& a, const places& at) {  // dy to dq, and to dk, dv of what lies before
    for (const std::size_t t : at) {
      row dmixed{};
      add(a[t].dx, 1, a[t].dy), pull(3, a[t].mixed, dmixed, a[t].dy);
      for (std::size_t s = 0; s <= t; ++s) {
        const double share = std::exp(dot(a[t].q, a[s].k)) / a[t].total;
        const double dscore = share * (dot(dmixed, a[s].v) - dot(dmixed, a[t].mixed));
        add(a[t].dq, dscore, a[s].k), add(a[s].dk, dscore, a[t].q), add(a[s].dv, share, dmixed);
      }
    }
  }
  void project_back(arena& a, const places& at) {  // dq, dk, dv to dx
    for (const std::size_t t : at)
      pull(0, a[t].x, a[t].dx, a[t].dq), pull(1, a[t].x, a[t].dx, a[t].dk), pull(2, a[t].x, a[t].dx, a[t].dv);
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

// What adopts slimpack: the layer as a stage that can share.
void append(places& all, const slimpack::slice& s) {
  for (std::int64_t t = s.begin.value; t < s.end().value; ++t) all.push_back(static_cast<std::size_t>(t));
}
places places_of(std::span<const slimpack::slice> slices) {
  places all;
  for (const slimpack::slice& s : slices) append(all, s);
  return all;
}
struct stage {
  static constexpr slimpack::backward_cuts cuts = slimpack::backward_cuts::any;
  static constexpr bool shares_rows = true;
  layer own{};
  double sum{};
  std::map<slimpack::sequence_id, arena> arenas{};
  slimpack::message_format format() const { return {width, slimpack::element_type::float64}; }
  slimpack::row_format rows(std::uint32_t) const {  // a layer; key and value; the gradient of each
    return {1, {2 * width, slimpack::element_type::float64}, {2 * width, slimpack::element_type::float64}};
  }
  void begin_step(const slimpack::step_outline&) { sum = 0; }
  double loss() const { return sum; }
  slimpack::bytes held() const { return {static_cast<double>(arenas.size())}; }
  void abort_step() { arenas.clear(), own.gradients = {}; }
  void discard(const slimpack::piece& p) { arenas.erase(p.slice.sequence); }
  slimpack::result<void> reduce(auto& replicas) {
    return replicas.sum(std::span(own.gradients[0].data(), 4 * width * width));
  }
  // Pieces of sequences that this replica has alone, and of rows that others share.
  slimpack::result<void> forward(const slimpack::piece& p, std::span<const std::byte>, slimpack::outgoing&) {
    return fore({&p, 1}, nullptr);
  }
  slimpack::result<void> backward(const slimpack::piece& p, std::span<const std::byte>, slimpack::outgoing&) {
    return back({&p, 1}, nullptr);
  }
  slimpack::result<void> forward(std::span<const slimpack::piece> r, std::span<const std::byte>, slimpack::outgoing&,
                                 slimpack::sharing& with) {
    return fore(r, &with);
  }
  slimpack::result<void> backward(std::span<const slimpack::piece> r, std::span<const std::byte>, slimpack::outgoing&,
                                  slimpack::sharing& with) {
    return back(r, &with);
  }
  slimpack::result<void> fore(std::span<const slimpack::piece> pieces, slimpack::sharing* with) {
    arena& a = arenas[pieces[0].slice.sequence];
    a.resize(static_cast<std::size_t>(pieces[0].sequence_length.value));
    places at;
    for (const slimpack::piece& p : pieces) append(at, p.slice);
    for (const std::size_t t : at) a[t] = {.x = letter(pieces[0].slice.sequence, t)};
    own.project(a, at);
    if (with != nullptr) {
      std::vector<row> keys_values;
      for (const std::size_t t : places_of(with->own())) keys_values.push_back(a[t].k), keys_values.push_back(a[t].v);
      if (slimpack::result<void> given = with->give(0, slimpack::as_span(keys_values)); !given) return given;
      const auto taken = with->take(0);
      if (!taken) return taken.error();
      const row* next = slimpack::as<row>(taken.value()).data();
      for (const std::size_t t : places_of(with->others())) a[t].k = *next++, a[t].v = *next++;
    }
    own.attend(a, at);
    return slimpack::success();
  }
  slimpack::result<void> back(std::span<const slimpack::piece> pieces, slimpack::sharing* with) {
    arena& a = arenas[pieces[0].slice.sequence];
    places at;
    for (const slimpack::piece& p : pieces) {
      const std::size_t first = at.size();
      append(at, p.slice);
      for (std::size_t i = first; i < at.size(); ++i)
        sum += distance(a[at[i]], letter(p.slice.sequence, at[i] + 1),
                        p.loss_weight / static_cast<double>(p.slice.length.value));
    }
    own.attend_back(a, at);
    if (with != nullptr) {
      std::vector<row> theirs, mine;
      for (const std::size_t t : places_of(with->others())) theirs.push_back(a[t].dk), theirs.push_back(a[t].dv);
      if (slimpack::result<void> owed = with->owe(0, slimpack::as_span(theirs)); !owed) return owed;
      for (const std::size_t t : places_of(with->own())) mine.push_back(a[t].dk), mine.push_back(a[t].dv);
      if (slimpack::result<void> due = with->due(0, std::span(mine.front().data(), mine.size() * width)); !due)
        return due;
      const row* next = mine.data();
      for (const std::size_t t : places_of(with->own())) a[t].dk = *next++, a[t].dv = *next++;
    }
    own.project_back(a, at);
    for (const slimpack::piece& p : pieces)
      if (p.is_own_first()) arenas.erase(p.slice.sequence);
    return slimpack::success();
  }
};

int main() {
  const std::vector<slimpack::tokens> lengths{{37}, {6}, {290}, {1}, {21}};
  const slimpack::plan plan = slimpack::planner_for<stage>({.replicas = 2, .quantum = {4}})(lengths).value();
  slimpack::transports::threads world{2};
  std::array<stage, 2> stages;
  const auto run = [&](std::size_t rank) {
    auto port = world.endpoint(static_cast<int>(rank));
    return slimpack::executors::packflow{}.execute(plan, stages[rank], port).value().loss_sum;
  };
  // End of what adopts slimpack.

  bool same = true;
  for (int step = 0; step <= 40; ++step) {
    layer whole = stages[0].own;
    auto other = std::async(std::launch::async, run, 1);
    const double loss = run(0), same_loss = other.get();
    double expected = 0;  // of the step as it was
    for (slimpack::sequence_id s{}; s.value < lengths.size(); ++s.value) {
      arena a(static_cast<std::size_t>(lengths[s.value].value));
      places all(a.size());
      std::iota(all.begin(), all.end(), std::size_t{});
      for (const std::size_t t : all) a[t].x = letter(s, t);
      whole.project(a, all), whole.attend(a, all);
      for (const std::size_t t : all) expected += distance(a[t], letter(s, t + 1), 1.0 / 355);
      whole.attend_back(a, all), whole.project_back(a, all);
    }
    same = same && loss == same_loss && std::abs(loss - expected) < 1e-12 * expected;
    for (std::size_t i = 0; i < 4 * width; ++i) {
      row& e = whole.gradients[i];
      for (stage& replica : stages) {
        row miss = replica.own.gradients[i];
        add(miss, -1, e), same = same && dot(miss, miss) <= 1e-24 * dot(e, e);
        add(replica.own.weights[i], -0.5, replica.own.gradients[i]), replica.own.gradients[i] = {};  // the optimizer
      }
    }
    if (step % 10 == 0) std::printf("step %2d, loss %.4f\n", step, loss);
  }
  std::printf("sequence %u runs on %zu replicas: loss and gradients are %sthose of whole sequences, to 1e-12\n",
              plan.merges.at(0).sequence.value, plan.merges.at(0).replicas.size(), same ? "" : "not ");
}
