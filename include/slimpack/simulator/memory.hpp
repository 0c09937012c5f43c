#ifndef SLIMPACK_SIMULATOR_MEMORY_HPP
#define SLIMPACK_SIMULATOR_MEMORY_HPP

#include <slimpack/core/program.hpp>
#include <slimpack/core/workload.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::simulator {

/// Calls visit(instruction, held) for each instruction of a stage's program with what the stage holds while it runs.
/// A live (token, chunk) counts 1 / chunks token; a running one counts whole, since logits and a layer computed again
/// are no smaller on a part of the model. What packs keep beside their tokens is shared by the chunks too. Where weight
/// gradients run apart, a token stays live until they have run, since they need its activations. Memory follows from
/// order alone (design rule 6).
/// Units     those of work.rates            Complexity  O(instructions)
template <class Visit>
void follow_memory(const workload& work, const program& code, int stage, Visit&& visit) {
  const memory_rates& rates = work.rates[static_cast<std::size_t>(stage)];
  const double chunks = work.shape.chunks;
  std::vector<std::int64_t> gradient(static_cast<std::size_t>(work.shape.chunks), 0);  // per chunk
  std::int64_t live = 0;       // in (token, chunk)
  std::int64_t gradients = 0;  // sum over chunks
  double kept = 0;             // whole bytes, so sums are exact
  for (const instruction& i : code) {
    const std::size_t pack = i.pack.value;
    const pass_timing& timing = work.of(i.pass);
    const std::int64_t size = timing.before[pack + 1] - timing.before[pack];
    const auto at = [&](std::int64_t n) { return static_cast<double>(n) / chunks; };
    if (i.pass == pass::forward) {
      live += size;
      kept += timing.kept_by(pack, static_cast<std::size_t>(stage));
      visit(i, rates.in_forward(at(live), at(gradients), static_cast<double>(size)) + kept / chunks);
    } else {
      if (i.weights_only) {
        visit(i, rates.in_backward(at(live), at(gradients), 0) + kept / chunks);
      } else {
        const std::int64_t others = gradients - gradient[i.chunk];
        const double open = at(others + work.gradient_running[pack]);
        visit(i, rates.in_backward(at(live), open, static_cast<double>(size)) + kept / chunks);
        gradient[i.chunk] = work.gradient_before[pack + 1];
        gradients = others + gradient[i.chunk];
      }
      if (i.weights_only || !work.weight.splits(pack)) {
        live -= size;
        kept -= timing.kept_by(pack, static_cast<std::size_t>(stage));
      }
    }
  }
}

/// The most each stage holds at any time, `fixed` included.
[[nodiscard]] inline std::vector<double> peak_memory(const workload& work, std::span<const program> programs) {
  std::vector<double> peak;
  for (std::size_t r = 0; r < programs.size(); ++r) {
    peak.push_back(work.rates[r].fixed);
    follow_memory(work, programs[r], static_cast<int>(r),
                  [&](const instruction&, double held) { peak.back() = std::max(peak.back(), held); });
  }
  return peak;
}

}  // namespace slimpack::simulator

#endif
