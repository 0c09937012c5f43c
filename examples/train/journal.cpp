#include "journal.hpp"

#include "../plan/texts.hpp"
#include "median.hpp"
#include "mixer_options.hpp"

#include <slimpack/core/detail/amount.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iomanip>
#include <limits>
#include <optional>
#include <ostream>
#include <span>

namespace train {
namespace {

using cli::fixed;
using cli::percent;
using slimpack::seconds;

std::string milliseconds(seconds s) { return fixed(1e3 * s.value, s.value < 0.01 ? 3 : 1) + " ms"; }
std::string amount(slimpack::bytes b) { return slimpack::detail::amount(b.value, slimpack::memory_unit::byte); }

/// "backward packs of many slices on part 1 took 1.32 of their prices (sum of 40)"
std::string sum_text(const slimpack::profiling::pack_sum& s) {
  return std::string(name_of(s.pass)) + " packs of " + (s.many ? "many" : "few") + " slices on part " +
         std::to_string(s.part) + " took " + fixed(s.ratio(), 2) + " of their prices (sum of " +
         std::to_string(s.packs) + ")";
}
/// The same, behind a comma, of sums that are off.
std::string off_text(const std::vector<slimpack::profiling::pack_sum>& sums) {
  const slimpack::profiling::pack_sum* worst = slimpack::profiling::most_off(sums);
  return worst ? ", and " + sum_text(*worst) : "";
}

/// A figure of one run over all steps.
template <class Figure>
std::vector<double> over(const std::vector<std::vector<step_figures>>& steps, std::size_t run, Figure figure) {
  std::vector<double> all;
  for (const auto& runs : steps) all.push_back(figure(runs[run]));
  return all;
}

std::string samples_text(const sample_tree& all) {
  const auto tokens_of = [](const slimpack::forest& some) {
    slimpack::tokens sum{};
    for (const slimpack::tokens t : some.lengths) sum += t;
    return std::to_string(sum.value);
  };
  return "samples    " + std::to_string(all.flat().lengths.size()) + ", " + tokens_of(all.flat()) + " tokens flat, " +
         tokens_of(all.tree()) + " different, in " + std::to_string(all.tree().lengths.size()) + " sequences\n";
}

/// By which clock packs are priced.
std::string clocks_text(const slimpack::profiling::clocks& by) {
  if (by.by_processor == 0) return "times on the clock, as calls wait";
  return "times of the processor" +
         (by.by_clock > 0 ? ", on the clock for " + std::to_string(by.by_clock) + " packs that wait" : std::string{}) +
         "; clock / processor " + fixed(by.clock_over_processor, 3);
}

}  // namespace

journal::journal(const options& o, const inputs& in, std::ostream& out) : options_(o), texts_(in.texts), out_(out) {
  const corpus& texts = in.texts;
  const slimpack::shape& s = o.shape;
  out_ << "documents  " << texts.size() << ", " << texts.tokens().value << " bytes, longest " << texts.longest().value
       << "; entropy of a byte " << fixed(texts.byte_entropy(), 4) << " nats\n"
       << (in.samples ? samples_text(*in.samples) : std::string{}) << "model      " << o.model.layers << " layers"
       << (o.model.on_parts.empty() ? std::string{} : " (" + cli::layers_text(o.model.on_parts) + " on the parts)")
       << ", hidden " << o.model.hidden << ", " << o.model.heads << " heads (" << o.model.kv_heads
       << " of keys and values), ffn " << o.model.ffn << ", " << (o.in_double ? "double" : "float")
       << mixers_text(o.model) << (o.model.dense ? ", dense attention" : "")
       << (o.model.keeps_outputs() ? ", nothing computed again" : "") << "\n"
       << "ranks      dp " << s.replicas << " x pp " << s.stages
       << (s.chunks > 1 ? " x vpp " + std::to_string(s.chunks) : "")
       << (s.words.empty() ? "" : ", words " + cli::words_text(s.words)) << ", "
       << (o.transport == carrier::mpi ? "MPI" : "threads") << "\n"
       << "plans      " << o.planner << ", " << (in.samples ? "all samples" : std::to_string(o.batch) + " documents")
       << " a step, cuts at multiples of " << s.quantum.value << ", "
       << (s.memory ? slimpack::detail::amount(s.memory->amount, s.memory->unit) + " a stage at most"
                    : std::string("no memory limit"))
       << ", cost " << o.cost_text
       << (o.weights == slimpack::weight_gradients::apart ? ", weight gradients apart where that fills a wait" : "")
       << std::endl;
}

void journal::timed(const slimpack::profiling::measurement& seen) const {
  out_ << "trials     " << seen.trials << " kinds, run " << seen.runs << " times in all; "
       << (std::isfinite(seen.error) ? "medians known to " + percent(seen.error, 1) + " at worst"
                                     : std::string("some have fewer than 5 packs"))
       << "; " << clocks_text(seen.by);
  if (!seen.dropped.empty()) {
    out_ << "\n           no time within --measure-for " << fixed(options_.measure_for.value, 1) << " for "
         << seen.dropped.size() << " more: ";
    constexpr std::size_t most = 3;
    for (std::size_t i = 0; i < std::min(seen.dropped.size(), most); ++i)
      out_ << (i > 0 ? "; " : "") << text_of(seen.dropped[i]);
    if (seen.dropped.size() > most) out_ << "; and others";
  }
  warn_of_other_work(seen.by);
  out_ << std::endl;
}

void journal::warn_of_other_work(const slimpack::profiling::clocks& by) const {
  if (by.clock_over_processor <= slimpack::profiling::most_clock_over_processor) return;
  out_ << "\n           other work has the processors for a part of the time. Prices are those of an idle machine, and "
          "steps take longer beside such work: train and measure where nothing else runs";
}

void journal::calibrated(const slimpack::costs::profiled& cost, const slimpack::profiling::stage_profile& profile,
                         seconds took, bool read) {
  out_ << "measured   "
       << (read ? "before, in " + options_.profile->string() : "this machine in " + fixed(took.value, 1) + " s")
       << "; a full context forward and backward:";
  std::optional<double> uncertain;
  for (int part = 0; part < cost.parts(); ++part) {
    const slimpack::slice whole{{}, {0}, texts_.longest()};
    out_ << (part ? "; " : " ") << milliseconds(cost.time(whole, slimpack::pass::forward, part)) << " and "
         << milliseconds(cost.time(whole, slimpack::pass::backward, part));
    if (options_.weights == slimpack::weight_gradients::apart)
      out_ << ", " << milliseconds(cost.weight_time(whole, part)) << " of it weight gradients";
    for (const slimpack::pass p : slimpack::both_passes)
      if (const std::optional<double> off = profile.uncertainty(std::span(&whole, 1), p, part))
        uncertain = std::max(uncertain.value_or(0), *off);
  }
  const slimpack::profiling::fit_check& check = profile.check;
  out_ << " by part";
  if (uncertain) out_ << ", with a standard error of " << percent(*uncertain, 1) << " at most";
  out_ << "; noise up to " << percent(cost.largest_change(), 1) << "; " << check.kinds
       << " kinds of packs left out are " << percent(check.median, 1) << " off the fit of the others (median)"
       << off_text(check.sums) << std::endl;
}

void journal::refitted(const slimpack::profiling::drift& off, const slimpack::profiling::fit_check& check,
                       const slimpack::profiling::clocks& by) const {
  out_ << "refit      to " << off.packs << " packs of " << steps_.size() << " steps and all ranks, which took "
       << fixed(off.ratio, 3) << " of what was predicted (median; " << percent(off.error, 1) << " off"
       << off_text(off.sums) << "); " << check.kinds << " kinds left out are " << percent(check.median, 1) << " off"
       << off_text(check.sums) << "; " << clocks_text(by);
  warn_of_other_work(by);
  out_ << std::endl;
}

void journal::step(std::vector<step_figures> runs, seconds planning) {
  if (steps_.empty()) {
    out_ << "\n step    loss  tokens/s    measured   predicted  ratio  bubble          peak     predicted";
    for (std::size_t i = 1; i < runs.size(); ++i) out_ << std::setw(20) << runs[i].planner;
    out_ << "\n";
  }
  const step_figures& f = runs.front();
  out_ << std::setw(5) << steps_.size() << std::setw(8) << fixed(f.loss, 4) << std::setw(10)
       << fixed(static_cast<double>(f.processed.value) / f.measured.value, 0) << std::setw(12)
       << milliseconds(f.measured) << std::setw(12) << milliseconds(f.predicted) << std::setw(7)
       << fixed(f.predicted / f.measured, 3) << std::setw(8) << percent(f.bubble, 1) << std::setw(14) << amount(f.peak)
       << std::setw(14) << amount(f.predicted_peak);
  for (std::size_t i = 1; i < runs.size(); ++i)
    out_ << std::setw(20) << milliseconds(runs[i].measured) + " " + fixed(runs[i].measured / f.measured, 2) + "x";
  out_ << std::endl;
  steps_.push_back(std::move(runs));
  planning_.push_back(planning.value);
}

void journal::summarize(seconds took) const {
  const std::vector<double> losses = over(steps_, 0, [](const step_figures& f) { return f.loss; });
  const auto last = static_cast<std::ptrdiff_t>(std::max<std::size_t>(losses.size() / 10, 1));
  const double loss = median({losses.end() - last, losses.end()});
  const double entropy = texts_.byte_entropy();
  out_ << "\nloss       " << fixed(losses.front(), 4) << " at first, " << fixed(loss, 4) << " over the last " << last
       << " steps (median): " << fixed(std::abs(entropy - loss), 4) << " nats " << (loss < entropy ? "below" : "above")
       << " the byte entropy of the documents, " << fixed(entropy, 4) << "\n"
       << "time       " << fixed(took.value, 1) << " s in all; planning took " << milliseconds({median(planning_)})
       << " a step (median)\n";
  for (std::size_t run = 0; run < steps_.front().size(); ++run) summarize(run);
}

void journal::evaluated(const slimpack::plan& p, const slimpack::step_report& ran) const {
  std::size_t packs = 0;
  for (const slimpack::replica_plan& r : p.replicas) packs += r.partition.forward.size();
  out_ << "evaluated  " << p.lengths.size() << " documents held out, " << ran.processed.value << " bytes: loss "
       << fixed(ran.loss_sum, 4) << " nats of a byte (" << ran.valid_tokens.value
       << " have one before); forward alone in " << packs << " packs, " << milliseconds(ran.step) << ", predicted "
       << milliseconds(p.step_time) << std::endl;
}

void journal::summarize(std::size_t run) const {
  const auto exact =
      std::count_if(steps_.begin(), steps_.end(), [&](const auto& runs) { return runs[run].peaks_agree; });
  out_ << std::left << std::setw(15) << steps_.front()[run].planner << std::right << " step "
       << milliseconds({median(over(steps_, run, [](const step_figures& f) { return f.measured.value; }))})
       << ", predicted "
       << percent(
              median(over(steps_, run, [](const step_figures& f) { return std::abs(f.predicted / f.measured - 1); })),
              1)
       << " off (both medians)";
  if (steps_.front()[run].uncertainty)
    out_ << ", with a standard error of "
         << percent(median(over(steps_, run, [](const step_figures& f) { return f.uncertainty.value_or(0); })), 1);
  out_ << "; peak bytes as predicted on every rank in " << exact << " of " << steps_.size() << " steps\n";
  const auto shared = std::count_if(steps_.begin(), steps_.end(), [&](const auto& runs) {
    return runs[run].predicted_exchanged > slimpack::bytes{};
  });
  if (shared > 0) {
    const auto agree = std::count_if(steps_.begin(), steps_.end(), [&](const auto& runs) {
      return runs[run].exchanged == runs[run].predicted_exchanged;
    });
    out_ << "                replicas shared sequences in " << shared << " of " << steps_.size()
         << " steps and exchanged "
         << amount({median(over(steps_, run, [](const step_figures& f) { return f.exchanged.value; }))})
         << " a step, predicted "
         << amount({median(over(steps_, run, [](const step_figures& f) { return f.predicted_exchanged.value; }))})
         << " (medians); bytes as predicted in " << agree << " of " << steps_.size() << " steps\n";
  }
  const auto lent =
      std::count_if(steps_.begin(), steps_.end(), [&](const auto& runs) { return runs[run].loan_messages > 0; });
  if (lent > 0) {
    const auto agree =
        std::count_if(steps_.begin(), steps_.end(), [&](const auto& runs) { return runs[run].loans_agree; });
    out_ << "                stages lent each other attention in " << lent << " of " << steps_.size()
         << " steps and sent "
         << amount({median(over(steps_, run, [](const step_figures& f) { return f.lent.value; }))}) << " in "
         << static_cast<std::int64_t>(
                median(over(steps_, run, [](const step_figures& f) { return static_cast<double>(f.loan_messages); })))
         << " messages a step (medians); bytes and messages as predicted in " << agree << " of " << steps_.size()
         << " steps\n";
  }
  if (options_.checksums) {
    const double ranks = options_.shape.stages * options_.shape.replicas;
    const auto of_step = [&](const step_figures& f) { return f.checksums.value / ranks; };
    const auto share = [&](const step_figures& f) { return f.checksums.value / ranks / f.measured.value; };
    out_ << "                checksums of messages took " << milliseconds({median(over(steps_, run, of_step))})
         << " a step on each rank, " << percent(median(over(steps_, run, share)), 2) << " of its time (medians)\n";
  }
  std::size_t apart = 0;
  std::size_t backwards = 0;
  for (const auto& runs : steps_) apart += runs[run].apart, backwards += runs[run].backwards;
  if (apart > 0) {
    const auto steps =
        std::count_if(steps_.begin(), steps_.end(), [&](const auto& runs) { return runs[run].apart > 0; });
    out_ << "                weight gradients ran apart in " << steps << " of " << steps_.size() << " steps, those of "
         << apart << " of " << backwards << " backward packs\n";
  }
  if (run == 0) {
    if (steps_.front().size() == 1) warn_of_prices(run);  // others say it beside each speed-up
    return;
  }
  double off = 0;
  std::vector<double> ratios, predicted;
  seconds mine{};
  seconds other{};
  for (const auto& runs : steps_) {
    mine += runs[0].measured;
    other += runs[run].measured;
    ratios.push_back(runs[run].measured / runs[0].measured);
    predicted.push_back(runs[run].predicted / runs[0].predicted);
    off = std::max(off, std::abs(runs[run].loss / runs[0].loss - 1));
  }
  char differs[32];
  std::snprintf(differs, sizeof differs, "%.1e", off);
  out_ << "               " << options_.planner << " is " << fixed(other / mine, 3) << " x as fast over all steps, "
       << fixed(median(ratios), 3) << " x in the median"
       << (steps_[0][run].planner == flat_copies ? ", " + fixed(median(predicted), 3) + " x in that of plans" : "")
       << "; losses differ by " << differs << " at most\n";
  for (const std::size_t one : {std::size_t{0}, run}) warn_of_prices(one);
}

void journal::warn_of_prices(std::size_t run) const {
  std::vector<slimpack::profiling::pack_sum> sums;
  for (const auto& runs : steps_) slimpack::profiling::add(sums, runs[run].sums);
  if (const slimpack::profiling::pack_sum* worst = slimpack::profiling::most_off(sums))
    out_ << "               prices were off: " << steps_.front()[run].planner << "'s " << sum_text(*worst) << "\n";
}

void journal::write_log(std::ostream& out) const {
  out << std::setprecision(std::numeric_limits<double>::max_digits10)
      << "step,planner,loss,tokens,measured_s,predicted_s,bubble,peak_bytes,predicted_peak_bytes,peaks_agree,exchanged_"
         "bytes,predicted_exchanged_bytes,"
         "backward_packs,packs_apart,lent_bytes,loan_messages,loans_agree\n";
  for (std::size_t s = 0; s < steps_.size(); ++s)
    for (const step_figures& f : steps_[s])
      out << s << ',' << f.planner << ',' << f.loss << ',' << f.processed.value << ',' << f.measured.value << ','
          << f.predicted.value << ',' << f.bubble << ',' << f.peak.value << ',' << f.predicted_peak.value << ','
          << f.peaks_agree << ',' << f.exchanged.value << ',' << f.predicted_exchanged.value << ',' << f.backwards
          << ',' << f.apart << ',' << f.lent.value << ',' << f.loan_messages << ',' << f.loans_agree << '\n';
}

}  // namespace train
