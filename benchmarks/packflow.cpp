// What does the runtime cost per instruction? Two stages on two threads run a plan whose compute does nothing; beside
// it, the same messages in the same order by hand. Input: 2000 sequences of one token, one per pack, 1F1B with a lead
// of 2; no randomness. Waiters spin. Figures are medians over 31 repetitions in one run.
// And what does it cost a host that only issues work? The same plan over transports::nccl: processor time of a rank's
// thread from its first call of the compute to its last, beside the same sends, receives and waits by hand. Once over a
// device that does nothing, so that what CUDA and NCCL take themselves is left out, and their calls are counted; once
// over the stand-in of the tests, with fewer packs, since it looks for transfers that wait for each other.
#include <slimpack/devices/host.hpp>
#include <slimpack/executors/packflow.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/transports/communicators/host.hpp>
#include <slimpack/transports/nccl.hpp>
#include <slimpack/transports/threads.hpp>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <functional>
#include <optional>
#include <span>
#include <thread>
#include <utility>
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

plan one_token_packs(std::size_t count) {
  plan p;
  p.shape = {.stages = 2, .quantum = {1}};
  p.lengths.assign(count, tokens{1});
  replica_plan& r = p.replicas.emplace_back();
  for (std::uint32_t i = 0; i < count; ++i) {
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
      receives.push_back(
          wire.receive(1 - stage, stage == 0 ? 2 : 1, std::as_writable_bytes(std::span(&in, 1))).value());
    if (i.pass() == hears)
      wire.wait(receives[waited++]).value();
    else
      sends.push_back(wire.send(1 - stage, stage == 0 ? 1 : 2, std::as_bytes(std::span(&out, 1))).value());
  }
  for (transports::threads::handle& h : sends) wire.wait(h).value();
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

/// Processor time of the calling thread.
double processor_time() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Issues nothing, and sees when its first call begins and its last.
struct issues_nothing : nothing {
  void begin_step(const step_outline& o) { left = o.forward_calls + o.backward_calls, first.reset(); }
  result<void> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    return look(), nothing::forward(p, in, out);
  }
  result<void> backward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    return look(), nothing::backward(p, in, out);
  }
  [[nodiscard]] double issuing() const { return last - *first; }

 private:
  void look() {
    if (!first) first = processor_time();
    if (--left == 0) last = processor_time();
  }
  std::size_t left{};
  std::optional<double> first;
  double last{};
};

/// A device and its communicators that do nothing but count their calls.
struct counted {
  struct stream {};
  struct event {};
  class memory {
   public:
    explicit memory(std::size_t size) : bytes_(size) {}
    friend std::span<std::byte> as_span(memory& m) noexcept { return m.bytes_; }

   private:
    std::vector<std::byte> bytes_;
  };
  using identity = int;
  struct communicator {};

  std::size_t* calls;

  result<stream> make_stream() { return stream{}; }
  result<event> record(const stream&) { return ++*calls, event{}; }
  result<void> wait(const stream&, const event&) { return ++*calls, success(); }
  result<bool> query(const event&) { return ++*calls, true; }
  result<seconds> elapsed(const event&, const event&) { return seconds{}; }
  result<void> copy(const stream&, std::span<std::byte>, std::span<const std::byte>) { return ++*calls, success(); }
  result<void> run(const stream&, const std::function<void()>&) { return ++*calls, success(); }
  result<void> synchronize(const stream&) { return success(); }
  result<memory> allocate(std::size_t size) { return memory(size); }
  result<memory> allocate_pinned(std::size_t size) { return memory(size); }

  result<identity> make_identity() { return 0; }
  result<communicator> join(identity, int, int) { return communicator{}; }
  result<bool> is_ready(const communicator&) { return ++*calls, true; }
  result<void> send(const communicator&, const stream&, int, std::span<const std::byte>) { return ++*calls, success(); }
  result<void> receive(const communicator&, const stream&, int, std::span<std::byte>) { return ++*calls, success(); }
  template <class T>
  result<void> sum(const communicator&, const stream&, std::span<T>) {
    return ++*calls, success();
  }
  bool keeps_launch_order() const { return true; }
  void abort(std::span<const communicator>) {}
};

/// The messages of a program by hand, as far as a host issues them.
template <class Wire>
double issued_by_hand(const program& code, int stage, Wire& wire) {
  float in{};
  float out{};
  const pass hears = stage == 0 ? pass::backward : pass::forward;
  const auto channel = [](pass p) { return channel_of(p == pass::forward ? traffic::forward : traffic::backward, 1); };
  const double begin = processor_time();
  for (const instruction& i : code) {
    if (i.pass() != hears) {
      wire.send(1 - stage, channel(i.pass()), std::as_bytes(std::span(&out, 1))).value();
      continue;
    }
    auto came = wire.receive(1 - stage, channel(i.pass()), std::as_writable_bytes(std::span(&in, 1))).value();
    wire.wait(came).value();
  }
  const double took = processor_time() - begin;
  wire.finish().value();
  return took;
}

/// Half a round trip.
double hop(int stage, transports::threads::port& wire) {
  float x{};
  const auto bytes = std::as_writable_bytes(std::span(&x, 1));
  const auto begin = clock_type::now();
  for (std::size_t i = 0; i < packs; ++i) {
    for (const bool sends : {stage == 0, stage == 1}) {
      auto h =
          sends ? wire.send(1 - stage, 1 + stage, bytes).value() : wire.receive(1 - stage, 2 - stage, bytes).value();
      wire.wait(h).value();
    }
  }
  return std::chrono::duration<double>(clock_type::now() - begin).count() / (2 * packs);
}

double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

template <class Device, class Communicators>
void print_issuing(const char* what, std::size_t count, std::array<std::pair<Device, Communicators>, 2> devices,
                   const std::size_t* calls = nullptr) {
  const plan p = one_token_packs(count);
  const double instructions = 2 * static_cast<double>(count);
  transports::threads hosts{2};
  std::barrier start(2);
  std::vector<double> runtime[2], bare[2];
  std::size_t before = 0, after = 0;
  const auto stage_of = [&](int stage) {
    const auto at = static_cast<std::size_t>(stage);
    transports::threads::port host = hosts.endpoint(stage);
    transports::nccl wire(host, devices[at].first, devices[at].second);
    wire.open().value();
    issues_nothing compute;
    for (int k = 0; k < repetitions; ++k) {
      start.arrive_and_wait();
      if (stage == 0 && calls != nullptr) before = *calls;
      executors::packflow{}.execute(p, compute, wire).value();
      if (stage == 0 && calls != nullptr) after = *calls;
      runtime[at].push_back(compute.issuing());
      start.arrive_and_wait();
      bare[at].push_back(issued_by_hand(p.replicas[0].programs[at], stage, wire));
    }
    start.arrive_and_wait();  // neither leaves before the other has ended
  };
  std::thread other(stage_of, 1);
  stage_of(0);
  other.join();
  std::printf("\n%zu instructions each over transports::nccl, %s: processor time of the host\n", 2 * count, what);
  for (std::size_t stage = 0; stage < 2; ++stage)
    std::printf("stage %zu, per instruction: runtime %7.3f us, its messages alone %7.3f us\n", stage,
                1e6 * median(runtime[stage]) / instructions, 1e6 * median(bare[stage]) / instructions);
  if (calls != nullptr)
    std::printf("calls of the device on stage 0, per instruction: %.2f\n",
                static_cast<double>(after - before) / instructions);
}

}  // namespace

int main() {
  const plan p = one_token_packs(packs);
  transports::threads world{2, {.spin = {1}}};
  std::barrier start(2);
  std::vector<double> empty[2], bare[2], hops[2], extra[2];
  const auto stage_of = [&](int stage) {
    auto wire = world.endpoint(stage);
    nothing compute;
    const auto at = static_cast<std::size_t>(stage);
    for (int k = 0; k < repetitions; ++k) {
      start.arrive_and_wait();
      empty[at].push_back(executors::packflow{}.execute(p, compute, wire).value().elapsed.value);
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
  std::printf("2 stages, %zu instructions each, compute empty, threads transport, waiters spin, median of %d\n",
              2 * packs, repetitions);
  std::printf("bare hop                         %7.3f us (half a round trip)\n", 1e6 * median(hops[0]));
  for (std::size_t stage = 0; stage < 2; ++stage) {
    std::printf("stage %zu, per instruction: runtime %7.3f us, its messages alone %7.3f us, overhead %7.3f us\n", stage,
                1e6 * median(empty[stage]) / (2 * packs), 1e6 * median(bare[stage]) / (2 * packs),
                1e6 * median(extra[stage]));
  }
  std::size_t calls[2]{};
  const auto counting = [&](std::size_t stage) { return std::pair(counted{&calls[stage]}, counted{&calls[stage]}); };
  print_issuing<counted, counted>("a device that does nothing", packs, {counting(0), counting(1)}, &calls[0]);
  std::vector<devices::host> all = devices::host::make(2, {.delay = {0}, .in_issue_order = false});
  using transports::communicators::host;
  print_issuing<devices::host, host>("stand-in devices", 1000,
                                     {std::pair(all[0], host(all[0])), std::pair(all[1], host(all[1]))});
}
