// What does the runtime cost per instruction? Two stages on two threads run a plan whose compute does nothing; beside it,
// the same messages in the same order by hand. Input: 2000 sequences of one token, one per pack, 1F1B with a lead of 2;
// no randomness. Waiters spin. Figures are medians over 31 repetitions in one run.
#include <slimpack/executors/packflow.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/transports/threads.hpp>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

using namespace slimpack;
using clock_type = std::chrono::steady_clock;

constexpr std::size_t packs = 2000;
constexpr int repetitions = 31;

/// Writes nothing into its messages, which is all that is missing to a compute.
struct nothing {
  [[nodiscard]] message_format format() const { return {1, element_type::float32}; }
  result<void> forward(const piece&, std::span<const std::byte>, outgoing& out) { return touch(out); }
  result<void> backward(const piece&, std::span<const std::byte>, outgoing& out) { return touch(out); }
  void discard(const piece&) {}

 private:
  static result<void> touch(outgoing& out) {
    (void)out.bytes();
    return boost::outcome_v2::success();
  }
};

plan one_token_packs() {
  plan p;
  p.shape = {.stages = 2, .quantum = {1}};
  p.lengths.assign(packs, tokens{1});
  replica_plan& r = p.replicas.emplace_back();
  for (std::uint32_t i = 0; i < packs; ++i) {
    r.sequences.push_back({i});
    for (micropacks* pass : {&r.partition.forward, &r.partition.backward}) pass->push({{i}, {0}, {1}}), pass->close();
  }
  r.programs = schedules::one_f_one_b{}.programs(price(r.partition, costs::quadratic{}, p.shape, {{}, {}})).value();
  return p;
}

/// The messages of a program, with a few receives posted ahead.
double by_hand(const program& code, int stage, transports::threads::port& wire) {
  constexpr std::size_t ahead = 4;
  std::vector<transports::threads::handle> receives;
  std::vector<transports::threads::handle> sends;
  receives.reserve(packs);
  sends.reserve(packs);
  float in{};
  float out{};
  const auto begin = clock_type::now();
  std::size_t waited = 0;
  const pass hears = stage == 0 ? pass::backward : pass::forward;
  for (const instruction& i : code) {
    while (receives.size() < std::min(waited + ahead, packs))
      receives.push_back(wire.receive(1 - stage, stage == 0 ? 2 : 1, std::as_writable_bytes(std::span(&in, 1))).value());
    if (i.pass == hears)
      wire.wait(receives[waited++]).value();
    else
      sends.push_back(wire.send(1 - stage, stage == 0 ? 1 : 2, std::as_bytes(std::span(&out, 1))).value());
  }
  for (transports::threads::handle& h : sends) wire.wait(h).value();
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

/// Half a round trip.
double hop(int stage, transports::threads::port& wire) {
  float x{};
  const auto bytes = std::as_writable_bytes(std::span(&x, 1));
  const auto begin = clock_type::now();
  for (std::size_t i = 0; i < packs; ++i) {
    for (const bool sends : {stage == 0, stage == 1}) {
      auto h = sends ? wire.send(1 - stage, 1 + stage, bytes).value() : wire.receive(1 - stage, 2 - stage, bytes).value();
      wire.wait(h).value();
    }
  }
  return std::chrono::duration<double>(clock_type::now() - begin).count() / (2 * packs);
}

double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

}  // namespace

int main() {
  const plan p = one_token_packs();
  transports::threads world{2, {.spin = {1}}};
  std::barrier start(2);
  std::vector<double> empty[2], bare[2], hops[2], extra[2];
  const auto stage_of = [&](int stage) {
    auto wire = world.endpoint(stage);
    nothing compute;
    const auto at = static_cast<std::size_t>(stage);
    for (int k = 0; k < repetitions; ++k) {
      start.arrive_and_wait();
      empty[at].push_back(executors::packflow<>{}.execute(p, compute, wire).value().elapsed.value);
      start.arrive_and_wait();
      bare[at].push_back(by_hand(p.replicas[0].programs[at], stage, wire));
      start.arrive_and_wait();
      hops[at].push_back(hop(stage, wire));
      extra[at].push_back((empty[at].back() - bare[at].back()) / (2 * packs));
    }
  };
  std::thread other(stage_of, 1);
  stage_of(0);
  other.join();
  std::printf("2 stages, %zu instructions each, compute empty, threads transport, waiters spin, median of %d\n", 2 * packs, repetitions);
  std::printf("bare hop                         %7.3f us (half a round trip)\n", 1e6 * median(hops[0]));
  for (std::size_t stage = 0; stage < 2; ++stage) {
    std::printf("stage %zu, per instruction: runtime %7.3f us, its messages alone %7.3f us, overhead %7.3f us\n", stage,
                1e6 * median(empty[stage]) / (2 * packs), 1e6 * median(bare[stage]) / (2 * packs), 1e6 * median(extra[stage]));
  }
}
