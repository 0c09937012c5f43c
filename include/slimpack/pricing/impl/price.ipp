#ifndef SLIMPACK_PRICING_IMPL_PRICE_IPP
#define SLIMPACK_PRICING_IMPL_PRICE_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/order/releases.hpp>
#include <slimpack/pricing/detail/calls_of_packs.hpp>
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
  const forward_readers readers(packs.forward);
  open_gradients gradients(readers);
  std::vector<std::int64_t> closes(shared.empty() ? 0 : packs.backward.size(), 0);  // of others, per pack
  for (const shared_row& row : shared) {
    gradients.share(row.sequence, row.pass == pass::backward ? row.others.value : 0);
    if (row.pass == pass::backward) closes[row.pack.value] += row.others.value;
  }
  if (packs.backward.empty()) {
    w.ended.assign(packs.forward.size(), 0);
    for (const slice& s : packs.forward.slices()) w.ended[readers.last(s)] += s.length.value;
  }
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
      turn = std::max(turn, readers.last(s));
      const open_gradients::change now = gradients.run(s);
      opened += now.opens, closed += now.closes;
      calls.add(s, now.is_shared, now.opens, now.closes);
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
