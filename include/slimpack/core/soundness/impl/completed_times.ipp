#ifndef SLIMPACK_CORE_SOUNDNESS_IMPL_COMPLETED_TIMES_IPP
#define SLIMPACK_CORE_SOUNDNESS_IMPL_COMPLETED_TIMES_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/soundness/completed_times.hpp>
#include <slimpack/core/timings.hpp>
#include <slimpack/core/wiring/wiring.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace slimpack {

SLIMPACK_DECL result<timings> completed(timings t, const partition& packs, const shape& on, std::size_t replica) {
  const std::string who = "replica " + std::to_string(replica);
  for (const pass p : both_passes) {
    std::vector<std::int64_t>& before = t.before[p];
    const std::size_t count = packs.of(p).size();
    if (before.empty()) {
      before.push_back(0);
      for (std::size_t i = 0; i < count; ++i) before.push_back(before.back() + size_of(packs.of(p)[i]).value);
    }
    if (before.size() != count + 1)
      return error{errc::invalid_input, who + " counts the tokens before " + std::to_string(before.size() - 1) + ' ' +
                                            name_of(p) + " packs, it has " + std::to_string(count)};
  }
  if (!t.apart.flags.empty() && t.apart.flags.size() != packs.backward.size())
    return error{errc::invalid_input, who + " says of " + std::to_string(t.apart.flags.size()) +
                                          " backward packs where their weight gradients run, it has " +
                                          std::to_string(packs.backward.size())};
  for (const time_column c : time_columns) {
    if (!is_timed(c, on) || (c == instruction_kind::weights && t.apart.count() == 0)) continue;
    std::vector<seconds>& times = t[c];
    const std::size_t cells = packs.of(c.pass()).size() * count_of(c.each(), on);
    const std::string what = std::string(c.name()) + (c.is_call() ? " calls" : " messages");
    if (times.empty()) times.resize(cells);
    if (times.size() != cells)
      return error{errc::invalid_input, who + " has " + std::to_string(times.size()) + " times of " + what +
                                            ", its packs need " + std::to_string(cells)};
    if (!std::all_of(times.begin(), times.end(), [](seconds s) { return s >= seconds{} && s <= seconds{1e12}; }))
      return error{errc::invalid_input, who + " has a time of " + what + " that is not from 0 to 1e12 s"};
  }
  return t;
}

}  // namespace slimpack

#endif
