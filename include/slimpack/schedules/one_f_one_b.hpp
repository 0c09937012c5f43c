#ifndef SLIMPACK_SCHEDULES_ONE_F_ONE_B_HPP
#define SLIMPACK_SCHEDULES_ONE_F_ONE_B_HPP

#include <slimpack/core/detail/amount.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/detail/interleaved_order.hpp>
#include <slimpack/simulators/graph/makespan.hpp>
#include <slimpack/simulators/memory.hpp>

#include <algorithm>
#include <cstddef>
#include <iosfwd>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::schedules {

/// One forward, one backward: stage r is phi(i) + 1 + lead (p - 1 - r) forwards ahead of backward i, and gets there one
/// forward at a time: where a sequence of many slices follows, phi jumps, and running its forwards in one burst would
/// starve the stages after. So a_r(i) = max over j >= i of min(M, phi(j) + 1 + lead (p - 1 - r)) - (j - i), which for
/// equal slices is SlimPipe's order, with its bubble of (p - 1) / (p - 1 + m n).
///
/// Under a memory limit the lead falls to k / (p - 1), rounded up to whole forwards on each stage, for the largest k
/// that fits: with room for p packs a lead of 2 becomes classic 1F1B. (Were the first stages alone to fall back, those
/// after them would wait for forwards that come a round trip later.) Then forwards that run as late as they may leave
/// room for a longer lead, so the shorter step of gradual and late starts is kept. With chunks, forwards and backwards
/// are counted in (pack, chunk) units in Megatron-LM's interleaved order: p packs pass a chunk before they pass the
/// next; a lead of 2 is then its warm-up of 2 (p - 1 - r) + (chunks - 1) p units. Where that order would wait for
/// itself (packs that are no multiple of p, which Megatron-LM requires, or that share sequences), k falls too. At k = 0
/// with late forwards it cannot: with units in one order for all stages, and each backward put right after the forwards
/// it needs, an instruction depends only on earlier units, or on its own unit on another stage.
/// Source    1F1B; the form for packs that share sequences is derived, and free of deadlock (`fits` says why);
///           SlimPipe (arXiv:2504.14519) doubles the lead, which hides the messages
/// Requires  lead >= 0
/// Errors    out_of_memory: not even the smallest lead fits; the detail has the shortfall
/// Complexity O(packs * parts) for each lead tried, log(lead * stages) of them
struct one_f_one_b {
  int lead{2};

  [[nodiscard]] result<std::vector<program>> programs(const workload& work) const {
    if (lead < 0)
      return error{errc::invalid_input, "one_f_one_b needs a lead of at least 0, got " + std::to_string(lead)};
    const std::size_t most = static_cast<std::size_t>(lead) * (static_cast<std::size_t>(work.shape.stages) - 1);
    std::vector<program> whole = ordered(work, most, start::gradual);
    if (fits(work, whole)) return whole;
    std::vector<program> gradual = lowered(work, most, start::gradual);
    std::vector<program> late = lowered(work, most, start::late);
    if (!late.empty()) return gradual.empty() || makespan(work, late) < makespan(work, gradual) ? late : gradual;
    const double over = excess(work, ordered(work, 0, start::late));
    return error{errc::out_of_memory, "1F1B at its smallest lead exceeds the memory limit of " +
                                          detail::amount(work.shape.memory->amount, work.shape.memory->unit) + " by " +
                                          detail::amount(over, work.shape.memory->unit)};
  }

  friend constexpr bool operator==(const one_f_one_b&, const one_f_one_b&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const one_f_one_b& s) {
    return out << "schedules::one_f_one_b{.lead = " << s.lead << "}";
  }

 private:
  /// Whether forwards of a sequence that follows start one by one before they are needed, or when they are.
  enum class start { gradual, late };

  /// The programs with stage 0 `most` units ahead, and the others in proportion.
  static std::vector<program> ordered(const workload& work, std::size_t most, start forwards) {
    const auto group = static_cast<std::size_t>(work.shape.stages);
    const std::vector<instruction> forward = detail::interleaved_order(work, pass::forward, group);
    const std::vector<instruction> backward = detail::interleaved_order(work, pass::backward, group);
    std::vector<std::size_t> need = detail::forwards_needed(work, forward, backward);
    if (forwards == start::gradual)
      for (std::size_t k = need.size(); k-- > 1;) need[k - 1] = std::max(need[k - 1], need[k] - 1);
    std::vector<program> programs(static_cast<std::size_t>(work.shape.stages));
    for (std::size_t r = 0; r < programs.size(); ++r) {
      program& code = programs[r];
      code.reserve(forward.size() + backward.size());
      const std::size_t after = programs.size() - 1 - r;  // stages; where there are none, neither is there a lead
      const std::size_t ahead = after == 0 ? 0 : (most * after + programs.size() - 2) / (programs.size() - 1);
      std::size_t run = 0;
      for (std::size_t k = 0; k < backward.size(); ++k) {
        for (; run < std::min(forward.size(), need[k] + ahead); ++run) code.push_back(forward[run]);
        code.push_back(backward[k]);
      }
    }
    return programs;
  }

  /// The programs of the longest lead that fits, at most `most`; empty when none does.
  static std::vector<program> lowered(const workload& work, std::size_t most, start forwards) {
    std::vector<program> found = ordered(work, 0, forwards);
    if (!fits(work, found)) return {};
    std::size_t fitting = 0;
    for (std::size_t over = most + 1; over - fitting > 1;) {  // memory grows with the lead
      const std::size_t middle = fitting + (over - fitting) / 2;
      std::vector<program> tried = ordered(work, middle, forwards);
      if (fits(work, tried))
        fitting = middle, found = std::move(tried);
      else
        over = middle;
    }
    return found;
  }

  static seconds makespan(const workload& work, const std::vector<program>& programs) {
    const result<seconds> time = simulators::makespan(work, programs);
    return time ? time.value() : seconds{std::numeric_limits<double>::infinity()};
  }

  /// Whether no stage waits for ever, and the memory limit holds. With one chunk none does: a stage runs no fewer
  /// forwards before a backward than the next, and the last all that the backward needs.
  static bool fits(const workload& work, const std::vector<program>& programs) {
    if (excess(work, programs) > 0) return false;
    if (work.shape.chunks == 1) return true;
    const result<seconds> time = simulators::makespan(work, programs);
    return time || time.error().code != errc::cyclic_schedule;
  }

  /// By how much the fullest stage exceeds the limit; not positive when all fit.
  static double excess(const workload& work, const std::vector<program>& programs) {
    if (!work.shape.memory) return 0;
    const std::vector<double> peak = simulators::peak_memory(work, programs);
    return *std::max_element(peak.begin(), peak.end()) - work.shape.memory->amount;
  }
};

}  // namespace slimpack::schedules

#endif
