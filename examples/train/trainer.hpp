#ifndef SLIMPACK_EXAMPLES_TRAIN_TRAINER_HPP
#define SLIMPACK_EXAMPLES_TRAIN_TRAINER_HPP

#include "../plan/planners.hpp"
#include "../plan/rivals.hpp"
#include "corpus.hpp"
#include "ending.hpp"
#include "inputs.hpp"
#include "journal.hpp"
#include "measured_step.hpp"
#include "model/adamw.hpp"
#include "model/kept_states.hpp"
#include "model/model_stage.hpp"
#include "options.hpp"
#include "path_texts.hpp"
#include "prices.hpp"
#include "rate_schedule.hpp"
#include "sample_tree.hpp"

#include <slimpack/core/plan_hash.hpp>
#include <slimpack/detail/masked.hpp>
#include <slimpack/executors/packflow.hpp>
#include <slimpack/io/file.hpp>
#include <slimpack/io/plan_json.hpp>
#include <slimpack/io/stage_profile.hpp>
#include <slimpack/io/timeline.hpp>
#include <slimpack/io/trace.hpp>
#include <slimpack/profiling/clocks.hpp>
#include <slimpack/profiling/driver.hpp>
#include <slimpack/profiling/fit.hpp>
#include <slimpack/profiling/observation.hpp>
#include <slimpack/profiling/pack_sums.hpp>
#include <slimpack/transports/gathered.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace train {

/// One rank of a training: plans each batch as all other ranks do, or its own part of it, runs its stage, and steps its
/// optimizer once all ranks have their gradients. Rank 0 tells of it and writes the files.
template <class T, class Transport>
class trainer {
 public:
  trainer(const options& o, const inputs& in, Transport& transport)
      : options_(o),
        inputs_(in),
        transport_(transport),
        batches_(in.texts, o.batch, o.seed),
        stage_(
            o.model, o.shape, transport.rank() % o.shape.stages,
            [this](slimpack::sequence_id s) { return texts_[s.value]; }, o.seed),
        optimizer_(stage_.weights(), {.rate = o.rate, .decay = o.decay}) {
    if (transport.rank() == 0) journal_.emplace(o, in, std::cout);
    planners_ = o.compare;
    planners_.push_back(o.planner);  // last, so that its gradients are those left
    for (int stage = 0; stage < o.shape.stages; ++stage) {
      rates_.push_back(model_stage<T>::rates(o.model, o.shape, stage));
      rows_.push_back(model_stage<T>::rows(o.model, o.shape, stage));
      loans_.push_back(model_stage<T>::loans(o.model, o.shape, stage));
    }
    states_ = kept_states::of<T>(o.model, o.shape);
  }
  trainer(const trainer&) = delete;  // its stage reads its batch

  [[nodiscard]] ending run() {
    const auto begin = clock::now();
    if (slimpack::result<void> known = price(); !known) return stop(known.error());
    for (int step = 0; step < options_.steps; ++step)
      if (ending e = one_step(step); e.status != 0) return e;
    if (journal_) journal_->summarize(since(begin));
    if (inputs_.held_out)
      if (ending e = evaluate(); e.status != 0) return e;
    return journal_ ? write_outputs() : ending{};
  }

 private:
  using clock = std::chrono::steady_clock;
  static slimpack::seconds since(clock::time_point begin) {
    return {std::chrono::duration<double>(clock::now() - begin).count()};
  }

  slimpack::result<void> price() {
    if (options_.quadratic) {
      cost_ = *options_.quadratic;
      return slimpack::success();
    }
    const auto begin = clock::now();
    if (inputs_.profile)
      profile_ = *inputs_.profile;
    else if (slimpack::result<void> measured = measure(); !measured)
      return measured;
    price_besides();
    slimpack::result<slimpack::costs::profiled> cost = profile_.cost(beside_);
    if (!cost) return std::move(cost).error();
    if (journal_) journal_->calibrated(cost.value(), profile_, since(begin), inputs_.profile.has_value());
    cost_ = std::move(cost).value();
    return slimpack::success();
  }

  /// Made-up documents run through this rank's own stage, whose gradients are set to zero before each step.
  [[nodiscard]] slimpack::result<void> measure() {
    const slimpack::tokens longest =
        std::max({inputs_.texts.longest(), inputs_.held_out ? inputs_.held_out->longest() : slimpack::tokens{},
                  inputs_.samples ? inputs_.samples->longest() : slimpack::tokens{}});
    std::vector<std::uint8_t> text(static_cast<std::size_t>(longest.value));
    for (std::size_t i = 0; i < text.size(); ++i)
      text[i] = static_cast<std::uint8_t>(i * 131 % static_cast<std::size_t>(options_.model.vocab));
    slimpack::profiling::driver drive{stage_, options_.shape, longest, transport_};
    drive.budget = options_.measure_for;
    drive.apart = options_.weights == slimpack::weight_gradients::apart;
    drive.prepare = [&](std::span<const slimpack::sequence> all) {
      texts_.clear();
      for (const slimpack::sequence& s : all)
        texts_.push_back(corpus::document(text).first(static_cast<std::size_t>(s.length.value)));
    };
    slimpack::result<slimpack::profiling::stage_profile> measured = drive.measure();
    if (!measured) return std::move(measured).error();
    profile_ = std::move(measured).value();
    if (journal_) journal_->timed(drive.seen);
    if (options_.shape.vocabulary == slimpack::vocabulary::spread) {
      texts_.assign(1, text);
      vocabulary_probe<T> words(options_.model, options_.shape, transport_.rank() % options_.shape.stages, stage_,
                                longest);
      slimpack::result<std::vector<slimpack::costs::vocabulary_rates>> rates = words.measure(profile_, transport_);
      if (!rates) return std::move(rates).error();
      beside_.vocabulary = std::move(rates).value();
    }
    stage_.weights().zero_gradients();
    if (!options_.profile || transport_.rank() != 0) return slimpack::success();
    return slimpack::io::write_file(
        *options_.profile, [&](std::ostream& out) { return slimpack::io::write_stage_profile(out, profile_); });
  }

  /// What is known without measuring.
  void price_besides() {
    beside_.memory = rates_;
    beside_.piece_bytes = states_.bytes;
    if (options_.reduction == slimpack::costs::reduction::overlapped && options_.shape.replicas > 1)
      beside_.buckets = buckets_of(options_.model, options_.shape, profile_.reduce);
  }

  /// Fits all that ran until now, on every rank the same, tells how far the cost model was off, and plans with it from
  /// then on.
  [[nodiscard]] slimpack::result<void> refit() {
    slimpack::result<std::vector<slimpack::profiling::observation>> all =
        slimpack::profiling::gather(transport_, std::span<const slimpack::profiling::observation>(observed_));
    if (!all) return std::move(all).error();
    const slimpack::profiling::clocks by = slimpack::profiling::choose_clocks(all.value());
    const slimpack::profiling::drift off =
        slimpack::profiling::drift_of(std::get<slimpack::costs::profiled>(cost_), all.value());
    slimpack::result<slimpack::profiling::stage_profile> made =
        slimpack::profiling::fit(all.value(), options_.shape.parts());
    if (!made) return std::move(made).error();
    made.value().message = profile_.message, made.value().message_token = profile_.message_token,
    made.value().reduce = profile_.reduce;
    if (made.value().weight_token.empty()) made.value().weight_token = profile_.weight_token;
    slimpack::result<slimpack::costs::profiled> cost = made.value().cost(beside_);
    if (!cost) return std::move(cost).error();
    profile_ = std::move(made).value();
    cost_ = std::move(cost).value();
    if (journal_) journal_->refitted(off, profile_.check, by);
    return slimpack::success();
  }

  [[nodiscard]] ending one_step(int step) {
    next_batch();
    plans_.clear();
    measured_.clear();
    std::vector<step_figures> figures;
    slimpack::seconds planning{};
    for (const std::string& planner : planners_) {
      const ending e = plans_its_own(planner)
                           ? run_planned(planner, plan_own(planner, lengths_by(planner)), step, figures, planning)
                           : run_planned(planner, plan_with(planner, lengths_by(planner)), step, figures, planning);
      if (e.status != 0) return e;
    }
    std::rotate(figures.begin(), figures.end() - 1, figures.end());
    // Of the whole batch, so that all ranks end here.
    if (!std::isfinite(figures.front().loss))
      return {1, "step " + std::to_string(step) + ": the loss is not a number; lower --learning-rate"};
    if (journal_) journal_->step(std::move(figures), planning);
    if (slimpack::result<void> applied = update(step); !applied) return ending::of_step(applied.error());
    if (step + 1 == options_.refit)
      if (slimpack::result<void> fitted = refit(); !fitted) return ending::of_step(fitted.error());
    return {};
  }

  /// Runs one planner's plan of the batch, or this rank's part of it. What was planned and measured is kept.
  template <class Plan>
  [[nodiscard]] ending run_planned(const std::string& planner, slimpack::result<Plan> made, int step,
                                   std::vector<step_figures>& figures, slimpack::seconds& planning) {
    if (!made) return unplanned(planner, made.error());
    slimpack::plan& p = slimpack::part_of(made.value());
    planning = p.planning_time;
    texts_ = path_texts(p, planner == flat_copies ? inputs_.samples->flat_of(batch_) : batch_);
    stage_.weights().zero_gradients();
    slimpack::result<slimpack::step_report> ran = executor(step).execute(made.value(), stage_, transport_);
    if (!ran) return ending::of_step(ran.error());
    const auto* const measured_prices = std::get_if<slimpack::costs::profiled>(&cost_);
    slimpack::result<std::vector<slimpack::profiling::pack_sum>> sums{std::vector<slimpack::profiling::pack_sum>{}};
    if (measured_prices) {
      slimpack::result<std::vector<slimpack::profiling::observation>> seen =
          slimpack::profiling::observations_of(p, transport_.rank(), ran.value());
      if (!seen) return stop(seen.error());
      sums = measured_step::gather_sums(*measured_prices, seen.value(), transport_);
      if (!sums) return ending::of_step(sums.error());
      if (step < options_.refit) observed_.insert(observed_.end(), seen.value().begin(), seen.value().end());
    }
    slimpack::result<measured_step> told =
        measured_step::gather(p, ran.value(), stage_.peak(), rates_, states_, rows_, loans_, transport_);
    if (!told) return ending::of_step(told.error());
    figures.push_back(told.value().figures(p));
    figures.back().sums = std::move(sums).value();
    if (measured_prices) figures.back().uncertainty = profile_.uncertainty(p);
    measured_.push_back(std::move(told).value());
    plans_.push_back(std::move(p));
    return {};
  }

  /// Why what `who` asked for has no plan, and what to give instead. Other ranks, whose plans may exist, are told.
  [[nodiscard]] ending unplanned(const std::string& who, const slimpack::error& e) {
    const bool is_full = e.code == slimpack::errc::out_of_memory;
    const std::string why =
        who + ": " + e.detail + (is_full ? "; raise --memory or leave it out, or lower --max-context" : "");
    transport_.abort("rank " + std::to_string(transport_.rank()) + ": " + why);
    return ending::of_input({e.code, why});
  }

  /// Tells the loss on the texts held out, all of them planned as one batch that runs forward alone.
  [[nodiscard]] ending evaluate() {
    texts_.clear();
    const corpus& held_out = *inputs_.held_out;
    for (std::size_t i = 0; i < held_out.size(); ++i) texts_.push_back(held_out[i]);
    cli::request asked = asked_of(cli::planner_names().front());
    asked.forward_only = true, asked.samples = nullptr;
    const slimpack::result<slimpack::plan> made =
        named(asked.planner, cli::plan_named(asked, lengths_of(texts_), cost_));
    if (!made) return unplanned("--evaluate", made.error());
    const slimpack::result<slimpack::step_report> ran =
        executor(options_.steps).evaluate(made.value(), stage_, transport_);
    if (!ran) return ending::of_step(ran.error());
    if (journal_) journal_->evaluated(made.value(), ran.value());
    return {};
  }

  /// Whether each rank plans the group of its replica; other planners plan all replicas on each.
  [[nodiscard]] bool plans_its_own(const std::string& planner) const {
    return options_.by_estimates && (planner == cli::planner_names().front() || planner == flat_copies);
  }

  [[nodiscard]] slimpack::executors::packflow executor(int step) const {
    slimpack::executors::packflow run{.step = step, .rows = options_.rows, .checksums = options_.checksums};
    if (options_.ranks_per_node > 0) run.node_of = [each = options_.ranks_per_node](int rank) { return rank / each; };
    return run;
  }

  [[nodiscard]] cli::request asked_of(const std::string& planner) const {
    return {.planner = planner == flat_copies ? cli::planner_names().front() : planner,
            .shape = options_.shape,
            .slices = options_.slices,
            .lending = options_.lending,
            .effort = options_.effort,
            .most_sharers = options_.sharers,
            .exchanges = options_.exchanges,
            .relays = options_.relays,
            .by_estimates = options_.by_estimates,
            .weights = options_.weights,
            .samples = forest_by(planner)};
  }

  [[nodiscard]] slimpack::result<slimpack::plan> plan_with(const std::string& planner,
                                                           std::span<const slimpack::tokens> lengths) const {
    const cli::request asked = asked_of(planner);
    return named(planner, cli::is_baseline(planner) ? cli::tuned(asked, lengths, cost_).made
                                                    : cli::plan_named(asked, lengths, cost_));
  }
  [[nodiscard]] slimpack::result<slimpack::rank_plan> plan_own(const std::string& planner,
                                                               std::span<const slimpack::tokens> lengths) const {
    const auto replica = static_cast<std::uint32_t>(transport_.rank() / options_.shape.stages);
    return named(planner, cli::plan_of_replica(asked_of(planner), lengths, cost_, replica));
  }
  template <class Plan>
  [[nodiscard]] slimpack::result<Plan> named(const std::string& planner, slimpack::result<Plan> made) const {
    if (!made) return made;
    slimpack::plan& p = slimpack::part_of(made.value());
    if (planner == flat_copies) p.planner = planner;
    p.cost = options_.cost_text;
    p.model = "transformer";
    p.layers = options_.model.on_parts;
    p.hash = slimpack::hash_of(p);
    return made;
  }

  [[nodiscard]] static std::vector<slimpack::tokens> lengths_of(std::span<const corpus::document> texts) {
    std::vector<slimpack::tokens> lengths;
    for (const corpus::document& d : texts) lengths.push_back({static_cast<std::int64_t>(d.size())});
    return lengths;
  }
  [[nodiscard]] std::vector<slimpack::tokens> lengths_by(const std::string& planner) const {
    return inputs_.samples ? forest_by(planner)->lengths : lengths_of(batch_);
  }
  /// What a planner plans of samples that share beginnings.
  [[nodiscard]] const slimpack::forest* forest_by(const std::string& planner) const {
    if (!inputs_.samples) return nullptr;
    return planner == flat_copies ? &inputs_.samples->flat() : &inputs_.samples->tree();
  }
  void next_batch() {
    if (!inputs_.samples) {
      batch_ = batches_.next();
      return;
    }
    paths_ = inputs_.samples->paths(inputs_.texts, bytes_);
    batch_.assign(paths_.begin(), paths_.end());
  }

  /// An error between steps, of which the other ranks must hear; packflow tells them of its own.
  [[nodiscard]] slimpack::error told(slimpack::error e) {
    if (e.code != slimpack::errc::aborted)
      e.detail = "rank " + std::to_string(transport_.rank()) + ", after its step: " + e.detail;
    transport_.abort(e.detail);
    return e;
  }
  [[nodiscard]] ending stop(slimpack::error e) { return ending::of_step(told(std::move(e))); }

  /// The optimizer's step, its gradient no longer than --clip over all stages.
  [[nodiscard]] slimpack::result<void> update(int step) {
    const std::span<const T> gradients = stage_.weights().gradients();
    double square = 0;
    for (const T g : gradients) square += static_cast<double>(g) * static_cast<double>(g);
    std::vector<int> pipeline(static_cast<std::size_t>(options_.shape.stages));
    std::iota(pipeline.begin(), pipeline.end(), transport_.rank() / options_.shape.stages * options_.shape.stages);
    slimpack::executors::replica_group<Transport> stages(transport_, std::move(pipeline),
                                                         [this](slimpack::error e) { return told(std::move(e)); });
    if (slimpack::result<void> summed = stages.sum(std::span(&square, 1)); !summed) return summed;
    optimizer_.set_rate(rate_at(step, options_.steps, options_.rate));
    optimizer_.step(std::min(1.0, options_.clip / std::sqrt(square)));
    return slimpack::success();
  }

  [[nodiscard]] ending write_outputs() {
    // Files show whole plans: where ranks planned their own, this one plans for all what together they have planned.
    const bool shown = options_.json || options_.trace || options_.timeline;
    std::vector<std::vector<slimpack::step_report>> reports;
    for (std::size_t i = 0; shown && i < plans_.size(); ++i) {
      if (plans_its_own(planners_[i])) {
        slimpack::result<slimpack::plan> whole = plan_with(planners_[i], lengths_by(planners_[i]));
        if (!whole) return ending::of_input(whole.error());
        plans_[i] = std::move(whole).value();
      }
      reports.push_back(measured_[i].reports_of(plans_[i]));
    }
    if (shown) {
      std::rotate(plans_.begin(), plans_.end() - 1, plans_.end());
      std::rotate(reports.begin(), reports.end() - 1, reports.end());
    }
    const auto write = [&](const auto& path, const auto& content) -> slimpack::result<void> {
      if (!path) return slimpack::success();
      slimpack::result<void> written = slimpack::io::write_file(*path, content);
      if (written) std::cout << "wrote      " << slimpack::detail::masked(path->string()) << "\n";
      return written;
    };
    for (const slimpack::result<void>& written :
         {write(options_.json, [&](std::ostream& out) { return slimpack::io::write_plan(out, plans_.front()); }),
          write(options_.trace,
                [&](std::ostream& out) { return slimpack::io::write_trace(out, plans_.front(), reports.front()); }),
          write(options_.timeline,
                [&](std::ostream& out) { return slimpack::io::write_timeline(out, plans_, reports); }),
          write(options_.log, [&](std::ostream& out) { journal_->write_log(out); })})
      if (!written) return ending::of_input(written.error());
    return {};
  }

  const options& options_;
  const inputs& inputs_;
  Transport& transport_;
  batches batches_;
  std::vector<std::vector<std::uint8_t>> paths_;  // of samples that share beginnings
  std::size_t bytes_{};                           // of the documents, that were put into them until now
  std::vector<corpus::document> batch_;
  std::vector<corpus::document> texts_;  // of the sequences of the plan at hand
  model_stage<T> stage_;
  adamw<T> optimizer_;
  std::optional<journal> journal_;     // on rank 0
  std::vector<std::string> planners_;  // in the order in which they run
  cli::any_cost cost_;
  slimpack::profiling::stage_profile profile_;  // what cost_ is made of, where it is measured
  slimpack::costs::profiled::extras beside_;
  std::vector<slimpack::profiling::observation> observed_;  // by this rank, until the step of --refit
  std::vector<slimpack::memory_rates> rates_;               // of activations, by stage
  kept_states states_;                                      // beside them
  std::vector<std::vector<slimpack::row_format>> rows_;     // by stage and chunk
  std::vector<std::vector<slimpack::loan_format>> loans_;   // likewise
  std::vector<slimpack::plan> plans_;                       // of the last step, by planner; or this rank's parts of
                                                            // them
  std::vector<measured_step> measured_;                     // and how they ran
};

/// Trains as one rank of the transport. An error on one rank stops all.
template <class Transport>
[[nodiscard]] ending train_rank(const options& o, const inputs& in, Transport& transport) {
  const auto stopped = [&](int status, const std::string& why) {
    transport.abort("rank " + std::to_string(transport.rank()) + ": " + why);
    return ending{status, why};
  };
  try {
    return o.in_double ? trainer<double, Transport>(o, in, transport).run()
                       : trainer<float, Transport>(o, in, transport).run();
  } catch (const std::bad_alloc&) {
    return stopped(3,
                   "the model, and what a step keeps of it, do not fit into this machine's memory; lower --hidden, "
                   "--ffn, --layers, --words or --max-context");
  } catch (const std::exception& thrown) {
    return stopped(1, std::string("gave up: ") + thrown.what());
  }
}

}  // namespace train

#endif
