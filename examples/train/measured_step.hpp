#ifndef SLIMPACK_EXAMPLES_TRAIN_MEASURED_STEP_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MEASURED_STEP_HPP

#include "journal.hpp"

#include <slimpack/core/plan.hpp>
#include <slimpack/executors/row_format.hpp>
#include <slimpack/executors/row_traffic.hpp>
#include <slimpack/executors/step_report.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/shared_rows.hpp>
#include <slimpack/pricing/workload_of.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/transports/hooks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace train {

/// How a step went on all ranks.   Shapes    by rank
struct measured_step {
  std::vector<slimpack::step_report> reports;
  std::vector<double> peaks;  ///< bytes of activations

  /// Every rank's report to all ranks.   Errors    those of the transport
  template <class Transport>
  [[nodiscard]] static slimpack::result<measured_step> gather(const slimpack::plan& p,
                                                              const slimpack::step_report& report, slimpack::bytes peak,
                                                              Transport& transport) {
    std::size_t longest = 0;
    for (const slimpack::replica_plan& r : p.replicas)
      for (const slimpack::program& code : r.programs) longest = std::max(longest, code.size());
    std::vector<double> own{report.elapsed.value, report.reduce.value, peak.value, report.exchanged.value};
    for (const slimpack::timed_instruction& t : report.timeline) own.insert(own.end(), {t.begin.value, t.end.value});
    own.resize(head + 2 * longest);  // a replica without sequences runs a piece that is in no plan
    std::vector<double> all(own.size() * static_cast<std::size_t>(transport.size()));
    if (slimpack::result<void> gathered =
            slimpack::all_gather(transport, std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
        !gathered)
      return std::move(gathered).error();
    measured_step step;
    for (std::size_t rank = 0; rank * own.size() < all.size(); ++rank) {
      const double* figure = &all[rank * own.size()];
      slimpack::step_report& one = step.reports.emplace_back(report);
      one.elapsed = {figure[0]};
      one.reduce = {figure[1]};
      step.peaks.push_back(figure[2]);
      one.exchanged = {figure[3]};
      one.timeline.clear();
      figure += head;
      for (const slimpack::instruction& i : program_of(p, rank)) {
        one.timeline.push_back({i, {figure[0]}, {figure[1]}});
        figure += 2;
      }
    }
    return step;
  }

  /// Compared with the plan. Requires   rates: of activations alone, by stage; rows: by stage and chunk
  /// Bubble    the share of the ranks' time in which they run no instruction. The plan's (executors/measured.hpp) counts
  ///           work by its least measured time, so that slow thin slices are bubble to it, too
  [[nodiscard]] step_figures figures(const slimpack::plan& p, const std::vector<slimpack::memory_rates>& rates,
                                     const std::vector<std::vector<slimpack::row_format>>& rows) const {
    step_figures f{
        p.planner, reports.front().loss_sum, reports.front().processed, reports.front().step, p.step_time, 0, {}, {},
        true, {}, {}, 0, 0};
    double busy = 0;
    for (std::size_t replica = 0; replica < p.replicas.size(); ++replica) {
      const slimpack::replica_plan& r = p.replicas[replica];
      slimpack::workload work = slimpack::simulators::workload_of(p, replica);
      work.rates = rates;
      f.backwards += r.backward.size();
      f.apart += r.weight.count();
      for (slimpack::pass_timing* const timing : {&work.forward, &work.backward}) timing->kept.clear();
      const auto packs_of = [&](std::uint32_t one) -> const slimpack::partition& { return p.replicas[one].partition; };
      slimpack::detail::keep_others(
          slimpack::simulators::shared_rows(p.merges, packs_of, static_cast<std::uint32_t>(replica)), work);
      const std::vector<double> predicted = slimpack::simulators::peak_memory(work, r.programs);
      for (std::size_t stage = 0; stage < r.programs.size(); ++stage) {
        const std::size_t rank = replica * r.programs.size() + stage;
        f.exchanged += reports[rank].exchanged;
        const slimpack::executors::row_traffic sent =
            slimpack::executors::row_traffic_of(p, static_cast<int>(rank), rows[stage]).value();
        f.predicted_exchanged += slimpack::bytes{static_cast<double>(sent.bytes.forward + sent.bytes.backward)};
        for (const slimpack::timed_instruction& t : reports[rank].timeline) busy += (t.end - t.begin).value;
        if (r.sequences.empty()) continue;
        f.peaks_agree = f.peaks_agree && peaks[rank] == predicted[stage];
        if (peaks[rank] > f.peak.value) f.peak = {peaks[rank]}, f.predicted_peak = {predicted[stage]};
      }
    }
    f.bubble = 1 - busy / (static_cast<double>(reports.size()) * f.measured.value);
    return f;
  }

 private:
  static constexpr std::size_t head = 4;

  [[nodiscard]] static const slimpack::program& program_of(const slimpack::plan& p, std::size_t rank) {
    const auto stages = static_cast<std::size_t>(p.shape.stages);
    return p.replicas[rank / stages].programs[rank % stages];
  }
};

}  // namespace train

#endif
