// A trainer whose modules run whole packs in one call, in buffers of fixed size, adopts slimpack: the buffers are sized
// by what the plan will have in flight, before the first forward. Gradients equal those of whole sequences.
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

// The trainer: modules that run some rows of their buffers.
constexpr std::size_t width = 8;
using row = std::array<double, width>;
using buffer = std::vector<row>;
using rows = std::vector<std::size_t>;
double dot(const row& a, const row& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }
void add(row& to, double factor, const row& a) {
  for (std::size_t i = 0; i < width; ++i) to[i] += factor * a[i];
}
struct linear {
  std::array<row, width> weights{}, gradients{};
  explicit linear(double seed) {
    for (row& r : weights)
      for (double& w : r) w = std::sin(seed * seed) / 2, ++seed;
  }
  void forward(const rows& pack, const buffer& x, buffer& y) const {
    for (const std::size_t r : pack)
      for (std::size_t i = 0; i < width; ++i) y[r][i] = dot(weights[i], x[r]);
  }
  void backward(const rows& pack, const buffer& x, buffer& dx, const buffer& dy) {
    for (const std::size_t r : pack)
      for (std::size_t i = 0; i < width; ++i) add(dx[r], dy[r][i], weights[i]), add(gradients[i], dy[r][i], x[r]);
  }
};
struct part {
  const rows& tokens;
  std::size_t begin, end;
};  // of a pack: tokens [begin, end) of a sequence, by row
struct layer {
  linear query{0}, key{64}, value{128}, output{192};
  buffer x, q, k, v, mixed, y, dx, dq, dk, dv, dmixed, dy;
  std::array<linear*, 4> modules() { return {&query, &key, &value, &output}; }
  void size(std::size_t n) {
    for (buffer* b : {&x, &q, &k, &v, &mixed, &y, &dx, &dq, &dk, &dv, &dmixed, &dy}) b->resize(n);
  }
  std::vector<double> shares(const rows& tokens, std::size_t t) const {  // of tokens 0 to t in what token t attends to
    std::vector<double> p;
    for (std::size_t s = 0; s <= t; ++s) p.push_back(std::exp(dot(q[tokens[t]], k[tokens[s]])));
    const double total = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& share : p) share /= total;
    return p;
  }
  void forward(const rows& pack, const std::vector<part>& parts) {  // x to y
    for (const std::size_t r : pack) mixed[r] = dx[r] = dq[r] = dk[r] = dv[r] = dmixed[r] = {};
    query.forward(pack, x, q), key.forward(pack, x, k), value.forward(pack, x, v);
    for (const auto& [tokens, begin, end] : parts)
      for (std::size_t t = begin; t < end; ++t)
        for (std::size_t s = 0; const double share : shares(tokens, t)) add(mixed[tokens[t]], share, v[tokens[s++]]);
    output.forward(pack, mixed, y);
    for (const std::size_t r : pack) add(y[r], 1, x[r]);
  }
  void backward(const rows& pack, const std::vector<part>& parts) {  // dy to dx
    output.backward(pack, mixed, dmixed, dy);
    for (const auto& [tokens, begin, end] : parts)
      for (std::size_t t = end; t-- > begin;)
        for (std::size_t s = 0, a = tokens[t]; const double share : shares(tokens, t)) {
          const std::size_t b = tokens[s++];
          const double dscore = share * (dot(dmixed[a], v[b]) - dot(dmixed[a], mixed[a]));
          add(dq[a], dscore, k[b]), add(dk[b], dscore, q[a]), add(dv[b], share, dmixed[a]);
        }
    query.backward(pack, x, dx, dq), key.backward(pack, x, dx, dk), value.backward(pack, x, dx, dv);
    for (const std::size_t r : pack) add(dx[r], 1, dy[r]);
  }
};
double miss(const row& y, const row& next, double weight, row& dy) {  // half the squared distance, weighted
  dy = y, add(dy, -1, next);
  const double half = weight / 2 * dot(dy, dy);
  for (double& d : dy) d *= weight;
  return half;
}
row letter(slimpack::sequence_id s, std::size_t t) {  // one-hot; each learns to be the next
  row one{};
  return one[t * (t + s.value) / 2 % width] = 1, one;
}

// What adopts slimpack: a layer as a stage. A forward pack has the rows of a slot until all of it has run backward.
using pieces = std::span<const slimpack::piece>;
std::size_t size(const slimpack::piece& p) { return static_cast<std::size_t>(p.slice.length.value); }
struct stage {
  layer own;
  double sum{};
  std::size_t tall{};                       // rows of a slot
  std::vector<std::size_t> live{}, free{};  // per slot: rows in use; slots with none
  std::map<slimpack::sequence_id, rows> placed{};

  slimpack::message_format format() const { return {width, slimpack::element_type::float64}; }
  double loss() const { return sum; }
  slimpack::result<void> reduce(auto& replicas) {
    for (linear* l : own.modules())
      if (auto done = replicas.sum(std::span(l->gradients[0].data(), width * width)); !done) return done;
    return slimpack::success();
  }
  void begin_step(const slimpack::step_outline& o) {
    sum = 0, tall = static_cast<std::size_t>(o.largest_pack.value);
    live.assign(o.packs_in_flight, 0), free.resize(o.packs_in_flight), std::iota(free.begin(), free.end(), 0);
    own.size(o.packs_in_flight * tall);
  }
  slimpack::result<void> forward(pieces pack, std::span<const std::byte> in, slimpack::outgoing& out) {
    const std::size_t slot = free.back();
    free.pop_back();
    rows all;
    std::vector<part> parts;
    for (const slimpack::piece& p : pack) {
      rows& tokens = placed[p.slice.sequence];
      for (std::size_t n = tokens.size(); tokens.size() < n + size(p); ++live[slot]) {
        const std::size_t r = all.emplace_back(slot * tall + live[slot]);
        own.x[r] = in.empty() ? letter(p.slice.sequence, tokens.size()) : slimpack::as<row>(in)[live[slot]];
        tokens.push_back(r);
      }
      parts.push_back({tokens, tokens.size() - size(p), tokens.size()});
    }
    own.forward(all, parts);
    for (std::size_t i = 0; i < all.size() && out.wanted(); ++i) out.as<row>()[i] = own.y[all[i]];
    return slimpack::success();
  }
  slimpack::result<void> backward(pieces pack, std::span<const std::byte> in, slimpack::outgoing& out) {
    rows all;
    std::vector<part> parts;
    for (const slimpack::piece& p : pack) {
      const rows& tokens = placed[p.slice.sequence];
      const auto begin = static_cast<std::size_t>(p.slice.begin.value);
      for (std::size_t t = begin; t < begin + size(p); ++t) {
        row& dy = own.dy[all.emplace_back(tokens[t])];
        if (!in.empty()) dy = slimpack::as<row>(in)[all.size() - 1];
        const double weight = p.loss_weight / static_cast<double>(size(p));
        if (in.empty()) sum += miss(own.y[tokens[t]], letter(p.slice.sequence, t + 1), weight, dy);
      }
      parts.push_back({tokens, begin, begin + size(p)});
    }
    own.backward(all, parts);
    for (std::size_t i = 0; i < all.size() && out.wanted(); ++i) out.as<row>()[i] = own.dx[all[i]];
    for (const slimpack::piece& p : pack) discard(p);
    return slimpack::success();
  }
  void discard(const slimpack::piece& p) {  // its rows are the last of its sequence
    rows& tokens = placed[p.slice.sequence];
    for (std::size_t n = size(p); n > 0; --n, tokens.pop_back())
      if (--live[tokens.back() / tall] == 0) free.push_back(tokens.back() / tall);
    if (tokens.empty()) placed.erase(p.slice.sequence);
  }
};

int main() {
  const std::vector<slimpack::tokens> lengths{{37}, {6}, {90}, {1}, {21}};
  const slimpack::plan plan =
      slimpack::planner_for<stage>({.stages = 2, .replicas = 2, .quantum = {4}})(lengths).value();
  slimpack::transports::threads world{4};
  std::vector<stage> stages(4);
  const auto run = [&](std::size_t rank) {
    auto port = world.endpoint(static_cast<int>(rank));
    return slimpack::executors::packflow{}.execute(plan, stages[rank], port).value().loss_sum;
  };
  // End of what adopts slimpack.

  bool same = true;
  for (int step = 0; step <= 40; ++step) {
    std::array<layer, 2> whole{stages[0].own, stages[1].own};
    std::array<std::future<double>, 4> losses;
    for (std::size_t rank = 0; rank < 4; ++rank) losses[rank] = std::async(std::launch::async, run, rank);
    const double loss = losses[0].get();
    for (std::size_t rank = 1; rank < 4; ++rank) same = losses[rank].get() == loss && same;
    double expected = 0;  // of the step as it was
    for (slimpack::sequence_id s{}; s.value < lengths.size(); ++s.value) {
      rows all(static_cast<std::size_t>(lengths[s.value].value));
      std::iota(all.begin(), all.end(), 0);
      for (layer& l : whole) l.size(all.size());
      for (const std::size_t t : all) whole[0].x[t] = letter(s, t);
      whole[0].forward(all, {{all, 0, all.size()}});
      whole[1].x = whole[0].y, whole[1].forward(all, {{all, 0, all.size()}});
      for (const std::size_t t : all) expected += miss(whole[1].y[t], letter(s, t + 1), 1.0 / 155, whole[1].dy[t]);
      whole[1].backward(all, {{all, 0, all.size()}});
      whole[0].dy = whole[1].dx, whole[0].backward(all, {{all, 0, all.size()}});
    }
    same = same && std::abs(loss - expected) < 1e-12 * expected;
    for (std::size_t i = 0; i < 16 * width; ++i) {
      linear& l = *stages[i % 4].own.modules()[i / 4 % 4];
      row &g = l.gradients[i / 16], &e = whole[i % 2].modules()[i / 4 % 4]->gradients[i / 16];
      row difference = e;
      add(difference, -1, g), same = same && dot(difference, difference) <= 1e-24 * dot(e, e);
      add(l.weights[i / 16], -0.5, g), g = {};  // the optimizer
    }
    if (step % 10 == 0) std::printf("step %2d, loss %.4f\n", step, loss);
  }
  std::printf("%zu packs of %zu tokens in flight: loss and gradients are %sthose of whole sequences, to 1e-12\n",
              stages[0].live.size(), stages[0].tall, same ? "" : "not ");
}
