// A trainer with tensor parallelism adopts slimpack: two ranks of each stage have half of the heads, and sum their
// outputs by an all-reduce of the trainer's own. Each tensor rank runs the same plan over a transport of its own.
// Gradients equal those of undivided layers on whole sequences. At the end a rank fails: a watchdog over all ranks ends
// the step on each.
#include <slimpack/executors/job/watchdog.hpp>
#include <slimpack/executors/packflow.hpp>
#include <slimpack/planner_for.hpp>
#include <slimpack/transports/threads.hpp>

#include <array>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

// The trainer: an all-reduce over the ranks of a stage, and a layer of attention of which a rank has some heads.
constexpr std::size_t width = 8, heads = 4, head_width = 4;
using row = std::array<double, width>;
using slot = std::array<double, head_width>;
class all_reduce {
 public:
  explicit all_reduce(std::size_t ranks) : ended_(ranks), given_(ranks) {}
  bool operator()(std::size_t rank, std::vector<row>& rows) {  // becomes the sum over the ranks, in one order on all
    given_[rank] = rows;
    if (!meet(rank)) return false;
    std::vector<row> sum(rows.size());
    for (const std::vector<row>& one : given_)
      for (std::size_t t = 0; t < sum.size(); ++t)
        for (std::size_t i = 0; i < width; ++i) sum[t][i] += one[t][i];
    if (!meet(rank)) return false;
    rows = std::move(sum);
    return true;
  }
  void end(std::size_t rank) noexcept {  // for good, as ncclCommAbort: where this rank waits, or will, it returns false
    const std::lock_guard lock(mutex_);
    ended_[rank] = true, all_came_.notify_all();
  }

 private:
  bool meet(std::size_t rank) {
    std::unique_lock lock(mutex_);
    const int round = round_;
    if (++came_ == given_.size()) came_ = 0, ++round_, all_came_.notify_all();
    all_came_.wait(lock, [&] { return ended_[rank] || round_ != round; });
    return !ended_[rank];
  }
  std::mutex mutex_;
  std::condition_variable all_came_;
  std::size_t came_{};
  int round_{};
  std::vector<bool> ended_;
  std::vector<std::vector<row>> given_;
};
struct head {  // q, k, v from a row: divided by columns of the layer; output to a row: divided by rows
  std::array<std::array<row, head_width>, 3> in{}, din{};
  std::array<row, head_width> out{}, dout{};
  explicit head(std::size_t number) {
    double seed = static_cast<double>(number) * 100;
    for (auto& matrix : in)
      for (row& r : matrix)
        for (double& w : r) w = std::sin(seed * seed) / 2, ++seed;
    for (row& r : out)
      for (double& w : r) w = std::cos(seed * seed) / 2, ++seed;
  }
};
struct token {
  row x, y;
  std::array<std::array<slot, 3>, heads> qkv, dqkv;  // of the rank's heads
  std::array<slot, heads> mixed;
};
using text = std::vector<token>;
double dot(const auto& a, const auto& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }
void add(auto& to, double factor, const auto& a) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * a[i];
}
struct layer {
  std::vector<head> own;
  std::vector<double> shares(const text& all, std::size_t h, std::size_t t) const {
    std::vector<double> p;
    for (std::size_t s = 0; s <= t; ++s) p.push_back(std::exp(dot(all[t].qkv[h][0], all[s].qkv[h][1])));
    const double total = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& one : p) one /= total;
    return p;
  }
  std::vector<row> forward(text& all, std::size_t begin, std::size_t end) const {  // what these heads add to x
    std::vector<row> y(end - begin);
    for (std::size_t t = begin; t < end; ++t)
      for (std::size_t h = 0; h < own.size(); ++h) {
        for (std::size_t m = 0; m < 3; ++m)
          for (std::size_t i = 0; i < head_width; ++i) all[t].qkv[h][m][i] = dot(own[h].in[m][i], all[t].x);
        all[t].dqkv[h] = {}, all[t].mixed[h] = {};
        for (std::size_t s = 0; const double p : shares(all, h, t)) add(all[t].mixed[h], p, all[s++].qkv[h][2]);
        for (std::size_t i = 0; i < head_width; ++i) add(y[t - begin], all[t].mixed[h][i], own[h].out[i]);
      }
    return y;
  }
  std::vector<row> backward(text& all, std::size_t begin, std::size_t end,
                            const std::vector<row>& dy) {  // what they add to dy
    std::vector<row> dx(end - begin);
    for (std::size_t t = end; t-- > begin;)
      for (std::size_t h = 0; h < own.size(); ++h) {
        slot dmixed;
        for (std::size_t i = 0; i < head_width; ++i) {
          dmixed[i] = dot(own[h].out[i], dy[t - begin]);
          add(own[h].dout[i], all[t].mixed[h][i], dy[t - begin]);
        }
        for (std::size_t s = 0; const double p : shares(all, h, t)) {
          const double dscore = p * (dot(dmixed, all[s].qkv[h][2]) - dot(dmixed, all[t].mixed[h]));
          add(all[t].dqkv[h][0], dscore, all[s].qkv[h][1]), add(all[s].dqkv[h][1], dscore, all[t].qkv[h][0]);
          add(all[s++].dqkv[h][2], p, dmixed);
        }
        for (std::size_t m = 0; m < 3; ++m)
          for (std::size_t i = 0; i < head_width; ++i) {
            add(dx[t - begin], all[t].dqkv[h][m][i], own[h].in[m][i]);
            add(own[h].din[m][i], all[t].dqkv[h][m][i], all[t].x);
          }
      }
    return dx;
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
double step_of_whole_texts(std::vector<layer>& stages,
                           const std::vector<slimpack::tokens>& lengths) {  // undivided layers
  double all = 0, loss = 0;
  for (const slimpack::tokens length : lengths) all += static_cast<double>(length.value);
  for (slimpack::sequence_id s{}; s.value < lengths.size(); ++s.value) {
    const auto length = static_cast<std::size_t>(lengths[s.value].value);
    std::vector<text> texts(stages.size(), text(length));
    for (std::size_t t = 0; t < length; ++t) texts[0][t].x = letter(s, t);
    for (std::size_t r = 0; r < stages.size(); ++r) {
      const std::vector<row> y = stages[r].forward(texts[r], 0, length);
      for (std::size_t t = 0; t < length; ++t) texts[r][t].y = texts[r][t].x, add(texts[r][t].y, 1, y[t]);
      for (std::size_t t = 0; t < length && r + 1 < stages.size(); ++t) texts[r + 1][t].x = texts[r][t].y;
    }
    std::vector<row> dy(length);
    for (std::size_t t = 0; t < length; ++t) loss += miss(texts.back()[t].y, letter(s, t + 1), 1 / all, dy[t]);
    for (std::size_t r = stages.size(); r-- > 0;) {
      const std::vector<row> dx = stages[r].backward(texts[r], 0, length, dy);
      for (std::size_t t = 0; t < length; ++t) add(dy[t], 1, dx[t]);
    }
  }
  return loss;
}

// What adopts slimpack: a rank's heads as a stage. Nothing here is about the plan: all ranks of a stage make the same
// calls in the same order, so that their all-reduces meet.
struct stage {
  static constexpr slimpack::backward_cuts cuts = slimpack::backward_cuts::any;
  layer own;
  std::function<bool(std::vector<row>&)> sum_up{};  // over the ranks of the stage
  std::function<void()> end_sum{};
  double sum{};
  std::map<slimpack::sequence_id, text> texts{};

  slimpack::message_format format() const { return {width, slimpack::element_type::float64}; }
  double loss() const { return sum; }
  slimpack::result<void> forward(const slimpack::piece& p, std::span<const std::byte> in, slimpack::outgoing& out) {
    text& all = texts[p.slice.sequence];
    all.resize(static_cast<std::size_t>(p.sequence_length.value));
    const auto begin = static_cast<std::size_t>(p.slice.begin.value),
               end = static_cast<std::size_t>(p.slice.end().value);
    for (std::size_t t = begin; t < end; ++t)
      all[t].x = in.empty() ? letter(p.slice.sequence, t) : slimpack::as<row>(in)[t - begin];
    std::vector<row> y = own.forward(all, begin, end);
    if (!sum_up(y)) return no_sum();
    for (std::size_t t = begin; t < end; ++t) add(y[t - begin], 1, all[t].x), all[t].y = y[t - begin];
    return out.put(y);
  }
  slimpack::result<void> backward(const slimpack::piece& p, std::span<const std::byte> in, slimpack::outgoing& out) {
    text& all = texts[p.slice.sequence];
    const auto begin = static_cast<std::size_t>(p.slice.begin.value),
               end = static_cast<std::size_t>(p.slice.end().value);
    std::vector<row> dy(end - begin);
    for (std::size_t t = begin; t < end; ++t)
      if (in.empty())
        sum += miss(all[t].y, letter(p.slice.sequence, t + 1),
                    p.loss_weight / static_cast<double>(p.slice.length.value), dy[t - begin]);
      else
        dy[t - begin] = slimpack::as<row>(in)[t - begin];
    std::vector<row> dx = own.backward(all, begin, end, dy);
    if (!sum_up(dx)) return no_sum();
    for (std::size_t t = begin; t < end; ++t) add(dx[t - begin], 1, dy[t - begin]);
    if (begin == 0) texts.erase(p.slice.sequence);
    return out.put(dx);
  }
  void discard(const slimpack::piece& p) { texts.erase(p.slice.sequence); }
  void interrupt() noexcept { end_sum(); }  // called by the watchdog's thread, when another rank has failed
  static slimpack::error no_sum() { return {slimpack::errc::compute_failed, "the all-reduce failed"}; }
};

int main() {
  constexpr std::size_t stages = 2, tensor = 2;
  const std::vector<slimpack::tokens> lengths{{37}, {6}, {90}, {1}, {21}};
  const slimpack::plan plan =
      slimpack::planner_for<stage>({.stages = stages, .tensor = tensor, .quantum = {4}})(lengths).value();
  std::array<all_reduce, stages> group{all_reduce{tensor}, all_reduce{tensor}};
  std::array<slimpack::transports::threads, tensor> alike{slimpack::transports::threads{stages},
                                                          slimpack::transports::threads{stages}};
  slimpack::transports::threads job{stages * tensor};  // of all ranks, for the watchdogs
  using watchdog = slimpack::executors::watchdog<slimpack::transports::threads::port>;
  std::array<std::unique_ptr<watchdog>, stages * tensor> watchdogs;
  for (int rank = 0; std::unique_ptr<watchdog> & one : watchdogs)
    one = std::make_unique<watchdog>(job.endpoint(rank++));
  std::array<std::array<stage, tensor>, stages> all;
  for (std::size_t s = 0; s < stages; ++s)
    for (std::size_t t = 0; t < tensor; ++t) {
      all[s][t].sum_up = [&, s, t](std::vector<row>& rows) { return group[s](t, rows); };
      all[s][t].end_sum = [&, s, t] { group[s].end(t); };
      for (std::size_t h = 0; h < heads / tensor; ++h)
        all[s][t].own.own.emplace_back(s * heads + t * heads / tensor + h);
    }
  const auto run = [&](std::size_t s, std::size_t t) {
    auto port = alike[t].endpoint(static_cast<int>(s));  // to the other stages, of the same heads
    const slimpack::executors::packflow packflow{
        .trainer_rank = [&](int of) { return of * static_cast<int>(tensor) + static_cast<int>(t); },
        .world = watchdogs[s * tensor + t].get()};
    return packflow.execute(plan, all[s][t], port);
  };
  // End of what adopts slimpack.

  bool same = true;
  for (int step = 0; step <= 40; ++step) {
    std::vector<layer> whole(stages);  // of the step as it was
    for (std::size_t s = 0; s < stages; ++s)
      for (const stage& one : all[s]) whole[s].own.insert(whole[s].own.end(), one.own.own.begin(), one.own.own.end());
    std::vector<std::future<slimpack::result<slimpack::step_report>>> steps;
    for (std::size_t s = 0; s < stages; ++s)
      for (std::size_t t = 0; t < tensor; ++t) steps.push_back(std::async(std::launch::async, run, s, t));
    const double loss = steps[0].get().value().loss_sum;
    for (std::size_t i = 1; i < steps.size(); ++i) same = steps[i].get().value().loss_sum == loss && same;
    const double expected = step_of_whole_texts(whole, lengths);
    same = same && std::abs(loss - expected) < 1e-12 * expected;
    const auto compare = [&](row& found, const row& right, row& weights) {
      row off = found;
      add(off, -1, right), same = same && dot(off, off) <= 1e-22 * dot(right, right) + 1e-40;
      add(weights, -0.5, found), found = {};  // the optimizer
    };
    for (std::size_t s = 0; s < stages; ++s)
      for (std::size_t h = 0; h < heads; ++h) {
        head& of = all[s][h / (heads / tensor)].own.own[h % (heads / tensor)];
        for (std::size_t m = 0; m < 3; ++m)
          for (std::size_t i = 0; i < head_width; ++i) compare(of.din[m][i], whole[s].own[h].din[m][i], of.in[m][i]);
        for (std::size_t i = 0; i < head_width; ++i) compare(of.dout[i], whole[s].own[h].dout[i], of.out[i]);
      }
    for (auto& of_stage : all)
      for (stage& one : of_stage) one.sum = 0;
    if (step % 10 == 0) std::printf("step %2d, loss %.4f\n", step, loss);
  }
  std::printf("2 stages of 2 tensor ranks: loss and gradients are %sthose of undivided layers on whole sequences\n",
              same ? "" : "not ");

  all[1][1].sum_up = [](std::vector<row>&) { return false; };
  std::vector<std::future<slimpack::result<slimpack::step_report>>> last;
  for (std::size_t s = 0; s < stages; ++s)
    for (std::size_t t = 0; t < tensor; ++t) last.push_back(std::async(std::launch::async, run, s, t));
  for (int rank = 0; auto& step : last) std::printf("rank %d: %s\n", rank++, step.get().error().detail.c_str());
}
