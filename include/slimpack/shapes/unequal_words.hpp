#ifndef SLIMPACK_SHAPES_UNEQUAL_WORDS_HPP
#define SLIMPACK_SHAPES_UNEQUAL_WORDS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/shapes/layout.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::shapes {

/// What the words of a spread vocabulary take on a stage, and what the stage takes without them.
struct stage_words {
  double busy{};    ///< seconds of the batches, of layers
  double fixed{};   ///< bytes at any time, of no words
  double live{};    ///< bytes of a live token
  double logits{};  ///< bytes of a token whose logits are there, of no words
};

/// What words take on all stages: each word takes the same on any of them.
struct word_rates {
  std::vector<stage_words> stages{};
  double word_busy{};                                      ///< seconds of the batches
  double word_fixed{};                                     ///< bytes
  double word_logits{};                                    ///< bytes of a token
  double memory{std::numeric_limits<double>::infinity()};  ///< the limit in bytes
};

/// What words take on the stages of a layout whose vocabulary is spread.
/// cost_of   result<Cost>(const costs::model_shape&, const layout&), with Cost a cost model of these layouts
/// Formula   rates are straight lines in the words of a stage: through even shares, and through those where the first
///           stage gives the last half of its words
/// Errors    those of cost_of            Complexity  two cost models, O(sequences * parts)
template <class CostOf>
[[nodiscard]] result<word_rates> word_rates_of(const costs::model_shape& model, layout on,
                                               std::span<const std::vector<tokens>> batches, const CostOf& cost_of) {
  const int stages = on.shape.stages;
  on.shape.words.clear();
  const auto even = cost_of(model, on);
  if (!even) return even.error();
  const std::vector<std::int64_t> words = even_words(model.vocabulary, stages);
  on.shape.words = words;
  const std::int64_t moved = std::max<std::int64_t>(1, words.front() / 2);
  on.shape.words.front() -= moved, on.shape.words.back() += moved;
  const auto tilted = cost_of(model, on);
  if (!tilted) return tilted.error();
  tokens all{};
  for (const std::vector<tokens>& lengths : batches) all = std::accumulate(lengths.begin(), lengths.end(), all);
  const auto per_token = [](const auto& cost) {
    seconds sum{};
    for (const instruction_kind call : {instruction_kind::embed, instruction_kind::output,
                                        instruction_kind::output_weights, instruction_kind::embed_gradients})
      sum += vocabulary_time(cost, {16384}, call, 0) - vocabulary_time(cost, {}, call, 0);
    return sum.value / 16384;
  };
  const double by = 1 / static_cast<double>(moved);
  word_rates rates;
  rates.word_busy = (per_token(even.value()) - per_token(tilted.value())) * static_cast<double>(all.value) * by;
  const bool in_bytes = on.shape.memory && on.shape.memory->unit == memory_unit::byte;
  if (in_bytes) rates.memory = on.shape.memory->amount;
  for (int stage = 0; stage < stages; ++stage) {
    stage_words& own = rates.stages.emplace_back();
    for (int part = stage; part < on.shape.parts(); part += stages)
      for (const std::vector<tokens>& lengths : batches)
        for (std::uint32_t i = 0; i < lengths.size(); ++i)
          for (const pass p : both_passes) own.busy += least_time(even.value(), {{i}, {0}, lengths[i]}, p, part).value;
    const std::optional<memory_rates> held = memory_of(even.value(), stage);
    if (!held || !in_bytes) continue;
    if (stage == 0) {
      const memory_rates less = *memory_of(tilted.value(), stage);
      rates.word_fixed = (held->fixed - less.fixed) * by,
      rates.word_logits = (held->logit_token - less.logit_token) * by;
    }
    const auto share = static_cast<double>(words[static_cast<std::size_t>(stage)]);
    own.fixed = held->fixed - rates.word_fixed * share, own.live = held->live_token;
    own.logits = held->logit_token - rates.word_logits * share;
  }
  return rates;
}

namespace detail {

/// Shares of the words under which the busiest stage has least to do, none of more words than its cap.
/// Requires  caps that have room for all words together, each at least 1            Complexity  O(stages)
[[nodiscard]] inline std::vector<double> level_words(const word_rates& of, double all, std::span<const double> caps) {
  const std::size_t stages = of.stages.size();
  std::vector<double> words(stages);
  const auto filled = [&](double busy) {
    double sum = 0;
    for (std::size_t r = 0; r < stages; ++r)
      sum += words[r] = std::clamp((busy - of.stages[r].busy) / of.word_busy, 1.0, std::max(1.0, caps[r]));
    return sum;
  };
  double low = of.stages.front().busy, high = low;
  for (const stage_words& one : of.stages) low = std::min(low, one.busy), high = std::max(high, one.busy);
  high += of.word_busy * all;
  for (int round = 0; round < 100; ++round) {
    const double middle = (low + high) / 2;
    (filled(middle) < all ? low : high) = middle;
  }
  filled(high);
  return words;
}

/// Whole words that add up to all: where the words of a stage end is a multiple of a unit, but where one word is all
/// that it has, and on the last stage.
[[nodiscard]] inline std::vector<std::int64_t> whole_words(std::span<const double> words, std::int64_t all,
                                                           std::int64_t unit) {
  std::vector<std::int64_t> whole;
  double wanted = 0;
  std::int64_t end = 0;
  for (std::size_t stage = 0; stage < words.size(); ++stage) {
    wanted += words[stage];
    const std::int64_t next = stage + 1 == words.size() ? all : std::llround(wanted / static_cast<double>(unit)) * unit;
    whole.push_back(std::max(end + 1, next) - end);
    end += whole.back();
  }
  return whole;
}

}  // namespace detail

/// Shares of the words of a spread vocabulary that may shorten steps, beside even ones: at most five, each a
/// thirty-second or more off on some stage.
///  - those under which the busiest stage has least to do: layers may divide unevenly
///  - those under which packs may be larger. Stage r holds p - r packs at a time, so the first stages have least room,
///    and words that they give away make some. With n the tokens of a pack that fit beside even shares, and N those
///    that fit beside the best shares: as level as packs of n + (N - n) / 2 let them be, and as packs of N do. All that
///    stages hold counts as such packs; and once more a quarter of it, the rest being long sequences, which all hold
/// Source    derived
/// Shapes    result: lists of one count per stage, each at least 1, that add up to the vocabulary; none twice
/// Requires  at least two stages, and a word for each            Complexity  O(stages)
[[nodiscard]] inline std::vector<std::vector<std::int64_t>> unequal_words(const word_rates& of,
                                                                          const costs::model_shape& model,
                                                                          const shape& on) {
  const std::size_t stages = of.stages.size();
  const auto all = static_cast<double>(model.vocabulary);
  const std::int64_t tile = std::int64_t{128} * on.tensor;  // of a kernel of products on each rank
  const std::int64_t unit = model.vocabulary >= 8 * tile * on.stages ? tile : 1;
  const std::vector<std::int64_t> even = even_words(model.vocabulary, on.stages);
  std::vector<std::vector<std::int64_t>> found;
  if (!(of.word_busy > 0)) return found;
  const auto add = [&](std::span<const double> caps) {
    std::vector<std::int64_t> words = detail::whole_words(detail::level_words(of, all, caps), model.vocabulary, unit);
    const auto near = [&](std::int64_t own, std::int64_t other) {
      return std::abs(own - other) < std::max(unit, other / 32);
    };
    const bool is_known = std::find(found.begin(), found.end(), words) != found.end();
    if (std::accumulate(words.begin(), words.end(), std::int64_t{}) != model.vocabulary || is_known ||
        std::equal(words.begin(), words.end(), even.begin(), near))
      return;
    found.push_back(std::move(words));
  };
  add(std::vector<double>(stages, all));
  if (!std::isfinite(of.memory) || !(of.word_fixed > 0)) return found;
  const auto room = [&](std::size_t r, double words) { return of.memory - of.stages[r].fixed - of.word_fixed * words; };
  const auto held = [&](std::size_t r, double words) {  // of a token of each pack
    return of.stages[r].live * static_cast<double>(stages - r) + of.stages[r].logits + of.word_logits * words;
  };
  const auto least = [&](const auto& of_stage) {
    double value = std::numeric_limits<double>::infinity();
    for (std::size_t r = 0; r < stages; ++r) value = std::min(value, of_stage(r, static_cast<double>(even[r])));
    return value;
  };
  const double alone = least([&](std::size_t r, double words) { return room(r, words) / held(r, words); });
  if (!(alone > 0) || !std::isfinite(alone)) return found;
  for (const double share : {1.0, 0.25}) {
    const double size = share * alone;
    const double everywhere = least(
        [&](std::size_t r, double words) { return (room(r, words) - size * held(r, words)) / of.stages[r].live; });
    if (!std::isfinite(everywhere)) continue;
    const auto caps = [&](double n) {
      std::vector<double> most;
      for (std::size_t r = 0; r < stages; ++r)
        most.push_back((room(r, 0) - n * held(r, 0) - everywhere * of.stages[r].live) /
                       (of.word_fixed + n * of.word_logits));
      return most;
    };
    const auto fits = [&](double n) {
      double sum = 0, fewest = all;
      for (const double most : caps(n)) sum += std::min(most, all), fewest = std::min(fewest, most);
      return fewest >= 1 && sum >= all;
    };
    double low = size, high = 2 * size;
    for (int round = 0; round < 60; ++round) {
      const double middle = (low + high) / 2;
      (fits(middle) ? low : high) = middle;
    }
    for (const double way : {0.5, 1.0}) add(caps(size + way * (low - size)));
  }
  return found;
}

/// A layout once for each of these shares; none where its vocabulary is in one place, or the cost model refuses it.
/// Errors    none            Complexity  that of word_rates_of
template <class CostOf>
[[nodiscard]] std::vector<layout> with_unequal_words(const costs::model_shape& model, const layout& on,
                                                     std::span<const std::vector<tokens>> batches,
                                                     const CostOf& cost_of) {
  std::vector<layout> all;
  if (on.shape.vocabulary == vocabulary::last || on.shape.stages < 2 || model.vocabulary < on.shape.stages) return all;
  const result<word_rates> rates = word_rates_of(model, on, batches, cost_of);
  if (!rates) return all;
  for (std::vector<std::int64_t>& words : unequal_words(rates.value(), model, on.shape))
    all.push_back(on), all.back().shape.words = std::move(words);
  return all;
}

}  // namespace slimpack::shapes

#endif
