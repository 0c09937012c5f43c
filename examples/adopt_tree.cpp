// A trainer of answers to prompts adopts slimpack: what samples begin with alike runs once. An answer attends to its
// prompt, and adds to the gradients there. Loss and gradients equal those of flat copies, each with its own prompt.
#include <slimpack/executors/packflow.hpp>
#include <slimpack/forests/from_tokens.hpp>
#include <slimpack/planner_for.hpp>
#include <slimpack/transports/threads.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <future>
#include <map>
#include <span>
#include <vector>

// The trainer: attention over the tokens of a path, wherever they lie.
struct token {
  double x{}, y{}, attended{}, total{}, dkey{}, dvalue{}, dx{}, dy{};
};
using arena = std::vector<token>;  // of one sequence
using path = std::vector<token*>;
path joined(path above, std::span<token> own) {
  for (token& t : own) above.push_back(&t);
  return above;
}
struct attention {  // y_t = x_t + the mean of c x_s over s <= t, weighted by exp(a x_t b x_s), for a, b, c to be learnt
  double a{0.4}, b{0.3}, c{0.2}, da{}, db{}, dc{};
  void forward(const path& all, std::size_t begin) const {  // x to y, of the tokens from `begin` on
    for (std::size_t t = begin; t < all.size(); ++t) {
      token& q = *all[t];
      q = {.x = q.x};
      for (std::size_t s = 0; s <= t; ++s) q.total += std::exp(a * q.x * b * all[s]->x);
      for (std::size_t s = 0; s <= t; ++s) q.attended += std::exp(a * q.x * b * all[s]->x) / q.total * c * all[s]->x;
      q.y = q.x + q.attended;
    }
  }
  void backward(const path& all, std::size_t begin) {  // dy to dx, the last token first
    for (std::size_t t = all.size(); t-- > begin;) {
      token& q = *all[t];
      double dquery = 0;
      for (std::size_t s = 0; s <= t; ++s) {
        token& k = *all[s];
        const double share = std::exp(a * q.x * b * k.x) / q.total;
        const double dscore = share * q.dy * (c * k.x - q.attended);
        dquery += dscore * b * k.x, k.dkey += dscore * a * q.x, k.dvalue += share * q.dy;
      }
      da += dquery * q.x, db += q.dkey * q.x, dc += q.dvalue * q.x;
      q.dx = q.dy + dquery * a + q.dkey * b + q.dvalue * c;
    }
  }
};
double loss_of(token& at, std::int32_t next, double weight) {
  at.dy += weight * (at.y - std::sin(next));
  return weight / 2 * std::pow(at.y - std::sin(next), 2);
}
struct sample {
  std::vector<std::int32_t> ids;             // a prompt and an answer
  slimpack::forests::trained_run is_learnt;  // the answer, with what came of its reward
};
std::vector<sample> sampled() {
  std::vector<sample> all;
  for (const auto& [prompt, answers] : {std::pair{61, std::array{37, 6, 21}}, {40, {12, 9, 30}}})
    for (int k = 0; const int answer : answers) {
      sample& s = all.emplace_back(sample{{}, {{prompt}, {answer}, 1 - ++k / 4.0}});
      for (int t = 0; t < prompt; ++t) s.ids.push_back((t + 1) * prompt % 17);
      for (int t = 0; t < answer; ++t) s.ids.push_back((k + t * prompt) % 17);
    }
  return all;
}

// What adopts slimpack: attention as a stage.
struct stage : attention {
  static constexpr slimpack::backward_cuts cuts = slimpack::backward_cuts::any;
  static constexpr bool shares_prefixes = true;
  std::function<std::int32_t(slimpack::sequence_id, std::int64_t)> id_of{};  // of a token, by its place on the path
  double sum{}, targets{};
  std::map<slimpack::sequence_id, arena> arenas{};
  slimpack::message_format format() const { return {1, slimpack::element_type::float64}; }
  void begin_step(const slimpack::step_outline& o) { sum = 0, targets = static_cast<double>(o.valid_tokens.value); }
  double loss() const { return sum; }
  void discard(const slimpack::piece& p) { arenas.erase(p.slice.sequence); }
  path path_of(const slimpack::piece& p) {  // up to its last token
    path all;
    for (const slimpack::slice& above : p.prefix) all = joined(all, arenas.at(above.sequence));
    arena& own = arenas[p.slice.sequence];
    own.resize(static_cast<std::size_t>(p.sequence_length.value));
    return joined(all, std::span(own).first(static_cast<std::size_t>((p.slice.end() - p.sequence_begin).value)));
  }
  slimpack::result<void> forward(const slimpack::piece& p, std::span<const std::byte> in, slimpack::outgoing& out) {
    const path all = path_of(p);
    const auto begin = static_cast<std::size_t>(p.slice.begin.value);
    for (std::size_t t = begin; t < all.size(); ++t)
      all[t]->x = in.empty() ? std::sin(id_of(p.slice.sequence, static_cast<std::int64_t>(t)))
                             : slimpack::as<double>(in)[t - begin];
    attention::forward(all, begin);
    for (std::size_t t = begin; t < all.size() && out.wanted(); ++t) out.as<double>()[t - begin] = all[t]->y;
    return slimpack::success();
  }
  slimpack::result<void> backward(const slimpack::piece& p, std::span<const std::byte> in, slimpack::outgoing& out) {
    const path all = path_of(p);
    const auto begin = static_cast<std::size_t>(p.slice.begin.value);
    for (std::size_t t = begin; t < all.size() && !in.empty(); ++t) all[t]->dy = slimpack::as<double>(in)[t - begin];
    for (const slimpack::target_run& run : p.edges)  // the last token of a prompt has one to each answer
      for (std::int64_t t = run.begin.value; t < (run.begin + run.length).value && in.empty(); ++t)
        sum += loss_of(*all[static_cast<std::size_t>(t - 1)], id_of(run.sequence, t), run.weight / targets);
    attention::backward(all, begin);
    for (std::size_t t = begin; t < all.size() && out.wanted(); ++t) out.as<double>()[t - begin] = all[t]->dx;
    if (p.is_first()) arenas.erase(p.slice.sequence);  // all that go on where it ends have run backward before
    return slimpack::success();
  }
};
int main() {
  const std::vector<sample> samples = sampled();
  std::vector<slimpack::forests::token_sample> texts;
  for (const sample& s : samples) texts.push_back({s.ids, {&s.is_learnt, 1}});
  const slimpack::forests::token_forest batch = slimpack::forests::from_tokens(texts).value();
  const slimpack::plan plan = slimpack::planner_for<stage>({.stages = 2, .quantum = {4}})(batch.all).value();
  slimpack::transports::threads world{2};
  const auto id_of = [&](auto s, auto t) { return samples[batch.text[s.value]].ids[static_cast<std::size_t>(t)]; };
  std::array stages{stage{{}, id_of}, stage{{}, id_of}};
  const auto run = [&](std::size_t rank) {
    auto port = world.endpoint(static_cast<int>(rank));
    return slimpack::executors::packflow{}.execute(plan, stages[rank], port).value().loss_sum;
  };
  // End of what adopts slimpack.
  auto other = std::async(std::launch::async, run, 1);
  const double loss = run(0);
  double expected = 0;
  std::array<attention, 2> flat;
  for (const sample& s : samples) {
    arena first(s.ids.size()), second(first.size());
    const path a = joined({}, first), b = joined({}, second);
    for (std::size_t t = 0; t < first.size(); ++t) first[t].x = std::sin(s.ids[t]);
    flat[0].forward(a, 0);
    for (std::size_t t = 0; t < first.size(); ++t) second[t].x = first[t].y;
    flat[1].forward(b, 0);
    for (auto t = static_cast<std::size_t>(s.is_learnt.begin.value); t < first.size(); ++t)
      expected += loss_of(second[t - 1], s.ids[t], s.is_learnt.weight / 115);
    flat[1].backward(b, 0);
    for (std::size_t t = 0; t < first.size(); ++t) first[t].dy = second[t].dx;
    flat[0].backward(a, 0);
  }
  const auto near = [](double x, double y) { return std::abs(x - y) < 1e-12 * std::abs(y); };
  bool same = other.get() == loss && near(loss, expected);
  for (std::size_t r = 0; r < 2; ++r)
    same = same && near(stages[r].da, flat[r].da) && near(stages[r].db, flat[r].db) && near(stages[r].dc, flat[r].dc);
  std::printf("%zu samples, %zu sequences, loss %.4f: it and gradients are %sthose of flat copies, to 1e-12\n",
              samples.size(), plan.lengths.size(), loss, same ? "" : "not ");
}
