#ifndef SLIMPACK_EXAMPLES_TRAIN_MEASURED_STEP_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MEASURED_STEP_HPP

#include "journal.hpp"
#include "model/kept_states.hpp"

#include <slimpack/core/plan.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/profiled.hpp>
#include <slimpack/executors/lending/loan_format.hpp>
#include <slimpack/executors/lending/loan_traffic.hpp>
#include <slimpack/executors/row_traffic.hpp>
#include <slimpack/executors/sharing.hpp>
#include <slimpack/executors/step_report.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/shared_rows.hpp>
#include <slimpack/profiling/observation.hpp>
#include <slimpack/profiling/pack_sums.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/simulators/plan_graphs.hpp>
#include <slimpack/transports/gathered.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace train {

/// How a step went on all ranks, and how each rank's plan says that it goes: a rank need know no more than the part of
/// the plan that it runs.   Shapes    by rank
struct measured_step {
  /// Of one rank. What it is sent as: numbers alone.
  struct figures_of_rank {
    double elapsed{};
    double reduce{};
    double peak{};  ///< bytes of activations
    double predicted_peak{};
    double exchanged{};  ///< bytes sent to those that share sequences with it
    double predicted_exchanged{};
    double lent{};  ///< bytes sent for attention that stages lend each other
    double predicted_lent{};
    double loan_messages{};
    double predicted_loan_messages{};
    double makespan{};      ///< of its replica, and the reduction of gradients, as planned
    double idle{};          ///< 1: its replica runs no sequence
    double instructions{};  ///< of its program
    double backwards{};     ///< backward packs of its replica, told by its first stage alone
    double apart{};         ///< those of them whose weight gradients ran apart
    double checksums{};     ///< what checksums of its messages took
  };
  std::vector<slimpack::step_report> reports;  ///< their timelines say when; what ran is in the plan
  std::vector<figures_of_rank> ranks;

  /// Every rank's figures to all ranks.
  /// Requires  p: whole, or the part of this rank's group; rates: of activations alone, by stage; states: beside them;
  ///           rows, loans: by stage and chunk
  /// Errors    those of the transport, which is then aborted
  template <class Transport>
  [[nodiscard]] static slimpack::result<measured_step> gather(
      const slimpack::plan& p, const slimpack::step_report& report, slimpack::bytes peak,
      const std::vector<slimpack::memory_rates>& rates, const kept_states& states,
      const std::vector<std::vector<slimpack::row_format>>& rows,
      const std::vector<std::vector<slimpack::loan_format>>& loans, Transport& transport) {
    measured_step step;
    const figures_of_rank own =
        figures_of(p, static_cast<std::size_t>(transport.rank()), report, peak, rates, states, rows, loans);
    slimpack::result<std::vector<figures_of_rank>> ranks = slimpack::gathered(transport, own);
    if (!ranks) return std::move(ranks).error();
    step.ranks = std::move(ranks).value();
    double longest = 0;
    for (const figures_of_rank& one : step.ranks) longest = std::max(longest, one.instructions);
    std::vector<double> times;
    for (const slimpack::timed_instruction& t : report.timeline)
      times.insert(times.end(), {t.begin.value, t.end.value});
    times.resize(2 * static_cast<std::size_t>(longest));  // a replica without sequences runs a piece that is in no plan
    const slimpack::result<std::vector<double>> told = slimpack::gathered(transport, std::span<const double>(times));
    if (!told) return told.error();
    const std::vector<double>& all = told.value();
    for (std::size_t rank = 0; rank < step.ranks.size(); ++rank) {
      slimpack::step_report& one = step.reports.emplace_back(report);
      one.elapsed = {step.ranks[rank].elapsed};
      one.reduce = {step.ranks[rank].reduce};
      one.exchanged = {step.ranks[rank].exchanged};
      one.lent = {step.ranks[rank].lent};
      one.loan_messages = static_cast<std::int64_t>(step.ranks[rank].loan_messages);
      one.timeline.clear();
      for (std::size_t i = 0; i < static_cast<std::size_t>(step.ranks[rank].instructions); ++i)
        one.timeline.push_back({{}, {all[rank * times.size() + 2 * i]}, {all[rank * times.size() + 2 * i + 1]}});
    }
    return step;
  }

  /// How the packs of all ranks took against their prices. Every rank calls it after a step.
  /// Errors    those of the transport, which is then aborted
  template <class Transport>
  [[nodiscard]] static slimpack::result<std::vector<slimpack::profiling::pack_sum>> gather_sums(
      const slimpack::costs::profiled& cost, std::span<const slimpack::profiling::observation> own,
      Transport& transport) {
    using slimpack::pass;
    using slimpack::profiling::pack_sum;
    const auto parts = static_cast<std::size_t>(cost.parts());
    std::vector<double> numbers(parts * 4 * 3);  // by part, pass, and few or many: packs, measured, priced
    for (const pack_sum& s : slimpack::profiling::sums_of(cost, own)) {
      double* const at =
          &numbers[(static_cast<std::size_t>(s.part) * 4 + (s.pass == pass::backward ? 2u : 0u) + (s.many ? 1u : 0u)) *
                   3];
      at[0] = static_cast<double>(s.packs), at[1] = s.measured.value, at[2] = s.priced.value;
    }
    const slimpack::result<std::vector<double>> all = slimpack::gathered(transport, std::span<const double>(numbers));
    if (!all) return all.error();
    std::vector<pack_sum> sums;
    for (std::size_t i = 0; i < all.value().size() / 3; ++i) {
      const double* const at = &all.value()[3 * i];
      const pack_sum one{i / 2 % 2 == 1 ? pass::backward : pass::forward,
                         static_cast<int>(i / 4 % parts),
                         i % 2 == 1,
                         static_cast<std::size_t>(at[0]),
                         {at[1]},
                         {at[2]}};
      if (one.packs > 0) slimpack::profiling::add(sums, std::span(&one, 1));
    }
    return sums;
  }

  /// The reports, with the instructions of a whole plan.
  [[nodiscard]] std::vector<slimpack::step_report> reports_of(const slimpack::plan& whole) const {
    std::vector<slimpack::step_report> named = reports;
    for (std::size_t rank = 0; rank < named.size(); ++rank) {
      const slimpack::program& code = program_of(whole, rank);
      for (std::size_t i = 0; i < named[rank].timeline.size(); ++i) named[rank].timeline[i].instruction = code[i];
    }
    return named;
  }

  /// Compared with the plan.
  /// Bubble    the share of the ranks' time in which they run no instruction. The plan's (executors/measured.hpp)
  ///           counts work by its least measured time, so that slow thin slices are bubble to it, too
  [[nodiscard]] step_figures figures(const slimpack::plan& p) const {
    step_figures f{p.planner,
                   reports.front().loss_sum,
                   reports.front().processed,
                   reports.front().step,
                   {},
                   0,
                   {},
                   {},
                   true,
                   {},
                   {},
                   0,
                   0,
                   {},
                   0,
                   true,
                   {},
                   {},
                   {}};
    double busy = 0;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const figures_of_rank& one = ranks[rank];
      f.predicted = std::max(f.predicted, slimpack::seconds{one.makespan});
      f.exchanged += slimpack::bytes{one.exchanged};
      f.predicted_exchanged += slimpack::bytes{one.predicted_exchanged};
      f.lent += slimpack::bytes{one.lent};
      f.loan_messages += static_cast<std::int64_t>(one.loan_messages);
      f.loans_agree =
          f.loans_agree && one.lent == one.predicted_lent && one.loan_messages == one.predicted_loan_messages;
      f.backwards += static_cast<std::size_t>(one.backwards);
      f.apart += static_cast<std::size_t>(one.apart);
      f.checksums += slimpack::seconds{one.checksums};
      for (const slimpack::timed_instruction& t : reports[rank].timeline) busy += (t.end - t.begin).value;
      if (one.idle != 0) continue;
      f.peaks_agree = f.peaks_agree && std::abs(one.peak - one.predicted_peak) < 0.5;  // three chunks have thirds of
                                                                                       // bytes
      if (one.peak > f.peak.value) f.peak = {one.peak}, f.predicted_peak = {one.predicted_peak};
    }
    f.bubble = 1 - busy / (static_cast<double>(reports.size()) * f.measured.value);
    return f;
  }

 private:
  [[nodiscard]] static const slimpack::program& program_of(const slimpack::plan& p, std::size_t rank) {
    const auto stages = static_cast<std::size_t>(p.shape.stages);
    return p.replicas[rank / stages].programs[rank % stages];
  }

  [[nodiscard]] static figures_of_rank figures_of(const slimpack::plan& p, std::size_t rank,
                                                  const slimpack::step_report& report, slimpack::bytes peak,
                                                  const std::vector<slimpack::memory_rates>& rates,
                                                  const kept_states& states,
                                                  const std::vector<std::vector<slimpack::row_format>>& rows,
                                                  const std::vector<std::vector<slimpack::loan_format>>& loans) {
    const auto stages = static_cast<std::size_t>(p.shape.stages);
    const std::size_t replica = rank / stages, stage = rank % stages;
    const slimpack::replica_plan& r = p.replicas[replica];
    slimpack::workload work = slimpack::simulators::workload_of(p, replica);
    work.rates = rates;
    work.times.kept = {};
    if (states.any()) slimpack::detail::follow_kept(r.partition, states, p.parents, work);
    const auto packs_of = [&](std::uint32_t one) -> const slimpack::partition& { return p.replicas[one].partition; };
    slimpack::detail::keep_others(
        slimpack::simulators::shared_rows(p.merges, packs_of, static_cast<std::uint32_t>(replica)), work);
    const slimpack::executors::row_traffic sent =
        slimpack::executors::row_traffic_of(p, static_cast<int>(rank), rows[stage]).value();
    const slimpack::executors::loan_traffic lent =
        slimpack::executors::loan_traffic_of(r.loans, static_cast<std::uint32_t>(stage), loans[stage]);
    return {report.elapsed.value,
            report.reduce.value,
            peak.value,
            slimpack::simulators::peak_memory(work, r.programs)[stage],
            report.exchanged.value,
            static_cast<double>(sent.bytes.forward + sent.bytes.backward),
            report.lent.value,
            static_cast<double>(lent.bytes.forward + lent.bytes.backward),
            static_cast<double>(report.loan_messages),
            static_cast<double>(lent.messages.forward + lent.messages.backward),
            (r.makespan + p.reduce_time).value,
            r.sequences.empty() ? 1.0 : 0.0,
            static_cast<double>(program_of(p, rank).size()),
            stage == 0 ? static_cast<double>(r.times.packs(slimpack::pass::backward)) : 0.0,
            stage == 0 ? static_cast<double>(r.times.apart.count()) : 0.0,
            report.checksums.value};
  }
};

}  // namespace train

#endif
