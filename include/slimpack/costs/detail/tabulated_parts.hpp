#ifndef SLIMPACK_COSTS_DETAIL_TABULATED_PARTS_HPP
#define SLIMPACK_COSTS_DETAIL_TABULATED_PARTS_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/detail/model_parts.hpp>
#include <slimpack/costs/detail/part_times.hpp>
#include <slimpack/costs/detail/step_ends.hpp>
#include <slimpack/costs/memory/saved_tensors.hpp>
#include <slimpack/costs/model/mixer.hpp>
#include <slimpack/costs/profiled.hpp>
#include <slimpack/costs/provenance.hpp>
#include <slimpack/costs/stage_options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// The times of a part, as a table holds them.
/// Source    grid: queries double from 64 on, prefixes grow fourfold from 256, packs by 3/2 and 4/3 in turn; of windows
///           and chosen keys queries do, too, and prefixes are also those from which on a window is full, since tables
///           of them are straight in queries; of chunks none beyond one. Between such points tables are off by less
///           than measurements are
struct part_samples {
  std::vector<costs::profiled::sample> slices{};
  std::vector<costs::profiled::pack_sample> packs{};
  seconds weight_token{};  ///< weight gradients, of the pack size where they are cheapest

  /// `longest`: up to where, at least. `full`: how many tiles of 128 queries and a head, of slices that run together,
  /// leave no multiprocessor idle.
  [[nodiscard]] static part_samples of(const part_times& part, tokens longest, std::int64_t full, std::int64_t heads) {
    part_samples made;
    costs::provenance unused;
    tokens top{64};  // the first power of two that is not below the longest
    while (top < longest && top < tokens{1 << 30}) top += top;
    for (const pass p : {pass::forward, pass::backward}) {
      for (tokens q{64}; q <= top; q += q) {
        const std::int64_t tiles = (q.value + 127) / 128 * heads;
        const auto copies = static_cast<int>((full + tiles - 1) / tiles);
        for (tokens prefix{}; prefix + q <= top; prefix = std::max(tokens{256}, prefix * 4)) {
          const seconds together = part.attention({}, q, prefix, p, copies, unused);
          const seconds alone = copies > 1 ? part.attention({}, q, prefix, p, 1, unused) : together;
          made.slices.push_back({p, 0, q, prefix + q, together, alone});
        }
      }
      const std::vector<costs::attention_span> spans = part.spans();
      for (std::size_t i = 1; i < spans.size(); ++i) made.add(part, spans[i], p, top, full, heads);
      for (tokens size{64}; size <= top; size += size)
        for (const tokens each : {size, {size.value / 2 * 3}})
          made.packs.push_back({p, 0, each, part.tokens_time(each, p, unused)});
    }
    made.weight_token = {std::numeric_limits<double>::infinity()};
    for (const costs::profiled::pack_sample& s : made.packs)
      if (s.pass == pass::backward)
        made.weight_token =
            std::min(made.weight_token, part.weight_gradients(s.size) * (1 / static_cast<double>(s.size.value)));
    return made;
  }

  std::vector<costs::attention_span> spans{};  ///< of `slices`, counted from 1

  /// The number of a span among all, counted from 1. A new one is added.
  static int number_of(const costs::attention_span& span, std::vector<costs::attention_span>& all) {
    const auto known = std::find(all.begin(), all.end(), span);
    const auto number = static_cast<int>(known - all.begin()) + 1;
    if (known == all.end()) all.push_back(span);
    return number;
  }

 private:
  /// Samples of layers that do not attend to all keys.
  void add(const part_times& part, const costs::attention_span& span, pass p, tokens top, std::int64_t full,
           std::int64_t heads) {
    const int number = number_of(span, spans);
    costs::provenance unused;
    const tokens most = span.has_borders() ? std::min(top, tokens{span.reach}) : top;
    std::set<tokens> queries{std::min(tokens{64}, most), most};
    for (tokens q{64}; q <= most; q += q) queries.insert({q, std::min(most, tokens{q.value / 2 * 3})});
    for (const tokens q : queries) {
      std::set<tokens> prefixes{tokens{}, most - q};
      for (const tokens each : {tokens{span.reach} - q, tokens{span.reach - 1}})
        if (span.reach > 0 && each > tokens{} && each + q <= most) prefixes.insert(each);
      for (tokens each{256}; each + q <= most; each = each * 4) prefixes.insert(each);
      const std::int64_t tiles = (q.value + 127) / 128 * heads;
      const auto copies = static_cast<int>((full + tiles - 1) / tiles);
      for (const tokens prefix : prefixes)
        slices.push_back({p, 0, q, prefix + q, part.attention(span, q, prefix, p, copies, unused), {}, number});
    }
  }
};

/// The tables of costs::profiled_of, part after part. Parts that hold the same have the same tables, which are asked of
/// kernels once.
class tabulated_parts {
 public:
  /// useful: the parts without what backward computes again. full, heads: of part_samples::of
  /// Requires  parts and options that outlive it
  tabulated_parts(const model_parts& parts, const model_parts& useful, const costs::stage_options& with,
                  std::int64_t full, std::int64_t heads)
      : parts_(parts), useful_(useful), with_(with), full_(full), heads_(heads) {}

  /// Adds a part: its slices and packs here, and what else is known of it to `beside`.
  /// waited: the message that a pack waits for; zero where none does
  void add(int part, const message_line& waited, costs::profiled::extras& beside) {
    const model_parts::part& own = parts_.parts()[static_cast<std::size_t>(part)];
    const part_times times = parts_.times(own);
    const known_time added = parts_.added_gradients(own);
    beside.sources.add(costs::work::elementwise, added.source, added.time);
    for (const pass p : both_passes) {
      times.tokens_time(whole, p, beside.sources);
      times.attention(whole, {}, p, 1, beside.sources);
    }
    add_shares(times, useful_.times(useful_.parts()[static_cast<std::size_t>(part)]), beside);

    const part_samples& known = table_of(own, times);
    for (costs::profiled::sample s : known.slices) {
      s.part = part;
      if (s.span > 0) s.span = part_samples::number_of(known.spans[static_cast<std::size_t>(s.span) - 1], beside.spans);
      slices_.push_back(s);
    }
    for (costs::profiled::pack_sample s : known.packs) {
      s.part = part;
      s.time += waited.empty + waited.token * static_cast<double>(s.size.value);
      if (s.pass == pass::backward) s.time += added.time;
      packs_.push_back(s);
    }
    if (const seconds call = times.slice_time(pass::forward); call > seconds{} || !beside.slice_call.forward.empty()) {
      for (const pass p : both_passes) {
        beside.slice_call[p].resize(static_cast<std::size_t>(part));
        beside.slice_call[p].push_back(times.slice_time(p));
      }
    }
    const seconds launches = with_.launch * static_cast<double>(own.layers.size());
    beside.forward_overhead.push_back(launches);
    beside.backward_overhead.push_back(launches * (with_.recompute == costs::recompute::full ? 3 : 2));
    beside.weight_token.push_back(known.weight_token);
  }

  [[nodiscard]] std::span<const costs::profiled::sample> slices() const noexcept { return slices_; }
  [[nodiscard]] std::span<const costs::profiled::pack_sample> packs() const noexcept { return packs_; }

 private:
  static constexpr tokens whole{8192};  // of the sequence by which shares are told

  /// What collectives have of a pass, and what useful work has of backward.
  void add_shares(const part_times& times, const part_times& first, costs::profiled::extras& beside) const {
    const auto share = [](seconds a, seconds b, double of_nothing) {
      return b > seconds{} ? std::min(1.0, a / b) : of_nothing;
    };
    const auto waited = [&](pass p) {
      costs::provenance spent;
      const seconds all = first.tokens_time(whole, p, spent);
      return share(spent.of(costs::work::traffic).total(), all, 0);
    };
    beside.collectives.push_back({waited(pass::forward), waited(pass::backward)});
    if (with_.recompute == costs::recompute::none) return;
    costs::provenance unused;
    beside.useful.push_back(
        {share(first.tokens_time(whole, pass::backward, unused), times.tokens_time(whole, pass::backward, unused), 1),
         share(first.attention(whole, {}, pass::backward, 1, unused),
               times.attention(whole, {}, pass::backward, 1, unused), 1)});
  }

  const part_samples& table_of(const model_parts::part& own, const part_times& times) {
    std::vector<double> holds = own.holds.layers;
    holds.insert(holds.end(),
                 {own.holds.embedding ? 1.0 : 0.0, own.holds.head ? 1.0 : 0.0, own.holds.norm ? 1.0 : 0.0});
    const auto [table, fresh] = tables_.try_emplace(std::move(holds));
    if (fresh) table->second = part_samples::of(times, with_.longest, full_, heads_);
    return table->second;
  }

  const model_parts& parts_;
  const model_parts& useful_;
  const costs::stage_options& with_;
  std::int64_t full_;
  std::int64_t heads_;
  std::map<std::vector<double>, part_samples> tables_;  // by what a part holds
  std::vector<costs::profiled::sample> slices_;
  std::vector<costs::profiled::pack_sample> packs_;
};

}  // namespace slimpack::detail

#endif
