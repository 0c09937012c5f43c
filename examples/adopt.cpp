// A trainer adopts slimpack: its model as a stage compute, its own blocking send and receive as the transport, its own
// optimizer. Two stages of attention over plain numbers learn to continue a wave.
#include <slimpack/executors/packflow.hpp>
#include <slimpack/planner_for.hpp>
#include <slimpack/transports/blocking.hpp>

#include <sys/socket.h>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <thread>
#include <vector>

double wave(slimpack::sequence_id s, std::int64_t t) { return std::sin(0.5 * static_cast<double>(t + s.value)); }

/// One stage: y_t = x_t + the mean of c x_s over s <= t, weighted by exp(a x_t b x_s), for a, b, c to be learnt.
/// What backward needs is kept by token, so the plan may cut backward where it did not cut forward.
struct attention {
  static constexpr slimpack::backward_cuts cuts = slimpack::backward_cuts::any;
  double a{0.4}, b{0.3}, c{0.2}, da{}, db{}, dc{}, sum{};
  struct row {
    double x, y, attended, total, dkey, dvalue;
  };
  std::map<slimpack::sequence_id, std::vector<row>> rows{};
  slimpack::message_format format() const { return {1, slimpack::element_type::float64}; }  // one number a token
  double loss() const { return sum; }
  slimpack::result<void> forward(const slimpack::piece& p, std::span<const std::byte> in, slimpack::outgoing& out) {
    const auto [sequence, begin, length] = p.slice;
    const bool first = in.empty(), last = !out.wanted();
    std::vector<row>& r = rows[sequence];
    std::vector<double> result;
    for (std::int64_t i = 0; i < length.value; ++i) {
      const double x = first ? wave(sequence, begin.value + i) : slimpack::as<double>(in)[static_cast<std::size_t>(i)];
      row& q = r.emplace_back(row{x, 0, 0, 0, 0, 0});
      for (const row& k : r) q.total += std::exp(a * x * b * k.x);
      for (const row& k : r) q.attended += std::exp(a * x * b * k.x) / q.total * c * k.x;
      result.push_back(q.y = x + q.attended);
      const double miss = q.y - wave(sequence, begin.value + i + 1);
      if (last) sum += p.loss_weight / static_cast<double>(length.value) * miss * miss / 2;
    }
    return out.put(result);
  }
  slimpack::result<void> backward(const slimpack::piece& p, std::span<const std::byte> in, slimpack::outgoing& out) {
    const auto [sequence, begin, length] = p.slice;
    std::vector<row>& r = rows[sequence];
    std::vector<double> result(static_cast<std::size_t>(length.value));
    for (std::size_t i = result.size(); i-- > 0;) {
      row& q = r.back();  // the last token that is left
      const double miss = q.y - wave(sequence, begin.value + static_cast<std::int64_t>(i) + 1);
      const double weight = p.loss_weight / static_cast<double>(length.value);
      const double dy = in.empty() ? weight * miss : slimpack::as<double>(in)[i];
      double dquery = 0;
      for (row& k : r) {
        const double share = std::exp(a * q.x * b * k.x) / q.total;
        const double dscore = share * dy * (c * k.x - q.attended);
        dquery += dscore * b * k.x, k.dkey += dscore * a * q.x, k.dvalue += share * dy;
      }
      da += dquery * q.x, db += q.dkey * q.x, dc += q.dvalue * q.x;
      result[i] = dy + dquery * a + q.dkey * b + q.dvalue * c;
      r.pop_back();
    }
    return out.put(result);
  }
  void discard(const slimpack::piece& p) { rows.erase(p.slice.sequence); }
  void step(double rate) { a -= rate * da, b -= rate * db, c -= rate * dc, da = db = dc = sum = 0; }
};

/// What the trainer has for messages: here, a socket to the one other rank.
struct socket_link {
  int socket;
  bool send(int /*peer*/, std::span<const std::byte> bytes) {
    return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  bool receive(int /*peer*/, std::span<std::byte> bytes) {
    return ::recv(socket, bytes.data(), bytes.size(), MSG_WAITALL) == static_cast<ssize_t>(bytes.size());
  }
};

void rank(int r, int socket, const slimpack::plan& plan) {
  slimpack::transports::blocking transport{socket_link{socket}, r, 2};
  attention stage;
  for (int step = 0; step <= 60; ++step) {
    const slimpack::step_report done = slimpack::executors::packflow{}.execute(plan, stage, transport).value();
    stage.step(0.5);
    if (r == 0 && step % 15 == 0) std::printf("step %2d, loss %.4f\n", step, done.loss_sum);
  }
}

int main() {
  const std::vector<slimpack::tokens> lengths{{37}, {6}, {90}, {1}, {21}};
  const slimpack::plan plan = slimpack::planner_for<attention>({.stages = 2, .quantum = {4}})(lengths).value();
  const slimpack::partition& cut = plan.replicas[0].partition;
  std::printf("%zu slices forward, %zu backward\n", cut.forward.slices().size(), cut.backward.slices().size());
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return 1;
  const std::jthread other(rank, 1, pair[1], std::cref(plan));
  rank(0, pair[0], plan);
}
