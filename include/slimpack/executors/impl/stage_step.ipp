#ifndef SLIMPACK_EXECUTORS_IMPL_STAGE_STEP_IPP
#define SLIMPACK_EXECUTORS_IMPL_STAGE_STEP_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/detail/thrown.hpp>
#include <slimpack/executors/call_time.hpp>
#include <slimpack/executors/detail/shared/joined_rows.hpp>
#include <slimpack/executors/detail/stage_step.hpp>
#include <slimpack/executors/job/step_watch.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

namespace slimpack::detail {

/// Bytes that a compute tells, which may be no number.
[[nodiscard]] inline std::string amount_text(double bytes) {
  if (std::abs(bytes) < 9e15 && bytes == std::floor(bytes)) return std::to_string(static_cast<std::int64_t>(bytes));
  char text[32];
  std::snprintf(text, sizeof text, "%g", bytes);
  return text;
}

SLIMPACK_DECL stage_step::stage_step(const plan& p, any_transport& transport, const settings& with)
    : plan_(&p), transport_(&transport), with_(with) {}
SLIMPACK_DECL stage_step::stage_step(const rank_plan& p, any_transport& transport, const settings& with)
    : stage_step(p.part, transport, with) {
  part_ = &p;
}
SLIMPACK_DECL stage_step::~stage_step() = default;

SLIMPACK_DECL result<step_report> stage_step::attempt() {
  result<step_report> step = error{};
  const auto run_all = [&] {
    if (result<void> done = all(); done)
      step = std::move(report_);
    else
      step = std::move(done).error();
  };
  if (std::optional<std::string> thrown = guarded(run_all)) return named({errc::compute_failed, *std::move(thrown)});
  return step;
}

SLIMPACK_DECL error stage_step::stop(error why) {
  const error told = end(std::move(why));
  if (!is_cause_) thrown_ = nullptr;
  mail_.reset();
  guarded([&] { discard_all(); });
  guarded([&] { abort_step(); });
  if (with_.watch) with_.watch->close();
  return told;
}

SLIMPACK_DECL error stage_step::end(error why) {
  is_cause_ = !ended_;
  if (ended_) return *ended_;
  if (why.code != errc::aborted && why.code != errc::disagreement)  // that all ranks see alike
    why.detail = place() + ": " + one_line(why.detail);
  ended_ = with_.watch ? with_.watch->fail(why) : why;
  is_cause_ = ended_->detail == why.detail;
  transport_->abort(ended_->detail);
  return *ended_;
}

SLIMPACK_DECL result<void> stage_step::all() {
  if (result<void> ready = prepare(); !ready) return ready;
  if (result<void> agreed = greet(); !agreed) return agreed;
  if (result<void> begun = begin_on_all(); !begun) return begun;
  doing_ = "begin_step";
  if (result<void> begun = watched(with_.watch, [&] { return begin(script_->outline); }); !begun) return begun;
  if (result<void> ran = run_program(); !ran) return ran;
  if (result<void> summed = with_.forward_only ? transport_->finish() : reduce_all(); !summed) return summed;
  doing_ = "the end of the step";
  if (result<void> ended = part_company(); !ended) return ended;
  return with_.watch ? with_.watch->end() : success();
}

SLIMPACK_DECL result<void> stage_step::prepare() {
  doing_ = "reading the plan";
  if (with_.checksums && transport_->moves_device_memory())
    return error{
        errc::invalid_input,
        "packflow::checksums are computed by the host, which may not read the messages of this transport, as they lie "
        "in memory of a device: leave them off"};
  const stage_abilities has = abilities();
  result<stage_script> read = fitted_script(*plan_, part_, has, with_.forward_only);
  if (!read) return std::move(read).error();
  script_ = std::move(read).value();
  if (result<void> opened = open(transport_->moves_device_memory()); !opened) return opened;
  for (int replica = 0; replica < plan_->shape.replicas; ++replica)
    copies_.push_back(replica * script_->on.stages + script_->stage);
  sums_.emplace(*transport_, copies_, sums_channels,
                script_->sums_have_place(has.splits_weight_gradients, has_merges()));
  final_ = script_->gradients_final();
  return success();
}

SLIMPACK_DECL result<void> stage_step::greet() {
  doing_ = "agreeing on the plan";
  const stage_abilities has = abilities();
  const result<tokens> valid = counted_tokens();
  if (!valid) return valid.error();
  const greeting own{part_ ? part_->division : 0,
                     part_ ? part_->group.front() : 0,
                     hash_of(*plan_),
                     plan_->shape.stages,
                     plan_->shape.replicas,
                     has.format.width,
                     static_cast<std::int64_t>(has.format.element),
                     valid.value().value,
                     with_.step,
                     static_cast<std::int64_t>(has.cuts),
                     sizes_of_rows(),
                     sizes_of_ties(),
                     has.vocabulary,
                     script_->transfers.hash,
                     script_->transfers.together,
                     with_.forward_only,
                     joins(),
                     joins() ? fingerprint(node_of(), transport_->size()) : 0,
                     with_.checksums};
  if (result<void> gathered = gather(own, greetings_); !gathered) return gathered;
  const auto stages = static_cast<std::size_t>(script_->on.stages);
  const auto ranks = [this](std::size_t a, std::size_t b) {
    return "ranks " + number_of(static_cast<int>(a)) + " and " + number_of(static_cast<int>(b));
  };
  if (std::optional<error> differs = difference(greetings_, stages, ranks)) return *std::move(differs);
  const tokens batch = batch_tokens_of(greetings_, stages);
  script_->outline.valid_tokens = batch;
  script_->outline.sequences = script_->sequences;
  script_->outline.backward = script_->backward.pieces;
  script_->outline.forward_calls = calls(pass::forward);
  script_->outline.backward_calls = calls(pass::backward);
  for (piece_list* list : {&script_->forward, &script_->backward})
    for (piece& one : list->pieces)
      one.loss_weight = script_->outline.idle || batch == tokens{} ? 0 : valid_tokens_in(one) / batch;
  return success();
}

SLIMPACK_DECL result<tokens> stage_step::counted_tokens() {
  tokens sum{};
  if (script_->outline.idle) return sum;
  for (const piece& one : script_->forward.pieces) {
    const tokens valid = valid_tokens_in(one);
    if (!script_->paths.has_targets() && (valid < tokens{} || valid > one.slice.length))
      return error{errc::compute_failed,
                   "valid_tokens counts " + std::to_string(valid.value) + " of the " +
                       std::to_string(one.slice.length.value) + " tokens [" + std::to_string(one.slice.begin.value) +
                       ", " + std::to_string(one.slice.end().value) + ") of sequence " +
                       std::to_string(one.slice.sequence.value) + ": it counts those that have a loss"};
    sum += valid;
    counted_.push_back(valid);
  }
  return sum;
}

SLIMPACK_DECL result<void> stage_step::begin_on_all() {
  if (!with_.watch) return success();
  const greeting& own = greetings_[static_cast<std::size_t>(transport_->rank())];
  return with_.watch->begin({part_ ? own.division : own.hash, own.step, own.forward_only},
                            {[this] { return place(); }, interrupt(), *with_.sink}, transport_->size());
}

SLIMPACK_DECL result<void> stage_step::run_program() {
  const stage_abilities has = abilities();
  messages& mail = mail_.emplace(*this, *transport_, *script_, formats_of(has.format, has.vocabulary));
  // The host has memory when it asks for it; of a device, it may have to wait.
  if (transport_->keeps_plan_order() || transport_->moves_device_memory())
    if (result<void> made = expect_rows(); !made) return made;
  transport_->expect_points(2 * script_->code.size() + 3);
  if (result<void> began = transport_->point(); !began) return began;
  call_watch clocks(has.waits_in_calls);
  for (std::size_t at = 0; at < script_->code.size(); ++at) {
    running_ = &script_->code[at];
    result<call_messages> with = mail.open(at);
    if (!with) return std::move(with).error();
    if (result<void> started = transport_->point(); !started) return started;
    clocks.start();
    if (result<void> done = run(at, with.value()); !done) return done;
    processor_.push_back(transport_->moves_device_memory() ? seconds{} : clocks.stop().processor);
    if (result<void> sent = mail.finish(at); !sent) return sent;
    if (result<void> ended = transport_->point(); !ended) return ended;
    if (plan_->reduction && !with_.forward_only)
      if (result<void> begun = reduce_parts(at + 1); !begun) return begun;
    if (result<void> gone_on = sums_->progress(); !gone_on) return gone_on;
  }
  running_ = nullptr;
  doing_ = "the last sends";
  if (result<void> sent = complete_exchange(); !sent) return sent;
  if (result<void> sent = mail.complete(); !sent) return sent;
  if (result<void> timed = report_times(); !timed) return timed;
  report_exchange(report_);
  report_.peak_tokens = script_->outline.tokens_in_flight;
  doing_ = "the end of its program";
  if (const bytes left = held(); left.value != 0) {
    const std::string when =
        with_.forward_only ? " bytes after the last sequence was discarded" : " bytes after the last backward";
    if (!(left.value > 0))
      return error{errc::compute_failed,
                   "the compute says that it holds " + amount_text(left.value) + when + ": held() is 0 then, or more"};
    return error{errc::state_left, "the compute still holds " + amount_text(left.value) + when};
  }
  return success();
}

SLIMPACK_DECL result<void> stage_step::report_times() {
  if (result<void> ended = transport_->point(); !ended) return ended;
  if (result<void> known = transport_->finish(); !known) return known;
  if (sums_->are_issued()) {
    if (result<void> ended = transport_->point(); !ended) return ended;
    if (result<void> known = transport_->finish(); !known) return known;
  }
  const result<std::vector<seconds>> times = transport_->times();
  if (!times) return times.error();
  report_.timeline.reserve(script_->code.size());
  for (std::size_t at = 0; at < script_->code.size(); ++at)
    report_.timeline.push_back(
        {script_->code[at], times.value()[1 + 2 * at], times.value()[2 + 2 * at], processor_[at]});
  report_.elapsed = times.value()[1 + 2 * script_->code.size()];
  report_.reduce = times.value().back() - report_.elapsed;
  return success();
}

SLIMPACK_DECL result<void> stage_step::reduce_all() {
  doing_ = "the gradient reduction";
  const auto reducing = std::chrono::steady_clock::now();
  if (result<void> reduced = watched(with_.watch, [&] { return reduce(); }); !reduced) return reduced;
  if (result<void> begun = reduce_parts(script_->code.size()); !begun) return begun;
  if (result<void> summed = sums_->complete(); !summed) return summed;
  if (ended_) return *ended_;  // a sum that failed, whatever the compute made of it
  if (result<void> finished = transport_->finish(); !finished) return finished;
  report_.reduce += seconds{std::chrono::duration<double>(std::chrono::steady_clock::now() - reducing).count()};
  return success();
}

SLIMPACK_DECL result<void> stage_step::reduce_parts(std::size_t ran) {
  for (; reduced_ < final_.size() && final_[reduced_].after < ran; ++reduced_) {
    if (result<void> begun = watched(with_.watch, [&] { return reduce_part(final_[reduced_].chunk); }); !begun)
      return begun;
    if (ended_) return *ended_;  // whatever the compute made of it
  }
  return success();
}

SLIMPACK_DECL result<void> stage_step::take_log_probabilities() {
  edge_values& given = report_.log_probabilities = edge_values(*plan_);
  if (result<void> asked = watched(with_.watch, [&] { return log_probabilities(given); }); !asked) return asked;
  if (script_->outline.idle) return report_.log_probabilities = edge_values(*plan_), success();
  if (result<void> once = given.close(); !once) return once;
  const auto wrong = [](const std::string& why) {
    return error{errc::compute_failed, "log_probabilities gives " + why + " (executors/hooks.hpp)"};
  };
  const bool is_last = script_->stage + 1 == script_->on.stages;
  if (!is_last && !given.all().empty())
    return wrong(std::to_string(given.all().size()) + " edges on a stage that is not the last");
  const bool has_sums_alone = script_->on.vocabulary == vocabulary::spread && !plan_->parents.empty();
  if (has_sums_alone && given.all().empty()) return report_.log_probabilities = {}, success();
  std::size_t known = 0;
  for (std::size_t at = 0; is_last && at < counted_.size(); ++at) {
    const slice& s = script_->forward.pieces[at].slice;
    for (const target_run& run : script_->forward.pieces[at].edges) {
      const tokens first = run.begin - tokens{1};
      const std::size_t own = given.from(run.sequence, first, first + run.length).size();
      if (own != static_cast<std::size_t>(run.length.value))
        return wrong(std::to_string(own) + " edges to the tokens [" + std::to_string(run.begin.value) + ", " +
                     std::to_string((run.begin + run.length).value) + ") of sequence " +
                     std::to_string(run.sequence.value) + ", all of which are targets: one edge to each");
      known += own;
    }
    if (script_->paths.has_targets()) continue;
    const std::size_t own = given.from(s.sequence, s.begin, s.end()).size();
    if (own != static_cast<std::size_t>(counted_[at].value))
      return wrong(std::to_string(own) + " edges from the tokens [" + std::to_string(s.begin.value) + ", " +
                   std::to_string(s.end().value) + ") of sequence " + std::to_string(s.sequence.value) +
                   ", of which valid_tokens counts " + std::to_string(counted_[at].value) + ": one edge for each");
    known += own;
  }
  if (known == given.all().size()) return success();
  return wrong(std::to_string(given.all().size() - known) + " edges from tokens that this rank has not run");
}

SLIMPACK_DECL result<void> stage_step::part_company() {
  if (offers_log_probabilities())
    if (result<void> taken = take_log_probabilities(); !taken) return taken;
  const farewell own{loss(), report_.elapsed.value, report_.reduce.value};
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
result<void> stage_step::gather(const T& own, std::vector<T>& of_all) {
  of_all.resize(static_cast<std::size_t>(transport_->size()));
  return transport_->all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(of_all)));
}

template <class Call>
std::optional<std::string> stage_step::guarded(const Call& call) {
#ifdef __cpp_exceptions
  try {
    call();
  } catch (...) {
    if (!thrown_) thrown_ = std::current_exception();
    try {
      throw;
    } catch (const std::exception& e) {
      return one_line(e.what());
    } catch (...) {
      return "an exception that is no std::exception";
    }
  }
#else
  call();
#endif
  return std::nullopt;
}

SLIMPACK_DECL std::string stage_step::place() const {
  const int rank = transport_->rank();
  const int stages = std::max(plan_->shape.stages, 1);
  std::string where = "rank " + number_of(rank) + " (replica " + std::to_string(rank / stages) + ", stage " +
                      std::to_string(rank % stages);
  if (running_ && running_->is_of_part() && plan_->shape.chunks > 1)
    where += ", chunk " + std::to_string(running_->chunk);
  where += ')';
  return where + (running_ ? ", " + name_of(*running_, plan_->shape.chunks) : std::string(", ") + doing_);
}

SLIMPACK_DECL std::string stage_step::number_of(int rank) const { return std::to_string(transport_->number_of(rank)); }

}  // namespace slimpack::detail

#endif
