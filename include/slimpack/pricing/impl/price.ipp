#ifndef SLIMPACK_PRICING_IMPL_PRICE_IPP
#define SLIMPACK_PRICING_IMPL_PRICE_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/order/releases.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/workload.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Splits backward packs with a shared row and more into what runs one after the other.
class calls_of_packs {
 public:
  calls_of_packs(std::size_t packs, std::span<const shared_row> shared) : shared_(shared) {
    if (shared_.empty()) return;
    before_.reserve(packs + 1);
    before_.push_back(0);
  }

  /// Adds a slice to the pack, with the accumulator tokens that its sequence opens with it and closes after it.
  void add(const slice& s, bool is_shared, std::int64_t opens, std::int64_t closes) {
    if (shared_.empty()) return;
    const key which{!is_shared, is_shared ? s.sequence : sequence_id{}};  // rows come first
    auto of = std::find_if(open_.begin(), open_.end(), [&](const auto& one) { return one.first == which; });
    if (of == open_.end()) of = open_.insert(open_.end(), {which, {}});
    of->second.tokens += s.length.value, of->second.opens += opens, of->second.closes += closes;
    of->second.pairs += s.dense_pairs();
  }

  /// gradients: accumulator tokens before the pack
  void close(std::size_t pack, std::int64_t gradients) {
    if (shared_.empty()) return;
    if (open_.size() > 1) {
      if (!any_) list_others();
      any_ = true;
      std::sort(open_.begin(), open_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& [which, one] : open_) {
        const std::int64_t others = which.first ? 0 : others_of(pack, which.second);
        gradients += one.opens;
        calls_.push_back({one.tokens, others, gradients, one.pairs});
        gradients -= one.closes + others;
      }
    }
    open_.clear();
    before_.push_back(static_cast<std::uint32_t>(calls_.size()));
  }

  void into(workload& w) && {
    if (!any_) calls_.clear(), before_.clear();
    w.calls = std::move(calls_);
    w.calls_before = std::move(before_);
  }

 private:
  struct call {
    std::int64_t tokens{};
    std::int64_t opens{};
    std::int64_t closes{};
    double pairs{};
  };

  using key = std::pair<bool, sequence_id>;
  using row = std::tuple<std::size_t, sequence_id, std::int64_t>;  // pack, sequence, tokens of others

  void list_others() {
    for (const shared_row& one : shared_)
      if (one.pass == pass::backward) others_.emplace_back(one.pack.value, one.sequence, one.others.value);
    std::sort(others_.begin(), others_.end());
  }
  [[nodiscard]] std::int64_t others_of(std::size_t pack, sequence_id sequence) const {
    const auto found =
        std::lower_bound(others_.begin(), others_.end(), row{pack, sequence, std::numeric_limits<std::int64_t>::min()});
    return found == others_.end() || std::tie(std::get<0>(*found), std::get<1>(*found)) != std::tie(pack, sequence)
               ? 0
               : std::get<2>(*found);
  }

  std::span<const shared_row> shared_;
  bool any_{};
  std::vector<row> others_;                 // of backward rows, once it is known that some pack has several calls
  std::vector<std::pair<key, call>> open_;  // of the pack
  std::vector<backward_call> calls_;
  std::vector<std::uint32_t> before_;
};

SLIMPACK_DECL void follow_sequences(const partition& packs, std::span<const shared_row> shared,
                                    std::span<const sequence_id> parents, workload& w) {
  const forward_readers readers(packs.forward, parents);
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
  for (const pass p : both_passes) {
    w.pairs[p].clear();
    for (std::size_t i = 0; i < packs.of(p).size(); ++i) w.pairs[p].push_back(dense_pairs_of(packs.of(p)[i]));
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
