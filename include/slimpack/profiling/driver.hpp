#ifndef SLIMPACK_PROFILING_DRIVER_HPP
#define SLIMPACK_PROFILING_DRIVER_HPP

#include <slimpack/concepts/running.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/detail/median.hpp>
#include <slimpack/detail/thrown.hpp>
#include <slimpack/executors/detail/messages/messages.hpp>
#include <slimpack/executors/detail/piece_calls.hpp>
#include <slimpack/executors/detail/running_sums.hpp>
#include <slimpack/executors/detail/shared/running_exchange.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/executors/gradient_sums.hpp>
#include <slimpack/executors/hooks.hpp>
#include <slimpack/executors/replica_group.hpp>
#include <slimpack/profiling/detail/made_up.hpp>
#include <slimpack/profiling/detail/pack_kinds.hpp>
#include <slimpack/profiling/fit.hpp>
#include <slimpack/profiling/memory_trials.hpp>
#include <slimpack/profiling/observation.hpp>
#include <slimpack/profiling/stage_profile.hpp>
#include <slimpack/profiling/stopwatch.hpp>
#include <slimpack/profiling/trials.hpp>
#include <slimpack/transports/detail/any_transport.hpp>
#include <slimpack/transports/gathered.hpp>
#include <slimpack/transports/hooks.hpp>

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::profiling {

/// Finds what a stage compute takes, with the calls of the runtime and the transport that will train, before the first
/// step. All ranks run it at the same time, since they share a machine's memory and heat in training, too.
///
///   slimpack::profiling::driver drive{stage, shape, longest, transport};
///   drive.prepare = [&](std::span<const slimpack::sequence> s) { ... };      // texts of such lengths, under these ids
///   slimpack::profiling::stage_profile measured = drive.measure().value();        // on every rank the same
///   slimpack::planner plan_batch{shape, {}, measured.cost({.memory = rates}).value()};
///
/// Messages of a trial are made up, of numbers about 1. The trials (trials.hpp) go round until the budget is over,
/// three times at least, and of a kind of pack the median counts. Then the sum of gradients is timed, as a step would
/// start it, and messages there and back between the first two stages. Weights are read and gradients added to: set
/// these to zero afterwards. A replica's ranks time each other's stage; ranks of one stage are observations of one
/// part. E, V, U and G are not timed; layers are called as it needs, with a message at either end.
/// Watch     trials.hpp: the host's clock, or events of a device
/// Errors    those of the compute, which name the trial, and of the transport; those of fit. All ranks end with one.
///           What the compute throws leaves measure on its own rank, after the same
template <stage_compute Compute, transport Transport, stopwatch Watch = host_stopwatch>
class driver {
  static constexpr bool splits = slimpack::detail::splits_weight_gradients<Compute>;

 public:
  /// Requires  a transport of on.stages * on.replicas ranks; longest >= 1
  driver(Compute& compute, const shape& on, tokens longest, Transport& transport, Watch watch = {})
      : compute_(compute),
        shape_(on),
        longest_(longest),
        transport_(transport),
        port_(transport),
        watch_(std::move(watch)) {}

  seconds budget{3};   ///< for the trials
  bool apart{splits};  ///< whether weight gradients are timed apart, too, where the compute can
  std::function<void(std::span<const sequence>)> prepare{};  ///< told what runs next, before begin_step
  memory_trials* memory{};  ///< reads the stage's memory around each call, outside of its time; none: nobody does

  [[nodiscard]] result<stage_profile> measure() {
    if (transport_.size() != shape_.stages * shape_.replicas)
      return error{errc::invalid_input, "the shape has " + std::to_string(shape_.stages * shape_.replicas) +
                                            " ranks, the transport " + std::to_string(transport_.size())};
    const std::vector<trial> all = trials_for(longest_, shape_.quantum, splits && apart);
    if (result<void> together = meet(); !together) return std::move(together).error();
    const auto begin = clock::now();
    std::vector<observation> seen;
    for (int rounds = 0; rounds < 3 || std::chrono::duration<double>(clock::now() - begin).count() < budget.value;
         ++rounds)
      for (const trial& t : all)
        if (result<void> ran = run(t, seen); !ran) return std::move(ran).error();
    const std::vector<observation> own = detail::medians(seen);  // what is sent does not grow with the budget
    result<std::vector<observation>> told = gather(transport_, std::span<const observation>(own));
    if (!told) return std::move(told).error();
    result<stage_profile> made = fit(told.value(), shape_.parts());
    if (!made) return made;
    if (result<void> timed = time_reduction(made.value()); !timed) return std::move(timed).error();
    if (result<void> timed = time_messages(made.value()); !timed) return std::move(timed).error();
    return made;
  }

 private:
  using clock = std::chrono::steady_clock;

  [[nodiscard]] int stage() const { return transport_.rank() % shape_.stages; }

  result<void> meet() {
    const result<std::vector<double>> all = gathered(transport_, 0.0);
    if (!all) return all.error();
    return success();
  }

  /// Runs the trial on this stage alone.
  result<void> run(const trial& t, std::vector<observation>& seen) {
    namespace rt = slimpack::detail;
    const plan p = plan_of(t, shape_);
    result<rt::stage_script> read = rt::stage_script::of(p, stage(), cuts_of<Compute>(), exchange_set::none());
    if (!read) return std::move(read).error();
    rt::stage_script& script = read.value();
    const tokens all{t.length().value * t.copies};
    for (rt::piece_list* list : {&script.forward, &script.backward})
      for (piece& one : list->pieces) one.loss_weight = one.slice.length / all;
    rt::host_row_memory unused;
    rt::running_exchanges nobody(port_, unused, script.stage, script.on.stages, shared_rows_channel);
    rt::no_ties untied;
    rt::piece_calls<Compute, rt::running_exchanges, rt::no_ties> calls(compute_, script, nobody, {}, untied, nullptr);
    script.outline.valid_tokens = all;
    script.outline.sequences = script.sequences;
    script.outline.backward = script.backward.pieces;
    script.outline.forward_calls = calls.calls(pass::forward);
    script.outline.backward_calls = calls.calls(pass::backward);
    if (prepare) prepare(script.sequences);
    if (result<void> begun = begin_step(compute_, script.outline); !begun) return begun;
    detail::made_up<Compute> in(compute_, script.outline.largest_pack), out(compute_, script.outline.largest_pack);
    const bool both_ends = has(shape_, instruction_kind::output);
    if (memory) memory->begin(p);
    for (std::size_t at = 0; at < script.code.size(); ++at) {
      const instruction& i = script.code[at];
      const tokens size = script.of(i.pass()).size[i.pack.value];
      rt::call_messages with;
      if (!i.is_weights() && (both_ends || !script.sources(i).empty())) with.in = in.bytes(size);
      if (!i.is_weights() && (both_ends || !script.targets(i).empty())) with.out = out.bytes(size);
      result<void> ran = in.filled() ? out.filled() : in.filled();
      if (memory) memory->before();
      watch_.start();
      const std::exception_ptr thrown = slimpack::detail::thrown_by([&] {
        if (ran) ran = calls.run(at, with);
      });
      const seconds took = watch_.stop();
      if (thrown || !ran) {
        calls.discard_all();
        abort_step(compute_);
        error why = thrown ? error{errc::compute_failed, "the compute threw"} : ran.error();
        why.detail = "a trial of " + std::to_string(t.copies) + " sequences of " + std::to_string(t.length().value) +
                     " tokens, " + name_of(i, shape_.chunks) + ": " + why.detail;
        transport_.abort(why.detail);
        if (thrown) std::rethrow_exception(thrown);
        return why;
      }
      if (memory) memory->after(i);
      const std::span<const slice> pack = p.replicas[0].partition.of(i.pass())[i.pack.value];
      if (i.pass() == pass::backward && !i.is_weights() && t.apart)
        continue;  // without its weight gradients it is no
                   // backward
      if (took > seconds{})
        seen.push_back({i.pass(),
                        static_cast<int>(i.chunk) * shape_.stages + stage(),
                        i.is_weights(),
                        {pack.begin(), pack.end()},
                        took});
    }
    return success();
  }

  /// The largest over ranks of the median of several runs.
  template <class Run>
  result<seconds> slowest(std::size_t times, bool takes_part, const Run& once) {
    std::vector<double> took;
    for (std::size_t n = 0; n < times; ++n) {
      if (result<void> together = meet(); !together) return std::move(together).error();
      if (!takes_part) continue;
      watch_.start();
      const result<void> ran = once();
      took.push_back(watch_.stop().value);
      if (!ran) return ran.error();
    }
    const result<std::vector<double>> all = gathered(transport_, took.empty() ? 0.0 : slimpack::detail::median(took));
    if (!all) return all.error();
    return seconds{*std::max_element(all.value().begin(), all.value().end())};
  }

  result<void> time_reduction(stage_profile& made) {
    std::vector<int> copies;
    for (int rank = stage(); rank < transport_.size(); rank += shape_.stages) copies.push_back(rank);
    if (copies.size() < 2) return success();
    const auto ends = [&](error e) {
      transport_.abort(e.detail);
      return e;
    };
    const result<seconds> took = slowest(5, true, [&]() -> result<void> {
      slimpack::detail::running_sums running(port_, copies, sums_channels, true);
      executors::replica_group<Transport> group{transport_, copies, ends};
      if (result<void> reduced = reduce(compute_, group); !reduced) return reduced;
      executors::gradient_sums<Transport> sums{transport_, running, ends};
      for (int chunk = shape_.chunks + (shape_.reduced_parts() > shape_.parts() ? 1 : 0); chunk-- > 0;)
        if (result<void> begun = reduce_part(compute_, static_cast<std::uint32_t>(chunk), sums); !begun) return begun;
      if (result<void> summed = running.complete(); !summed) return summed;
      return finish(transport_);
    });
    if (!took) return took.error();
    made.reduce = took.value();
    return success();
  }

  /// There and back between the first two stages of every replica, of a token and of the longest.
  result<void> time_messages(stage_profile& made) {
    if (shape_.stages < 2) return success();
    detail::made_up<Compute> message(compute_, longest_);
    const auto time = [&](tokens size) {
      return slowest(11, stage() < 2, [&]() -> result<void> {
        const int other = transport_.rank() + (stage() == 0 ? 1 : -1);
        for (const bool sends : {stage() == 0, stage() != 0}) {
          auto moving = sends ? transport_.send(other, 1, message.bytes(size))
                              : transport_.receive(other, 1, message.bytes(size));
          const result<void> moved = moving ? transport_.wait(moving.value()) : result<void>(std::move(moving).error());
          if (moved) continue;
          transport_.abort(moved.error().detail);  // the other side may use the message until then
          return moved;
        }
        return success();
      });
    };
    const result<seconds> few = time({1});
    if (!few) return few.error();
    const result<seconds> many = time(longest_);
    if (!many) return many.error();
    made.message = few.value() * 0.5;
    if (longest_ > tokens{1})
      made.message_token =
          std::max(seconds{}, (many.value() - few.value()) * (0.5 / static_cast<double>(longest_.value - 1)));
    return success();
  }

  Compute& compute_;
  shape shape_;
  tokens longest_;
  Transport& transport_;
  slimpack::detail::transport_behind<Transport> port_;
  Watch watch_;
};

}  // namespace slimpack::profiling

#endif
