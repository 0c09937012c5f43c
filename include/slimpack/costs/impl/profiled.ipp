#ifndef SLIMPACK_COSTS_IMPL_PROFILED_IPP
#define SLIMPACK_COSTS_IMPL_PROFILED_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/profiled.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::costs {

namespace detail {

[[nodiscard]] inline error no_profile(std::string why) { return {errc::invalid_input, std::move(why)}; }

}  // namespace detail

SLIMPACK_DECL std::optional<error> profiled::fault(const sample& s, std::size_t i, bool has_packs, seconds weights) {
  const auto says = [&](const std::string& what) {
    return detail::no_profile("sample " + std::to_string(i) + " (" + name_of(s.pass) + ", part " +
                              std::to_string(s.part) + ", " + std::to_string(s.queries.value) + " queries, " +
                              std::to_string(s.keys.value) + " keys): " + what);
  };
  if (s.part < 0 || s.part > 65535) return says("parts are counted from 0 to 65535");
  if (s.queries < tokens{1} || s.keys > longest_supported)
    return says("tokens are counted from 1 to " + std::to_string(longest_supported.value));
  if (s.keys < s.queries) return says("keys are the prefix and the queries themselves, so no fewer than the queries");
  const bool has_time = s.time > seconds{} || (has_packs && s.time == seconds{});
  if (!has_time || s.time > seconds{1e12})
    return says("takes " + std::to_string(s.time.value) + " s, a time must be above 0 and at most 1e12 s");
  if (weights > seconds{} && !(s.time > weights))
    return says("takes " + std::to_string(s.time.value) + " s, a time must be more than the " +
                std::to_string(weights.value) + " s of its weight gradients");
  return std::nullopt;
}

SLIMPACK_DECL std::optional<error> profiled::fault(const pack_sample& s, std::size_t i, int parts, seconds weights) {
  const auto says = [&](const std::string& what) {
    return detail::no_profile("pack sample " + std::to_string(i) + " (" + name_of(s.pass) + ", part " +
                              std::to_string(s.part) + ", " + std::to_string(s.size.value) + " tokens): " + what);
  };
  if (s.part < 0 || s.part >= parts) return says("slices were measured on " + std::to_string(parts) + " parts");
  if (s.size < tokens{1} || s.size > longest_supported)
    return says("tokens are counted from 1 to " + std::to_string(longest_supported.value));
  if (!(s.time > weights) || !std::isfinite(s.time.value))
    return says("takes " + std::to_string(s.time.value) + " s, a time must be more than " +
                (weights > seconds{} ? "the " + std::to_string(weights.value) + " s of its weight gradients" : "0"));
  return std::nullopt;
}

SLIMPACK_DECL std::optional<error> profiled::fault(const extras& beside, std::size_t parts) {
  const auto is_time = [](seconds t) { return t >= seconds{} && std::isfinite(t.value); };
  for (const pass p : {pass::forward, pass::backward}) {
    const std::vector<seconds>& all = beside.overhead(p);
    if (!all.empty() && all.size() != parts)
      return detail::no_profile(std::to_string(all.size()) + " " + name_of(p) + " overheads for " +
                                std::to_string(parts) + " parts");
    for (std::size_t part = 0; part < all.size(); ++part)
      if (!is_time(all[part]))
        return detail::no_profile(std::string("the ") + name_of(p) + " overhead of part " + std::to_string(part) +
                                  " is " + std::to_string(all[part].value) + " s");
  }
  for (const auto& [what, t] : {std::pair{"a call", beside.call},
                                {"a message", beside.message},
                                {"a message's token", beside.message_token},
                                {"the reduction", beside.reduce}})
    if (!is_time(t)) return detail::no_profile(std::string(what) + " takes " + std::to_string(t.value) + " s");
  if (!beside.weight_token.empty() && beside.weight_token.size() != parts)
    return detail::no_profile(std::to_string(beside.weight_token.size()) + " times of a token's weight gradients for " +
                              std::to_string(parts) + " parts");
  for (const seconds t : beside.weight_token)
    if (!is_time(t)) return detail::no_profile("a token's weight gradients take " + std::to_string(t.value) + " s");
  if (!beside.useful.empty() && beside.useful.size() != parts)
    return detail::no_profile(std::to_string(beside.useful.size()) + " shares of useful work for " +
                              std::to_string(parts) + " parts");
  for (const useful_share& one : beside.useful)
    for (const double share : {one.tokens, one.attention})
      if (!(share >= 0 && share <= 1)) return detail::no_profile("a share of useful work is " + std::to_string(share));
  if (!beside.collectives.empty() && beside.collectives.size() != parts)
    return detail::no_profile(std::to_string(beside.collectives.size()) + " shares of collectives for " +
                              std::to_string(parts) + " parts");
  for (const collective_share& one : beside.collectives)
    for (const double share : {one.forward, one.backward})
      if (!(share >= 0 && share <= 1)) return detail::no_profile("a share of collectives is " + std::to_string(share));
  // A share of a spread vocabulary on each stage comes after the parts (shape::reduced_parts).
  if (!beside.buckets.empty() && beside.buckets.size() != parts &&
      !(!beside.vocabulary.empty() && beside.buckets.size() > parts))
    return detail::no_profile("buckets of gradients of " + std::to_string(beside.buckets.size()) + " parts for " +
                              std::to_string(parts));
  for (const double each : beside.pair_bytes)
    if (!(each >= 0) || !std::isfinite(each))
      return detail::no_profile("a pair keeps " + std::to_string(each) + " bytes");
  for (const double each : beside.piece_bytes)
    if (!(each >= 0) || !std::isfinite(each))
      return detail::no_profile("a piece keeps " + std::to_string(each) + " bytes");
  for (const pass p : both_passes) {
    const std::vector<seconds>& all = beside.slice_call[p];
    if (!all.empty() && all.size() != parts)
      return detail::no_profile(std::to_string(all.size()) + " " + name_of(p) + " times of a slice for " +
                                std::to_string(parts) + " parts");
    for (const seconds t : all)
      if (!is_time(t)) return detail::no_profile("a slice takes " + std::to_string(t.value) + " s besides");
  }
  for (const evaluation_keeps& one : beside.evaluation_kept) {
    if (!(one.states >= 0) || !std::isfinite(one.states))
      return detail::no_profile("a sequence keeps " + std::to_string(one.states) + " bytes of states");
    for (const evaluation_keeps::near_keys& keys : one.near)
      if (!(keys.token >= 0) || !std::isfinite(keys.token) || keys.reach < 1)
        return detail::no_profile("a sequence keeps " + std::to_string(keys.token) + " bytes of each of its last " +
                                  std::to_string(keys.reach) + " tokens");
  }
  if (!beside.evaluation_kept.empty() && beside.evaluation_kept.size() != beside.evaluation_memory.size())
    return detail::no_profile(std::to_string(beside.evaluation_kept.size()) + " stages keep bytes of sequences, of " +
                              std::to_string(beside.evaluation_memory.size()) + " with rates of evaluations");
  for (const pass p : both_passes) {
    const std::vector<slice_growth>& all = beside.growth[p];
    if (!all.empty() && all.size() != parts)
      return detail::no_profile(std::to_string(all.size()) + " " + name_of(p) + " growths of slices for " +
                                std::to_string(parts) + " parts");
    for (std::size_t part = 0; part < all.size(); ++part)
      for (const seconds t : all[part].all())
        if (!is_time(t) || t > seconds{1e12})
          return detail::no_profile(std::string("the ") + name_of(p) + " growth of slices on part " +
                                    std::to_string(part) + " has a coefficient of " + std::to_string(t.value) +
                                    " s, which must be from 0 to 1e12 s");
  }
  for (const attention_span& span : beside.spans)
    if (!attends(span.how) || span.reach < 0 || (span.how != mixing::sampled && span.reach == 0))
      return detail::no_profile("a span of keys needs a reach of at least one token");
  for (const std::vector<memory_rates>* const rates : {&beside.memory, &beside.evaluation_memory})
    if (!rates->empty() && parts % rates->size() != 0)
      return detail::no_profile(std::to_string(rates->size()) + " memory rates for " + std::to_string(parts) +
                                " parts: give one per stage");
  return std::nullopt;
}

struct profiled::measured {
  using slice_points = std::vector<time_table::point>;
  using pack_points = std::vector<token_table::point>;

  struct of_part {
    by_pass<slice_points> together, alone;
    by_pass<std::vector<slice_points>> near;  // of each span
    by_pass<pack_points> packs;
    by_pass<slice_growth> growth;  // of what tables hold; nothing: it is fitted
    friend bool operator==(const of_part&, const of_part&) = default;
  };

  std::vector<of_part> parts;
  bool has_packs{};
  bool thin{};  // a slice is slower alone

  /// Of a pass of so many tokens, which tables do not hold.
  [[nodiscard]] seconds weights_of(const extras& beside, pass p, int part, tokens size) const noexcept {
    if (p == pass::forward || beside.weight_token.empty() || part < 0 || static_cast<std::size_t>(part) >= parts.size())
      return {};
    return beside.weight_token[static_cast<std::size_t>(part)] * static_cast<double>(size.value);
  }

  /// Growths of slices, less weight gradients where tables of slices do not hold them.
  void add_growth(const extras& beside) {
    for (const pass p : both_passes)
      for (std::size_t part = 0; part < beside.growth[p].size(); ++part) {
        slice_growth& own = parts[part].growth[p] = beside.growth[p][part];
        if (!has_packs) own.token = std::max(seconds{}, own.token - weights_of(beside, p, static_cast<int>(part), {1}));
      }
  }

  [[nodiscard]] std::optional<error> add(const sample& s, std::size_t i, const extras& beside) {
    const seconds weights = has_packs ? seconds{} : weights_of(beside, s.pass, s.part, s.queries);
    if (std::optional<error> wrong = fault(s, i, has_packs, weights)) return wrong;
    of_part& own = parts[static_cast<std::size_t>(s.part)];
    const tokens prefix = s.keys - s.queries;
    if (s.span < 0 || static_cast<std::size_t>(s.span) > beside.spans.size())
      return detail::no_profile("sample " + std::to_string(i) + " is of span " + std::to_string(s.span) + " of " +
                                std::to_string(beside.spans.size()));
    if (s.span > 0) {
      std::vector<slice_points>& all = own.near[s.pass];
      all.resize(beside.spans.size());
      all[static_cast<std::size_t>(s.span) - 1].push_back({s.queries, prefix, s.time});
      return std::nullopt;
    }
    own.together[s.pass].push_back({s.queries, prefix, s.time - weights});
    own.alone[s.pass].push_back({s.queries, prefix, std::max(s.time, s.alone) - weights});
    thin = thin || s.alone > s.time;
    return std::nullopt;
  }
  [[nodiscard]] std::optional<error> add(const pack_sample& s, std::size_t i, const extras& beside) {
    const seconds weights = weights_of(beside, s.pass, s.part, s.size);
    if (std::optional<error> wrong = fault(s, i, static_cast<int>(parts.size()), weights)) return wrong;
    parts[static_cast<std::size_t>(s.part)].packs[s.pass].push_back({s.size, s.time - weights});
    return std::nullopt;
  }

  /// A pass of a part without times.
  [[nodiscard]] std::optional<error> lack() const {
    for (std::size_t part = 0; part < parts.size(); ++part)
      for (const pass p : both_passes) {
        const bool no_slices = parts[part].together[p].empty();
        if (no_slices || (has_packs && parts[part].packs[p].empty()))
          return detail::no_profile(std::string("no ") + name_of(p) + " times of " + (no_slices ? "" : "packs on ") +
                                    "part " + std::to_string(part) + " of " + std::to_string(parts.size()));
        const auto takes_none = [](const time_table::point& one) { return one.time == seconds{}; };
        for (const slice_points* const all : {&parts[part].together[p], &parts[part].alone[p]})
          if (const auto none = std::count_if(all->begin(), all->end(), takes_none);
              none > 0 && none < std::ssize(*all))
            return detail::no_profile(std::to_string(none) + " of " + std::to_string(all->size()) + " " + name_of(p) +
                                      " slices on part " + std::to_string(part) + " take 0 s, and others do not: all " +
                                      "of them do, where a part has no attention, or none");
      }
    return std::nullopt;
  }
};

SLIMPACK_DECL result<profiled> profiled::make(std::span<const sample> samples, std::span<const pack_sample> packs,
                                              extras beside) {
  int parts = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (std::optional<error> wrong = fault(samples[i], i, !packs.empty())) return std::move(*wrong);
    parts = std::max(parts, samples[i].part + 1);
  }
  if (parts == 0) return detail::no_profile("no samples: a profile needs times of both passes on every part");
  if (std::optional<error> wrong = fault(beside, static_cast<std::size_t>(parts))) return std::move(*wrong);
  measured seen{std::vector<measured::of_part>(static_cast<std::size_t>(parts)), !packs.empty()};
  seen.add_growth(beside);
  for (std::size_t i = 0; i < samples.size(); ++i)
    if (std::optional<error> wrong = seen.add(samples[i], i, beside)) return std::move(*wrong);
  for (std::size_t i = 0; i < packs.size(); ++i)
    if (std::optional<error> wrong = seen.add(packs[i], i, beside)) return std::move(*wrong);
  if (std::optional<error> wrong = seen.lack()) return std::move(*wrong);

  profiled made;
  std::vector<std::size_t> first;  // part of each kind
  for (std::size_t part = 0; part < seen.parts.size(); ++part) {
    const auto has_same = [&](std::size_t other) { return seen.parts[part] == seen.parts[other]; };
    made.kind_.push_back(static_cast<std::size_t>(std::find_if(first.begin(), first.end(), has_same) - first.begin()));
    if (made.kind_.back() == first.size()) first.push_back(part);
  }
  for (const std::size_t part : first)
    for (const pass p : both_passes) {
      const slice_growth& growth = seen.parts[part].growth[p];
      made.slices_.emplace_back(std::move(seen.parts[part].together[p]), growth);
      std::vector<measured::slice_points>& near = seen.parts[part].near[p];
      for (std::size_t i = 0; i < near.size(); ++i)
        if (!near[i].empty()) made.near_.push_back({beside.spans[i], time_table(std::move(near[i]), beside.spans[i])});
      made.near_from_.push_back(made.near_.size());
      if (seen.thin) made.alone_.emplace_back(std::move(seen.parts[part].alone[p]), growth);
      if (seen.has_packs) made.packs_.emplace_back(std::move(seen.parts[part].packs[p]));
    }
  made.beside_ = std::move(beside);
  for (int part = 0; part < parts; ++part) {
    int like = 0;
    while (like < part && !made.answers_alike(like, part)) ++like;
    made.like_.push_back(like);
  }
  return made;
}

}  // namespace slimpack::costs

#endif
