#ifndef SLIMPACK_PROFILING_TRIALS_HPP
#define SLIMPACK_PROFILING_TRIALS_HPP

#include <slimpack/core/plan.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::profiling {

/// Packs of made-up sequences. They run forward in this order, and then backward from the last to the first, so that a
/// stage holds what it keeps of the others while it runs one, as in a step.
struct trial {
  std::vector<std::vector<slice>> packs;  ///< of whole sequences, whose slices rise
  bool apart{};                           ///< weight gradients run in calls of their own

  /// Of its sequences, by id.
  [[nodiscard]] std::vector<tokens> lengths() const {
    std::vector<tokens> all;
    for (const std::vector<slice>& pack : packs)
      for (const slice& s : pack) {
        if (all.size() <= s.sequence.value) all.resize(s.sequence.value + 1);
        all[s.sequence.value] = std::max(all[s.sequence.value], s.end());
      }
    return all;
  }
  friend bool operator==(const trial&, const trial&) = default;
};

/// Sequences side by side, all cut into these slices: a pack for each slice. `times` of them, one after the other.
[[nodiscard]] inline trial side_by_side(std::int64_t copies, std::span<const tokens> slices, std::int64_t times = 1) {
  trial made;
  for (std::int64_t n = 0; n < times; ++n) {
    tokens at{};
    for (const tokens length : slices) {
      std::vector<slice>& pack = made.packs.emplace_back();
      for (std::int64_t k = 0; k < copies; ++k)
        pack.push_back({{static_cast<std::uint32_t>(n * copies + k)}, at, length});
      at += length;
    }
  }
  return made;
}

/// What a trial has of all that a time is made of.
struct trial_size {
  double calls{}, slices{}, tokens{}, pairs{};
};
[[nodiscard]] inline trial_size size_of(const trial& t) {
  trial_size size;
  size.calls = static_cast<double>(t.packs.size()) * (t.apart ? 3 : 2);
  for (const std::vector<slice>& pack : t.packs)
    for (const slice& s : pack)
      size.slices += 1, size.tokens += static_cast<double>(s.length.value), size.pairs += s.pairs();
  return size;
}

/// "3 packs with 12 slices of 16 to 512 tokens".
[[nodiscard]] inline std::string text_of(const trial& t) {
  std::size_t slices = 0;
  tokens least{}, most{};
  for (const std::vector<slice>& pack : t.packs)
    for (const slice& s : pack) {
      least = slices == 0 ? s.length : std::min(least, s.length), most = std::max(most, s.length);
      ++slices;
    }
  const auto many = [](std::size_t n, const char* what) { return std::to_string(n) + what + (n == 1 ? "" : "s"); };
  return many(t.packs.size(), " pack") + " with " + many(slices, " slice") + " of " + std::to_string(least.value) +
         (least < most ? " to " + std::to_string(most.value) : "") + (most == tokens{1} ? " token" : " tokens") +
         (t.apart ? ", weight gradients apart" : "");
}

namespace detail {

/// 16, 24, 32, 48, 64, ... below the longest, and that itself.
[[nodiscard]] inline std::vector<std::int64_t> trial_lengths(std::int64_t most) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t n = 16; n < most; n *= 2) {
    lengths.push_back(n);
    if (n + n / 2 < most) lengths.push_back(n + n / 2);
  }
  lengths.push_back(most);
  return lengths;
}

/// The longest cut into 1, 2, 4, ... quanta up to half of it, then again from 1. The last may be off the quantum.
[[nodiscard]] inline std::vector<tokens> slices_of_all_sizes(std::int64_t most, std::int64_t quantum) {
  std::vector<tokens> slices;
  std::int64_t n = std::min(quantum, most);
  for (std::int64_t at = 0; at < most; at += slices.back().value) {
    slices.push_back({std::min(n, most - at)});
    n = 4 * n > most ? std::min(quantum, most) : 2 * n;
  }
  return slices;
}

/// Packs each of which holds a sequence of n tokens, one of n / 2, one of n / 4 and so on.
[[nodiscard]] inline trial falling_lengths(std::int64_t n, std::int64_t least, std::int64_t times) {
  trial made;
  std::uint32_t id = 0;
  for (std::int64_t k = 0; k < times; ++k) {
    std::vector<slice>& pack = made.packs.emplace_back();
    for (std::int64_t length = n; length >= least; length /= 2) pack.push_back({{id++}, {0}, {length}});
  }
  return made;
}

/// A sequence of n tokens in four slices, each in the company of whole sequences of a half and an eighth of it.
[[nodiscard]] inline trial slices_in_company(std::int64_t n, std::int64_t quantum) {
  trial made;
  const std::int64_t each = std::max(n / 4 / quantum, std::int64_t{1}) * quantum;
  std::uint32_t id = 1;
  for (std::int64_t at = 0, size = 0; at < n; at += size) {
    size = n - at < 2 * each ? n - at : each;
    std::vector<slice>& pack = made.packs.emplace_back();
    pack.push_back({{0}, {at}, {size}});
    for (const std::int64_t whole : {each / 2, each / 8})
      if (whole > 0) pack.push_back({{id++}, {0}, {whole}});
  }
  return made;
}

}  // namespace detail

/// What is run to know what slices, packs and pairs take, in the order of their attended pairs, the fewest first:
///
///   whole sequences of 2^k and 1.5 x 2^k tokens, short ones in company as in training
///   the longest cut into slices of all sizes, in two orders, so that each meets several prefixes
///   sequences of unlike lengths in a pack, and slices of a long one in the company of short ones
///   the shortest alone and eight together
///   whole sequences again where weight gradients may run apart
///
/// Up to three packs of a kind are there at a time: no trial has more tokens than the longest sequence, or than
/// `company` if that is more.
/// Shapes    longest: of a sequence; company: tokens of a pack of short ones
/// Requires  longest >= 1            Complexity  O(log longest) trials of the longest sequence
[[nodiscard]] inline std::vector<trial> trials_for(tokens longest, tokens quantum, bool apart,
                                                   tokens company = {1024}) {
  std::vector<trial> all;
  const std::int64_t most = longest.value, least = std::min<std::int64_t>(most, 16),
                     room = std::max(most, company.value);
  const auto times = [room](std::int64_t size) { return std::clamp<std::int64_t>(room / size, 1, 3); };
  const std::vector<std::int64_t> lengths = detail::trial_lengths(most);
  std::vector<trial> whole;
  for (const std::int64_t n : lengths) {
    const std::int64_t copies = std::max<std::int64_t>(company.value / n, 1);
    whole.push_back(side_by_side(copies, std::vector<tokens>{{n}}, times(copies * n)));
  }
  all = whole;
  std::vector<tokens> cut = detail::slices_of_all_sizes(most, quantum.value);
  all.push_back(side_by_side(1, cut));
  std::reverse(cut.begin(), cut.end() - 1);
  all.push_back(side_by_side(1, cut));
  for (std::int64_t n = most / 2; n >= 2 * least; n /= 4) {
    all.push_back(detail::falling_lengths(n, least, times(2 * n)));
    if (n / 4 >= quantum.value) all.push_back(detail::slices_in_company(n, quantum.value));
  }
  for (const std::int64_t together : {1, 8})
    all.push_back(side_by_side(together, std::vector<tokens>{{least}}, times(together * least)));
  if (apart)
    for (trial& t : whole) t.apart = true, all.push_back(std::move(t));
  std::stable_sort(all.begin(), all.end(),
                   [](const trial& a, const trial& b) { return size_of(a).pairs < size_of(b).pairs; });
  return all;
}

/// The plan of a trial: all forwards chunk after chunk, then all backwards. Each stage runs every pack on each chunk.
[[nodiscard]] inline plan plan_of(const trial& t, shape on) {
  on = with_whole_vocabulary(std::move(on));
  on.replicas = 1, on.memory.reset();
  on.quantum = {1};  // the last slice of the longest may lie before others
  plan p;
  p.shape = on;
  replica_plan& r = p.replicas.emplace_back();
  p.lengths = t.lengths();
  for (std::uint32_t s = 0; s < p.lengths.size(); ++s) r.sequences.push_back({s});
  const auto push = [](micropacks& packs, const std::vector<slice>& pack) {
    for (const slice& s : pack) packs.push(s);
    packs.close();
  };
  for (auto pack = t.packs.begin(); pack != t.packs.end(); ++pack) push(r.partition.forward, *pack);
  for (auto pack = t.packs.rbegin(); pack != t.packs.rend(); ++pack) push(r.partition.backward, *pack);
  const auto packs = static_cast<std::uint32_t>(t.packs.size()), chunks = static_cast<std::uint32_t>(on.chunks);
  program code;
  for (std::uint32_t c = 0; c < chunks; ++c)
    for (std::uint32_t i = 0; i < packs; ++i) code.push_back({instruction_kind::forward, {i}, c});
  for (std::uint32_t c = chunks; c-- > 0;)
    for (std::uint32_t i = 0; i < packs; ++i) {
      code.push_back({instruction_kind::backward, {i}, c});
      if (t.apart) code.push_back({instruction_kind::weights, {i}, c});
    }
  r.programs.assign(static_cast<std::size_t>(on.stages), code);
  if (t.apart) r.times.apart.flags.assign(packs, 1);
  return p;
}

}  // namespace slimpack::profiling

#endif
