#ifndef SLIMPACK_TESTS_SUPPORT_PLAIN_PARTS_HPP
#define SLIMPACK_TESTS_SUPPORT_PLAIN_PARTS_HPP

#include <slimpack/schedules/detail/greedy_chunks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace slimpack::tests::plain {

/// Where a step stands in the order that was found on the mirror image, which runs backwards here.
inline std::size_t rank(const detail::greedy::part_pipeline& p, const detail::greedy::part_order& image,
                        std::size_t stage, const detail::greedy::part_step& s) {
  const std::vector<detail::greedy::part_step>& code = image.stage[stage];
  const std::size_t packs = (s.is_up ? p.up : p.down).packs;
  for (std::size_t at = 0; at < code.size(); ++at)
    if (code[at].is_up != s.is_up && code[at].chunk == s.chunk && code[at].pack == packs - 1 - s.pack)
      return code.size() - 1 - at;
  return code.size();
}

/// The rule of detail::greedy::part_rule in its plainest form, which asks for each event what each stage could run of
/// each part.
inline detail::greedy::part_order schedule(const detail::greedy::part_pipeline& p,
                                           const detail::greedy::part_order* image) {
  constexpr double never = std::numeric_limits<double>::infinity();
  const std::size_t parts = p.parts();
  std::vector<double> arrival[2], free(p.stages, 0.0);
  std::vector<std::uint32_t> next[2];
  for (const bool is_up : {false, true}) {
    const std::size_t packs = (is_up ? p.up : p.down).packs;
    arrival[is_up].assign(parts * packs, never);
    for (std::size_t i = 0; i < packs; ++i) arrival[is_up][i * parts + (is_up ? parts - 1 : 0)] = 0;
    next[is_up].assign(parts, 0);
  }
  detail::greedy::part_order out;
  out.stage.resize(p.stages);
  for (;;) {
    std::optional<detail::greedy::part_step> found;
    std::size_t stage = 0, first = 0;
    double soonest = never;
    for (std::size_t r = 0; r < p.stages; ++r)
      for (std::size_t choice = 0; choice < 2 * p.chunks; ++choice) {
        const bool is_up = choice < p.chunks;  // ups first, and what has gone furthest
        const std::size_t chunk = is_up ? choice : 2 * p.chunks - 1 - choice, part = chunk * p.stages + r;
        const std::uint32_t pack = next[is_up][part];
        const std::size_t packs = (is_up ? p.up : p.down).packs;
        if (pack == packs || (is_up && part + 1 == parts && next[false][part] < p.need[pack])) continue;
        const double start = std::max(free[r], arrival[is_up][pack * parts + part]);
        if (start == never) continue;
        const detail::greedy::part_step step{is_up, static_cast<std::uint32_t>(chunk), pack};
        const std::size_t its = image == nullptr ? 0 : rank(p, *image, r, step);
        if (start < soonest || (start == soonest && stage == r && its < first))
          found = step, stage = r, first = its, soonest = start;
      }
    if (!found) break;
    const detail::greedy::part_flow& flow = found->is_up ? p.up : p.down;
    const std::size_t part = found->chunk * p.stages + stage, cell = found->pack * parts + part;
    free[stage] = soonest + flow.time[cell];
    ++next[found->is_up][part];
    if (found->is_up && part > 0) arrival[true][cell - 1] = free[stage] + flow.message[cell];
    if (!found->is_up && part + 1 < parts) arrival[false][cell + 1] = free[stage] + flow.message[cell];
    out.stage[stage].push_back(*found);
  }
  out.makespan = *std::max_element(free.begin(), free.end());
  return out;
}

}  // namespace slimpack::tests::plain

#endif
