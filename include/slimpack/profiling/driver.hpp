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
#include <slimpack/executors/call_time.hpp>
#include <slimpack/executors/detail/messages/messages.hpp>
#include <slimpack/executors/detail/piece_calls.hpp>
#include <slimpack/executors/detail/running_sums.hpp>
#include <slimpack/executors/detail/shared/running_exchange.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/executors/gradient_sums.hpp>
#include <slimpack/executors/hooks.hpp>
#include <slimpack/executors/replica_group.hpp>
#include <slimpack/profiling/clocks.hpp>
#include <slimpack/profiling/detail/kind_times.hpp>
#include <slimpack/profiling/detail/made_up.hpp>
#include <slimpack/profiling/detail/trial_order.hpp>
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
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::profiling {

/// How a measurement went. All ranks have the same.
struct measurement {
  std::size_t trials{};        ///< those that ran
  std::size_t runs{};          ///< of all of them
  std::vector<trial> dropped;  ///< trials that did not fit into the budget
  double error{};              ///< the largest of a kind of pack's median, relative; infinite where one has few runs
  clocks by;                   ///< by which clock the packs are fitted, and how much other work there was
};

/// Finds what a stage compute takes, with the calls of the runtime and the transport that will train, before the first
/// step. All ranks run it at the same time, since they share a machine's memory and heat in training, too.
///
///   slimpack::profiling::driver drive{stage, shape, longest, transport};
///   drive.prepare = [&](std::span<const slimpack::sequence> s) { ... };      // texts of such lengths, under these ids
///   slimpack::profiling::stage_profile measured = drive.measure().value();        // on every rank the same
///   slimpack::planner plan_batch{shape, {}, measured.cost({.memory = rates}).value()};
///
/// Where several ranks have parts of the same layers (tensor or context ranks), each has a transport of its own, and
/// all of them call drive.measure(world), over a transport of all ranks of the job in any order. Ranks with the same
/// place in their own transports make the same calls at the same time: of equal ones the slowest rank's time counts. So
/// all ranks fit the same bits, and plan alike.
///
/// Messages of a trial are made up, of numbers about 1. Trials (trials.hpp) run from small to large, once. Those that
/// would end after the budget are dropped (`seen`). Then those whose times differ most run again, until the median of
/// each kind of pack is known to 1 % or the budget is over. A few of the smallest run whatever the budget is, so it may
/// be too short by their time; else by no more than a trial's own. Ranks agree after each trial on what comes next.
/// Then the sum of gradients is timed, as a step would start it, and messages there and back between the first two
/// stages: each once, and again for up to a tenth of the budget. Weights are read and gradients added to: set these to
/// zero afterwards. A replica's ranks time each other's stage; ranks of one stage are observations of one part. E, V, U
/// and G are not timed; layers are called as it needs, with a message at either end.
/// Watch     stopwatch.hpp: both clocks of the host, of which clocks.hpp chooses, or events of a device
/// Errors    those of the compute, which name the trial, and of the transport; those of fit. All ranks end with one.
///           What the compute throws leaves measure on its own rank, after the same
template <stage_compute Compute, transport Transport, stopwatch Watch = host_stopwatch>
class driver {
  static constexpr bool splits = slimpack::detail::splits_weight_gradients<Compute>;

  [[nodiscard]] static Watch own_watch() {
    if constexpr (std::same_as<Watch, host_stopwatch>)
      return host_stopwatch(waits_in_calls<Compute>());
    else
      return {};
  }

 public:
  /// Requires  a transport of on.stages * on.replicas ranks; longest >= 1
  driver(Compute& compute, const shape& on, tokens longest, Transport& transport, Watch watch = own_watch())
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
  measurement seen{};       ///< of the last call of measure, once it has succeeded

  [[nodiscard]] result<stage_profile> measure() { return measure(transport_); }

  /// The same where other ranks of the job have transports of their own.
  /// world     of all of them, in any order
  template <slimpack::transport World>
  [[nodiscard]] result<stage_profile> measure(World& world) {
    const int ranks = shape_.stages * shape_.replicas;
    if (transport_.size() != ranks)
      return error{errc::invalid_input, "the shape has " + std::to_string(ranks) + " ranks, the transport " +
                                            std::to_string(transport_.size()) +
                                            "; give a transport of more ranks, such as tensor ranks, to measure()"};
    if (world.size() % ranks != 0)
      return error{errc::invalid_input, "the shape has " + std::to_string(ranks) + " ranks, and the world's " +
                                            std::to_string(world.size()) + " are no multiple of them"};
    own_stopped_ = world_stopped_ = false;
    stage_profile besides;
    result<std::vector<observation>> told = error{};
    const std::exception_ptr thrown = slimpack::detail::thrown_by([&] { told = measured(world, besides); });
    if (thrown) {
      stop(world, running_ + ": the compute threw");
      std::rethrow_exception(thrown);
    }
    if (!told) {
      stop(world, told.error().detail);
      return std::move(told).error();
    }
    result<stage_profile> made = fit(told.value(), shape_.parts());  // on all ranks the same, an error, too
    if (!made) return made;
    made.value().reduce = besides.reduce;
    made.value().message = besides.message, made.value().message_token = besides.message_token;
    return made;
  }

 private:
  using clock = std::chrono::steady_clock;

  [[nodiscard]] int stage() const { return transport_.rank() % shape_.stages; }

  template <class World>
  result<std::vector<observation>> measured(World& world, stage_profile& besides) {
    seen = {};
    const std::vector<trial> all = trials_for(longest_, shape_.quantum, splits && apart);
    if (result<seconds> together = latest(world, {}); !together) return std::move(together).error();
    const auto begin = clock::now();
    detail::trial_order order(all, budget);
    std::vector<detail::kind_times> of_trials(all.size());
    detail::kind_times of_all, cold;
    const auto since_begin = [begin] { return seconds{std::chrono::duration<double>(clock::now() - begin).count()}; };
    if (result<void> ran = run(all[0], cold, cold); !ran) return std::move(ran).error();
    result<seconds> before = latest(world, since_begin());
    if (!before) return std::move(before).error();
    while (const std::optional<std::size_t> index = order.next()) {
      if (result<void> ran = run(all[*index], of_trials[*index], of_all); !ran) return std::move(ran).error();
      ++seen.runs;
      result<seconds> now = latest(world, since_begin());
      if (!now) return std::move(now).error();
      const result<seconds> error_now = latest(world, {of_trials[*index].error()});
      if (!error_now) return error_now.error();
      order.ran(*index, now.value(), now.value() - before.value(), error_now.value().value);
      before = std::move(now);
    }
    for (const std::size_t index : order.dropped()) seen.dropped.push_back(all[index]);
    seen.trials = all.size() - seen.dropped.size();
    seen.error = order.error();
    result<std::vector<observation>> told = of_job(world, of_all.medians());
    if (!told) return std::move(told).error();
    seen.by = choose_clocks(told.value());
    if (result<void> timed = time_reduction(world, besides); !timed) return std::move(timed).error();
    if (result<void> timed = time_messages(world, besides); !timed) return std::move(timed).error();
    return told;
  }

  /// Aborts its own transport, and the world where that is another: each once, as transports want it.
  template <class World>
  void stop(World& world, const std::string& why) {
    if (!std::exchange(own_stopped_, true)) transport_.abort(why);
    if (!is_own(world) && !std::exchange(world_stopped_, true)) world.abort(why);
  }
  template <class World>
  [[nodiscard]] bool is_own(World& world) const {
    return static_cast<const void*>(&world) == static_cast<const void*>(&transport_);
  }
  /// A gather over the world has failed, and has aborted it.
  template <class World>
  error stopped(World& world, const error& why) {
    (is_own(world) ? own_stopped_ : world_stopped_) = true;
    return why;
  }

  /// The largest of all ranks' times: they meet here.
  template <class World>
  result<seconds> latest(World& world, seconds own) {
    const result<std::vector<double>> all = gathered(world, own.value);
    if (!all) return stopped(world, all.error());
    return seconds{*std::max_element(all.value().begin(), all.value().end())};
  }

  /// Observations of all ranks, those of equal places in their own transports as one.
  template <class World>
  result<std::vector<observation>> of_job(World& world, std::span<const observation> own) {
    const result<std::vector<int>> places = gathered(world, transport_.rank());
    if (!places) return stopped(world, places.error());
    const result<std::vector<std::vector<observation>>> told = detail::gathered_by_rank(world, own);
    if (!told) return stopped(world, told.error());
    std::vector<observation> all;
    for (int place = 0; place < transport_.size(); ++place) {
      std::vector<const std::vector<observation>*> same;
      for (std::size_t rank = 0; rank < told.value().size(); ++rank)
        if (places.value()[rank] == place) same.push_back(&told.value()[rank]);
      for (observation& o : detail::slowest_of(same)) all.push_back(std::move(o));
    }
    return all;
  }

  /// Runs the trial on this stage alone.
  result<void> run(const trial& t, detail::kind_times& own, detail::kind_times& all) {
    namespace rt = slimpack::detail;
    running_ = "a trial of " + text_of(t);
    const plan p = plan_of(t, shape_);
    result<rt::stage_script> read = rt::stage_script::of(p, stage(), cuts_of<Compute>(), exchange_set::none());
    if (!read) return std::move(read).error();
    rt::stage_script& script = read.value();
    tokens valid{};
    for (const tokens length : p.lengths) valid += length;
    for (rt::piece_list* list : {&script.forward, &script.backward})
      for (piece& one : list->pieces) one.loss_weight = one.slice.length / valid;
    rt::host_row_memory unused;
    rt::running_exchanges nobody(port_, unused, script.stage, script.on.stages, shared_rows_channel);
    rt::no_ties untied;
    rt::piece_calls<Compute, rt::running_exchanges, rt::no_ties> calls(compute_, script, nobody, {}, untied, nullptr);
    script.outline.valid_tokens = valid;
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
      const call_time took = detail::both_clocks(watch_.stop());
      if (thrown || !ran) {
        running_ += ", " + name_of(i, shape_.chunks);
        calls.discard_all();
        abort_step(compute_);
        if (thrown) std::rethrow_exception(thrown);
        error why = std::move(ran).error();
        why.detail = running_ + ": " + why.detail;
        return why;
      }
      if (memory) memory->after(i);
      const std::span<const slice> pack = p.replicas[0].partition.of(i.pass())[i.pack.value];
      // Without its weight gradients it is no backward.
      if (i.pass() == pass::backward && !i.is_weights() && t.apart) continue;
      if (took.clock > seconds{}) {
        const observation made{i.pass(),       static_cast<int>(i.chunk) * shape_.stages + stage(),
                               i.is_weights(), {pack.begin(), pack.end()},
                               took.clock,     took.processor};
        own.add(made), all.add(made);
      }
    }
    return success();
  }

  /// The largest over ranks of the median of several runs, which end when a tenth of the budget is over.
  template <class World, class Run>
  result<seconds> slowest(World& world, std::size_t times, bool takes_part, const Run& once) {
    std::vector<double> took;
    const auto begin = clock::now();
    for (std::size_t n = 0; n < times; ++n) {
      const result<seconds> now = latest(world, seconds{std::chrono::duration<double>(clock::now() - begin).count()});
      if (!now) return now.error();
      if (n > 0 && now.value() > budget * 0.1) break;
      if (!takes_part) continue;
      watch_.start();
      const result<void> ran = once();
      took.push_back(detail::both_clocks(watch_.stop()).clock.value);
      if (!ran) return ran.error();
    }
    return latest(world, {took.empty() ? 0.0 : slimpack::detail::median(took)});
  }

  template <class World>
  result<void> time_reduction(World& world, stage_profile& made) {
    std::vector<int> copies;
    for (int rank = stage(); rank < transport_.size(); rank += shape_.stages) copies.push_back(rank);
    if (copies.size() < 2) return success();
    running_ = "the sum of gradients";
    const auto ends = [&](error e) {
      stop(world, e.detail);
      return e;
    };
    const result<seconds> took = slowest(world, 5, true, [&]() -> result<void> {
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
  template <class World>
  result<void> time_messages(World& world, stage_profile& made) {
    if (shape_.stages < 2) return success();
    detail::made_up<Compute> message(compute_, longest_);
    const auto time = [&](tokens size) {
      return slowest(world, 11, stage() < 2, [&]() -> result<void> {
        const int other = transport_.rank() + (stage() == 0 ? 1 : -1);
        for (const bool sends : {stage() == 0, stage() != 0}) {
          auto moving = sends ? transport_.send(other, 1, message.bytes(size))
                              : transport_.receive(other, 1, message.bytes(size));
          const result<void> moved = moving ? transport_.wait(moving.value()) : result<void>(std::move(moving).error());
          if (moved) continue;
          stop(world, moved.error().detail);  // the other side may use the message until then
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
  std::string running_;                   // what is timed
  bool own_stopped_{}, world_stopped_{};  // aborted since measure began
};

}  // namespace slimpack::profiling

#endif
