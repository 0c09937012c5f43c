#ifndef SLIMPACK_EXECUTORS_DETAIL_STAGE_RUN_HPP
#define SLIMPACK_EXECUTORS_DETAIL_STAGE_RUN_HPP

#include <slimpack/concepts.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/executors/detail/greeting.hpp>
#include <slimpack/executors/detail/lending/loan_exchange.hpp>
#include <slimpack/executors/detail/lending/no_loans.hpp>
#include <slimpack/executors/detail/messages.hpp>
#include <slimpack/executors/detail/piece_calls.hpp>
#include <slimpack/executors/detail/running_sums.hpp>
#include <slimpack/executors/detail/script/fitted_script.hpp>
#include <slimpack/executors/detail/shared/no_exchange.hpp>
#include <slimpack/executors/detail/shared/row_exchange.hpp>
#include <slimpack/executors/detail/shared/row_memory.hpp>
#include <slimpack/executors/detail/shared/row_rehearsal.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/executors/gradient_sums.hpp>
#include <slimpack/executors/hooks.hpp>
#include <slimpack/executors/job/detail/watched_call.hpp>
#include <slimpack/executors/job/step_watch.hpp>
#include <slimpack/executors/replica_group.hpp>
#include <slimpack/transports/detail/program_clock.hpp>
#include <slimpack/transports/hooks.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// What each rank tells all others after the last instruction.
struct farewell {
  double loss{};
  double elapsed{};
  double reduce{};
};

/// One step of one stage; see executors::packflow for what it does in which order.
template <class Compute, class Transport>
class stage_run {
 public:
  /// What packflow is told.
  struct settings {
    std::int64_t step{};                                   // as the trainer counts them
    const std::function<int(int)>* trainer_rank{};         // its number of a rank of the transport, for messages; empty: the same
    const std::function<void(std::string_view)>* sink{};
    executors::step_watch* watch{};                        // of all ranks of the job; may be null
    bool forward_only{};                                   // it evaluates, which runs no backward and reduces nothing
  };

  stage_run(const plan& p, Compute& compute, Transport& transport, const settings& with)
      : plan_(&p), compute_(&compute), transport_(&transport), with_(with) {}
  stage_run(const rank_plan& p, Compute& compute, Transport& transport, const settings& with)
      : stage_run(p.part, compute, transport, with) {
    part_ = &p;
  }

  /// The step. What the compute throws is kept, and its text is the error.
  result<step_report> attempt() {
    result<step_report> step = error{};
    if (std::optional<std::string> thrown = guarded([&] { step = all(); })) {
      error why{errc::compute_failed, *std::move(thrown)};
      return pieces_ ? pieces_->named(std::move(why)) : why;
    }
    return step;
  }

  /// Ends a step that failed here or elsewhere: tells the others, gives every state back. Returns the error to report.
  error stop(error why) {
    const error told = end(std::move(why));
    mail_.reset();
    exchange_.reset();
    loans_.reset();
    if (pieces_) guarded([&] { pieces_->discard_all(); });
    guarded([&] { slimpack::abort_step(*compute_); });
    if (with_.watch) with_.watch->close();
    return told;
  }

  /// Throws on what the compute threw first, if it did.
  void rethrow() const {
#ifdef __cpp_exceptions
    if (thrown_) std::rethrow_exception(thrown_);
#endif
  }

 private:
  using clock = std::chrono::steady_clock;
  using exchange_type = std::conditional_t<shares_rows<Compute>, row_exchange<Transport>, no_exchange>;
  using loans_type = std::conditional_t<lends_attention<Compute>, loan_exchange<Transport>, no_loans>;
  static seconds since(clock::time_point begin) { return {std::chrono::duration<double>(clock::now() - begin).count()}; }

  result<step_report> all() {
    if (result<void> ready = prepare(); !ready) return std::move(ready).error();
    if (result<void> agreed = greet(); !agreed) return std::move(agreed).error();
    if (result<void> begun = begin_on_all(); !begun) return std::move(begun).error();
    doing_ = "begin_step";
    if (result<void> begun = watched(with_.watch, [&] { return begin_step(*compute_, script_->outline); }); !begun) return std::move(begun).error();
    if (result<void> ran = run(); !ran) return std::move(ran).error();
    if (result<void> summed = with_.forward_only ? finish(*transport_) : reduce_all(); !summed) return std::move(summed).error();
    doing_ = "the end of the step";
    if (result<void> ended = part_company(); !ended) return std::move(ended).error();
    if (with_.watch)
      if (result<void> ended = with_.watch->end(); !ended) return std::move(ended).error();
    return std::move(report_);
  }

  /// The reduction of gradients, as far as it has not run beside the program.
  result<void> reduce_all() {
    doing_ = "the gradient reduction";
    const auto reducing = clock::now();
    executors::replica_group<Transport> group{*transport_, copies_, [this](error e) { return end(std::move(e)); }};
    if (result<void> reduced = watched(with_.watch, [&] { return slimpack::reduce(*compute_, group); }); !reduced) return reduced;
    if (result<void> begun = reduce_parts(script_->code.size()); !begun) return begun;
    if (result<void> summed = sums_->complete(); !summed) return summed;
    if (ended_) return *ended_;  // a sum that failed, whatever the compute made of it
    if (result<void> ended = finish(*transport_); !ended) return ended;
    report_.reduce += since(reducing);
    return success();
  }

  /// Aborts, once, with a line that says where; from then on no message uses any memory of this rank.
  error end(error why) {
    if (ended_) return *ended_;
    if (why.code != errc::aborted && why.code != errc::disagreement)  // that all ranks see alike
      why.detail = place() + ": " + why.detail;
    ended_ = with_.watch ? with_.watch->fail(std::move(why)) : std::move(why);
    transport_->abort(ended_->detail);
    return *ended_;
  }

  /// Which rank this is, and what it runs.
  [[nodiscard]] std::string place() const {
    const int rank = transport_->rank();
    const int stages = std::max(plan_->shape.stages, 1);
    std::string where = "rank " + number_of(rank) + " (replica " + std::to_string(rank / stages) + ", stage " +
                        std::to_string(rank % stages);
    if (running_ && running_->end == model_end::none && plan_->shape.chunks > 1) where += ", chunk " + std::to_string(running_->chunk);
    where += ')';
    return where + (running_ ? ", " + name_of(*running_, plan_->shape.chunks) : std::string(", ") + doing_);
  }

  /// Ranks of other transports of the job begin the same step.
  result<void> begin_on_all() {
    if (!with_.watch) return success();
    const greeting& own = greetings_[static_cast<std::size_t>(transport_->rank())];
    std::function<void()> interrupt;
    if constexpr (offers_interrupt<Compute>()) interrupt = [this] { compute_->interrupt(); };
    return with_.watch->begin({part_ ? own.division : own.hash, own.step, own.forward_only},
                              {[this] { return place(); }, std::move(interrupt), *with_.sink}, transport_->size());
  }

  /// A rank of the transport as the trainer numbers it.
  [[nodiscard]] std::string number_of(int rank) const {
    return std::to_string(*with_.trainer_rank ? (*with_.trainer_rank)(rank) : rank);
  }
  [[nodiscard]] std::string numbers_of(std::size_t a, std::size_t b) const {
    return "ranks " + number_of(static_cast<int>(a)) + " and " + number_of(static_cast<int>(b));
  }

  /// Makes a call. Where it throws: keeps what, if it is the first, and gives its text.
  template <class Call>
  std::optional<std::string> guarded(const Call& call) {
#ifdef __cpp_exceptions
    try {
      call();
    } catch (...) {
      if (!thrown_) thrown_ = std::current_exception();
      try {
        throw;
      } catch (const std::exception& e) {
        return e.what();
      } catch (...) {
        return "an exception that is no std::exception";
      }
    }
#else
    call();
#endif
    return std::nullopt;
  }

  result<void> prepare() {
    doing_ = "reading the plan";
    const stage_abilities has{transport_->rank(), transport_->size(), chunks_of(*compute_), compute_->format(),
                              vocabulary_format_of(*compute_), computes_vocabulary<Compute>, splits_weight_gradients<Compute>,
                              cuts_of<Compute>(), exchanges_of<Compute>(), lends_attention<Compute>,
                              moves_device_memory<Transport>() || keeps_plan_order<Transport>()};
    result<stage_script> script = fitted_script(*plan_, part_, has, with_.forward_only);
    if (!script) return std::move(script).error();
    script_ = std::move(script).value();
    if (moves_device_memory<Transport>())
      if (result<void> works = works_on_device_rows<Compute>(script_->shared.all()); !works) return works;
    if constexpr (shares_rows<Compute>)
      exchange_.emplace(*transport_, row_memory_.emplace(*compute_), script_->stage, script_->on.stages, script_->row_channel());
    else
      exchange_.emplace();
    if constexpr (lends_attention<Compute>)
      loans_.emplace(*transport_, script_->replica * script_->on.stages, script_->loan_channel());
    else
      loans_.emplace();
    pieces_.emplace(*compute_, *script_, *exchange_, *loans_, with_.watch);
    copies_ = copies();
    sums_.emplace(*transport_, copies_, script_->sums_channels(), script_->sums_have_place(splits_weight_gradients<Compute>, !plan_->merges.empty()));
    final_ = script_->gradients_final();
    return success();
  }

  /// Ranks must hold one plan, or parts of one division and the same part within a group, and one message format; then all
  /// know the batch's valid tokens.
  result<void> greet() {
    doing_ = "agreeing on the plan";
    const message_format format = compute_->format();
    std::int64_t valid = 0;
    if (!script_->outline.idle)
      for (const piece& one : script_->forward.pieces) valid += valid_tokens_of(*compute_, one.slice).value;
    const greeting own{part_ ? part_->division : 0, part_ ? part_->group.front() : 0, hash_of(*plan_), plan_->shape.stages, plan_->shape.replicas, format.width,
                       static_cast<std::int64_t>(format.element), valid, with_.step,
                       static_cast<std::int64_t>(cuts_of<Compute>()), sizes_of_rows(),
                       vocabulary_format_of(*compute_), script_->transfers.hash, script_->transfers.together, with_.forward_only};
    if (result<void> gathered = gather(own, greetings_); !gathered) return gathered;
    const auto stages = static_cast<std::size_t>(script_->on.stages);
    if (std::optional<error> differs = difference(greetings_, stages, [this](std::size_t a, std::size_t b) { return numbers_of(a, b); }))
      return *std::move(differs);
    std::int64_t batch = 0;
    for (std::size_t last = stages - 1; last < greetings_.size(); last += stages) batch += greetings_[last].valid_tokens;
    script_->outline.valid_tokens = {batch};
    script_->outline.sequences = script_->sequences;
    script_->outline.forward_calls = pieces_->calls(pass::forward);
    script_->outline.backward_calls = pieces_->calls(pass::backward);
    for (piece_list* list : {&script_->forward, &script_->backward})
      for (piece& one : list->pieces)
        one.loss_weight = script_->outline.idle || batch == 0 ? 0 : valid_tokens_of(*compute_, one.slice) / tokens{batch};
    return success();
  }

  /// Of all chunks; nothing where the plan shares no sequence. Of parts, some may share and others not.
  [[nodiscard]] row_sizes sizes_of_rows() const {
    row_sizes sizes;
    if constexpr (shares_rows<Compute>) {
      for (std::uint32_t chunk = 0; (part_ || !plan_->merges.empty()) && chunk < static_cast<std::uint32_t>(plan_->shape.chunks); ++chunk) {
        const row_format format = compute_->rows(chunk);
        sizes.layers += format.layers;
        for (const pass p : both_passes) {
          const auto bytes = [](const message_format& f) { return static_cast<std::int64_t>(f.bytes_per_token()); };
          sizes.bytes[p] = {bytes(p == pass::forward ? format.keys_values : format.gradients), bytes(format.queries[p].rows),
                            bytes(format.queries[p].sums), bytes(format.ring[p].rows), bytes(format.ring[p].sums)};
        }
      }
    }
    return sizes;
  }

  result<void> run() {
    auto& mail = mail_.emplace(owner_.emplace(*compute_, *exchange_, *script_), *transport_, *script_, compute_->format(),
                               vocabulary_format_of(*compute_));
    // The host has memory when it asks for it; of a device, it may have to wait.
    if constexpr (keeps_plan_order<Transport>() || moves_device_memory<Transport>())
      if (result<void> made = expect_rows(*compute_, *exchange_, *script_); !made) return made;
    program_clock<Transport> when(*transport_);
    when.reserve(2 * script_->code.size() + 3);
    if (result<void> began = when.point(); !began) return began;
    for (std::size_t at = 0; at < script_->code.size(); ++at) {
      const instruction& i = script_->code[at];
      running_ = &i;
      result<call_messages> with = mail.open(at);
      if (!with) return std::move(with).error();
      if (result<void> started = when.point(); !started) return started;
      if (result<void> done = pieces_->run(at, with.value()); !done) return done;
      if (result<void> sent = mail.finish(at); !sent) return sent;
      if (result<void> ended = when.point(); !ended) return ended;
      if (plan_->reduction && !with_.forward_only)
        if (result<void> begun = reduce_parts(at + 1); !begun) return begun;
      if (result<void> gone_on = sums_->progress(); !gone_on) return gone_on;
    }
    running_ = nullptr;
    doing_ = "the last sends";
    if (result<void> sent = exchange_->complete(); !sent) return sent;
    if (result<void> sent = loans_->complete(); !sent) return sent;
    if (result<void> sent = mail.complete(); !sent) return sent;
    if (result<void> timed = report_times(when); !timed) return timed;
    report_.exchanged = {static_cast<double>(exchange_->bytes_sent())};
    report_.lent = {static_cast<double>(loans_->bytes_sent())};
    report_.loan_messages = static_cast<std::int64_t>(loans_->messages_sent());
    report_.peak_tokens = script_->outline.tokens_in_flight;
    doing_ = "the end of its program";
    if (const bytes held = held_by(*compute_); held.value != 0)
      return error{errc::state_left, "the compute still holds " + std::to_string(static_cast<std::int64_t>(held.value)) +
                                         (with_.forward_only ? " bytes after the last sequence was discarded" : " bytes after the last backward")};
    return success();
  }

  /// The timeline, how long the program took, and how much longer the sums beside it.
  result<void> report_times(program_clock<Transport>& when) {
    if (result<void> ended = when.point(); !ended) return ended;
    if (result<void> known = finish(*transport_); !known) return known;
    if (sums_->are_issued()) {
      if (result<void> ended = when.point(); !ended) return ended;
      if (result<void> known = finish(*transport_); !known) return known;
    }
    const result<std::vector<seconds>> times = when.times();
    if (!times) return times.error();
    report_.timeline.reserve(script_->code.size());
    for (std::size_t at = 0; at < script_->code.size(); ++at)
      report_.timeline.push_back({script_->code[at], times.value()[1 + 2 * at], times.value()[2 + 2 * at]});
    report_.elapsed = times.value()[1 + 2 * script_->code.size()];
    report_.reduce = times.value().back() - report_.elapsed;
    return success();
  }

  /// Starts the sums of chunks whose gradients are final when so many instructions have run.
  result<void> reduce_parts(std::size_t ran) {
    executors::gradient_sums<Transport> sums{*sums_, copies_, [this](error e) { return end(std::move(e)); }};
    for (; reduced_ < final_.size() && final_[reduced_].after < ran; ++reduced_) {
      if (result<void> begun = watched(with_.watch, [&] { return slimpack::reduce_part(*compute_, final_[reduced_].chunk, sums); }); !begun) return begun;
      if (ended_) return *ended_;  // whatever the compute made of it
    }
    return success();
  }

  /// No rank returns a report before all have got here.
  result<void> part_company() {
    const farewell own{loss_of(*compute_), report_.elapsed.value, report_.reduce.value};
    if (result<void> gathered = gather(own, farewells_); !gathered) return gathered;
    for (const farewell& one : farewells_) {
      report_.loss_sum += one.loss;
      report_.step = std::max(report_.step, seconds{one.elapsed + one.reduce});
    }
    report_.valid_tokens = script_->outline.valid_tokens;
    for (const tokens length : plan_->lengths) report_.processed += length;
    return success();
  }

  template <class T>
  result<void> gather(const T& own, std::vector<T>& all) {
    all.resize(static_cast<std::size_t>(transport_->size()));
    return all_gather(*transport_, std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  }

  /// The ranks that hold the same stage.
  [[nodiscard]] std::vector<int> copies() const {
    std::vector<int> ranks;
    for (int replica = 0; replica < plan_->shape.replicas; ++replica) ranks.push_back(replica * script_->on.stages + script_->stage);
    return ranks;
  }

  const plan* plan_;
  const rank_plan* part_{};  // that the plan is, where the rank planned its own group
  Compute* compute_;
  Transport* transport_;
  std::optional<stage_script> script_;
  std::optional<piece_calls<Compute, exchange_type, loans_type>> pieces_;
  // What messages read or write lives here, until the transport has finished or aborted.
  std::optional<messages_of<Compute, exchange_type>> owner_;
  std::optional<messages<tensor_of<Compute>, Transport>> mail_;
  std::optional<row_memory_of<Compute, moves_device_memory<Transport>()>> row_memory_;
  std::optional<exchange_type> exchange_;
  std::optional<loans_type> loans_;
  std::optional<running_sums<Transport>> sums_;
  std::vector<int> copies_;          // ranks that hold the same stage
  std::vector<stage_script::final_gradients> final_;
  std::size_t reduced_{};            // of these, whose sums have begun
  std::vector<greeting> greetings_;
  std::vector<farewell> farewells_;
  step_report report_;
  settings with_;
  const char* doing_{"starting"};
  std::optional<error> ended_;
#ifdef __cpp_exceptions
  std::exception_ptr thrown_;
#endif
  const instruction* running_{};
};

}  // namespace slimpack::detail

#endif
