#ifndef SLIMPACK_PRICING_IMPL_PRICE_IPP
#define SLIMPACK_PRICING_IMPL_PRICE_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/shared_row.hpp>
#include <slimpack/pricing/detail/calls_of_packs.hpp>
#include <slimpack/pricing/detail/sequence_numbers.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/workload.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

SLIMPACK_DECL void follow_sequences(const partition& packs, std::span<const shared_row> shared, workload& w) {
  const sequence_numbers number(packs.forward);
  std::vector<std::uint32_t> last_forward(number.count(), 0);
  std::vector<std::int64_t> own(number.count(), 0);     // tokens
  std::vector<std::int64_t> others(number.count(), 0);  // kept of other sharers
  std::vector<std::uint8_t> is_shared(number.count(), 0);
  std::vector<std::int64_t> closes(shared.empty() ? 0 : packs.backward.size(), 0);  // of others, per pack
  for (const shared_row& row : shared) {
    const std::size_t n = number(row.sequence);
    is_shared[n] = 1;
    if (row.pass == pass::backward) others[n] += row.others.value, closes[row.pack.value] += row.others.value;
  }
  for (std::size_t i = 0; i < packs.forward.size(); ++i) {
    for (const slice& s : packs.forward[i]) {
      const std::size_t n = number(s.sequence);
      last_forward[n] = static_cast<std::uint32_t>(i);
      own[n] += s.length.value;
    }
  }
  if (packs.backward.empty()) {
    w.ended.assign(packs.forward.size(), 0);
    for (const slice& s : packs.forward.slices()) {
      const std::size_t n = number(s.sequence);
      w.ended[last_forward[n]] += std::exchange(own[n], 0);
    }
  }
  std::vector<std::int64_t> left = own;  // that have not run backward
  calls_of_packs calls(packs.backward.size(), shared);
  w.turn.clear();
  w.gradient_running.clear();
  w.gradient_before.assign(1, 0);
  std::uint32_t turn = 0;
  std::int64_t open = 0;
  for (std::size_t i = 0; i < packs.backward.size(); ++i) {
    std::int64_t opened = 0;
    std::int64_t closed = closes.empty() ? 0 : closes[i];
    for (const slice& s : packs.backward[i]) {
      const std::size_t n = number(s.sequence);
      turn = std::max(turn, last_forward[n]);
      // A sequence that runs backward in one slice, on one replica, needs no accumulator.
      const std::int64_t all = own[n];
      std::int64_t& rest = left[n];
      const bool accumulates = s.length.value < all || is_shared[n] != 0;
      const std::int64_t opens = accumulates && rest == all ? all + others[n] : 0;
      const std::int64_t closes_here = accumulates ? s.length.value : 0;
      opened += opens, closed += closes_here;
      calls.add(s, is_shared[n] != 0, opens, closes_here);
      rest -= s.length.value;
    }
    calls.close(i, open);
    w.turn.push_back(turn);
    w.gradient_running.push_back(open + opened);
    open += opened - closed;
    w.gradient_before.push_back(open);
  }
  std::move(calls).into(w);
}

SLIMPACK_DECL void keep_others(std::span<const shared_row> shared, workload& w) {
  const auto most = std::max_element(w.rates.begin(), w.rates.end(), [](const memory_rates& a, const memory_rates& b) {
    return a.other_token < b.other_token;
  });
  if (shared.empty() || most == w.rates.end() || most->other_token == 0) return;
  for (const pass p : {pass::forward, pass::backward}) {
    const std::size_t packs = w.times.packs(p);
    if (packs == 0) continue;  // what backward ones keep is then of forward packs
    std::vector<std::int64_t> tokens_before(packs + 1, 0);
    for (const shared_row& row : shared)
      if (row.pass == p) tokens_before[row.pack.value + 1] += row.others.value;
    for (std::size_t i = 1; i < tokens_before.size(); ++i) tokens_before[i] += tokens_before[i - 1];
    std::vector<double>& kept = w.times.kept[p];
    kept.resize(w.rates.size() * tokens_before.size());
    for (std::size_t stage = 0; stage < w.rates.size(); ++stage)
      for (std::size_t i = 0; i < tokens_before.size(); ++i)
        kept[stage * tokens_before.size() + i] +=
            std::ceil(w.rates[stage].other_token) * static_cast<double>(tokens_before[i]);
  }
}

}  // namespace slimpack::detail

#endif
