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
#include <utility>
#include <vector>

namespace slimpack {

namespace detail {
/// Calls visit(c, cells) for each column in which packs have times, and how many they are.
template <class Visit>
void each_column(const timings& t, const partition& packs, const shape& on, const Visit& visit) {
  for (const time_column c : time_columns)
    if (is_timed(c, on) && (c != instruction_kind::weights || t.apart.count() > 0))
      visit(c, packs.of(c.pass()).size() * count_of(c.each(), on));
}
}  // namespace detail

SLIMPACK_DECL result<void> fits_packs(const timings& t, const partition& packs, const shape& on, std::size_t replica) {
  const auto wrong = [&](const std::string& why) {
    return error{errc::invalid_input, "replica " + std::to_string(replica) + why};
  };
  for (const pass p : both_passes)
    if (const std::size_t count = packs.of(p).size(); !t.before[p].empty() && t.before[p].size() != count + 1)
      return wrong(" counts the tokens before " + std::to_string(t.before[p].size() - 1) + ' ' + name_of(p) +
                   " packs, it has " + std::to_string(count));
  if (!t.apart.flags.empty() && t.apart.flags.size() != packs.backward.size())
    return wrong(" says of " + std::to_string(t.apart.flags.size()) +
                 " backward packs where their weight gradients run, it has " + std::to_string(packs.backward.size()));
  result<void> fits = success();
  detail::each_column(t, packs, on, [&](time_column c, std::size_t cells) {
    const std::vector<seconds>& times = t[c];
    if (!fits || times.empty()) return;
    const std::string what = std::string(c.name()) + (c.is_call() ? " calls" : " messages");
    if (times.size() != cells)
      fits = wrong(" has " + std::to_string(times.size()) + " times of " + what + ", its packs need " +
                   std::to_string(cells));
    else if (!std::all_of(times.begin(), times.end(), [](seconds s) { return s >= seconds{} && s <= seconds{1e12}; }))
      fits = wrong(" has a time of " + what + " that is not from 0 to 1e12 s");
  });
  return fits;
}

SLIMPACK_DECL result<timings> completed(timings t, const partition& packs, const shape& on, std::size_t replica) {
  if (result<void> fits = fits_packs(t, packs, on, replica); !fits) return std::move(fits).error();
  for (const pass p : both_passes) {
    std::vector<std::int64_t>& before = t.before[p];
    if (!before.empty()) continue;
    before.push_back(0);
    for (std::size_t i = 0; i < packs.of(p).size(); ++i)
      before.push_back(before.back() + size_of(packs.of(p)[i]).value);
  }
  detail::each_column(t, packs, on, [&](time_column c, std::size_t cells) { t[c].resize(cells); });
  return t;
}

}  // namespace slimpack

#endif
