#ifndef SLIMPACK_PRICING_PRICE_HPP
#define SLIMPACK_PRICING_PRICE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/order/detail/sequence_numbers.hpp>
#include <slimpack/core/order/releases.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/pricing/detail/reduction_waits.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/pricing/workload.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack {

namespace detail {

/// Fills what the layers take for the packs of a pass, and the messages between parts.
template <class Cost>
void price_layers(const micropacks& packs, pass p, const Cost& cost, int parts, timings& times) {
  std::vector<std::int64_t>& before = times.before[p];
  before.reserve(packs.size() + 1);
  before.assign(1, 0);
  for (std::size_t i = 0; i < packs.size(); ++i) before.push_back(before.back() + size_of(packs[i]).value);
  const auto row = static_cast<std::size_t>(parts);
  std::vector<seconds>& calls = times.calls[p];
  std::vector<seconds>& messages = times.messages[p];
  calls.assign(packs.size() * row, seconds{});
  messages.assign(packs.size() * row, seconds{});
  const int last = nth_place(p, parts - 1, parts);  // no message leaves the last part of a pass
  for (int part = 0; part < parts; ++part) {
    const auto column = static_cast<std::size_t>(part);
    const auto like = static_cast<std::size_t>(like_of(cost, part));
    for (std::size_t i = 0; i < packs.size(); ++i)
      calls[i * row + column] = like < column ? calls[i * row + like] : pack_time(cost, packs[i], p, part);
    if (part == last) continue;
    for (std::size_t i = 0; i < packs.size(); ++i)
      messages[i * row + column] = message_time(cost, {before[i + 1] - before[i]}, p, part);
  }
}

/// What priced backward packs take in two parts. Each W is a launch of its own, with a pack's overhead, and that of its
/// calls.
template <class Cost>
void split_backward(const micropacks& packs, const Cost& cost, int parts, workload& w) {
  const std::vector<seconds>& whole = w.times.calls[pass::backward];
  w.split.inputs.reserve(whole.size());
  w.split.weights.reserve(whole.size());
  for (std::size_t i = 0; i < packs.size(); ++i) {
    for (int part = 0; part < parts; ++part) {
      seconds weights{};
      for (const slice& s : packs[i]) weights += weight_time(cost, s, part);
      w.split.inputs.push_back(std::max(seconds{}, whole[w.split.inputs.size()] - weights));
      const seconds calls = call_overhead_of(cost, pass::backward, part) * static_cast<double>(packs[i].size());
      w.split.weights.push_back(pack_overhead(cost, pass::backward, part) + weights + calls);
    }
  }
}

/// What a stage takes for so many tokens of a pack, by a column of times.
/// Requires  c.each() is stages
template <class Cost>
[[nodiscard]] seconds time_on_stage(const Cost& cost, tokens size, time_column c, int stage, const shape& on) {
  if (c.is_call()) return vocabulary_time(cost, size, c.call(), stage);
  return sends(c.message(), stage, on) ? vocabulary_message(cost, size, c.message(), stage) : seconds{};
}

/// The ends of the model, where its vocabulary is spread over the stages, and the messages to and from them.
template <class Cost>
void price_vocabulary(const partition& packs, const Cost& cost, workload& w) {
  const int stages = w.shape.stages;
  const auto parts = static_cast<std::size_t>(w.shape.parts());
  for (std::size_t i = 0; i < packs.backward.size(); ++i)
    w.times.messages[pass::backward][i * parts] = message_time(cost, size_of(packs.backward[i]), pass::backward, 0);
  for (const time_column c : time_columns) {
    if (c.each() != places::stages) continue;
    const micropacks& of = packs.of(c.pass());
    std::vector<seconds>& times = w.times[c];
    times.reserve(of.size() * static_cast<std::size_t>(stages));
    for (std::size_t i = 0; i < of.size(); ++i)
      for (int r = 0; r < stages; ++r) times.push_back(time_on_stage(cost, size_of(of[i]), c, r, w.shape));
  }
}

/// Adds to each forward pack's message to the stage that stands for a spread vocabulary what V waits for on its way.
inline void wait_for_turn(seconds wait, workload& w) {
  const auto parts = static_cast<std::size_t>(w.shape.parts());
  w.turn_wait = wait;
  std::vector<seconds>& messages = w.times.messages[pass::forward];
  for (std::size_t cell = parts - 2; cell < messages.size(); cell += parts) messages[cell] += wait;
}

/// What slices of sequences that are in no row cover of the exchanges of their pack, by pack and part.
template <class Cost>
std::vector<seconds> covered_exchanges(const partition& packs, const Cost& cost, std::span<const shared_row> shared,
                                       pass p, std::size_t parts) {
  std::vector<seconds> covered(packs.of(p).size() * parts);
  std::vector<sequence_id> in_rows;
  for (const shared_row& row : shared) in_rows.push_back(row.sequence);
  std::sort(in_rows.begin(), in_rows.end());
  std::vector<bool> seen(packs.of(p).size());  // for another of its rows
  for (const shared_row& row : shared) {
    if (row.pass != p || seen[row.pack.value]) continue;
    seen[row.pack.value] = true;
    const std::size_t first = row.pack.value * parts;
    for (const slice& s : packs.of(p)[row.pack.value])
      if (!std::binary_search(in_rows.begin(), in_rows.end(), s.sequence))
        for (std::size_t part = 0; part < parts; ++part)
          covered[first + part] += covered_time(cost, s, p, like_of(cost, static_cast<int>(part)));
  }
  return covered;
}

/// Adds what sharing costs to the packs of rows, as far as nothing covers it.
template <class Cost>
void add_exchanges(const partition& packs, const Cost& cost, std::span<const shared_row> shared, workload& w) {
  const auto parts = static_cast<std::size_t>(w.shape.parts());
  std::vector<slice> mine;
  std::vector<seconds> exchanges(parts);
  by_pass<std::vector<seconds>> covered;  // what is left of it
  if constexpr (covers_exchanges<Cost>)
    if (!shared.empty())
      for (const pass p : both_passes) covered[p] = covered_exchanges(packs, cost, shared, p, parts);
  for (const shared_row& row : shared) {
    mine.clear();
    for (const slice& s : packs.of(row.pass)[row.pack.value])
      if (s.sequence == row.sequence) mine.push_back(s);
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t cell = row.pack.value * parts + part;
      const auto like = static_cast<std::size_t>(like_of(cost, static_cast<int>(part)));
      exchanges[part] =
          like < part ? exchanges[like] : exchange_time(cost, row, mine, row.pass, static_cast<int>(part));
      seconds exchange = exchanges[part];
      if constexpr (covers_exchanges<Cost>) {
        seconds& left = covered[row.pass][cell];
        const seconds beside = std::min(exchange, left);
        exchange -= beside, left -= beside;
      }
      w.times.calls[row.pass][cell] += exchange;
      w.times.communication += exchange;
      if (row.pass == pass::backward && !w.split.inputs.empty()) w.split.inputs[cell] += exchange;
    }
  }
}

/// Fills what depends on which sequence is where: turn (phi) and the accumulators of dK and dV. Of a sequence that
/// replicas share, a replica has those of its own tokens and of what it keeps of the others'. Where there are no
/// backward packs, what forward packs let go of. And the dense pairs of each pack.
/// Shapes    parents: those of price
/// Requires  backward packs of sequences that run forward            Complexity  O(slices log sequences + rows)
void follow_sequences(const partition& packs, std::span<const shared_row> shared, std::span<const sequence_id> parents,
                      workload& w);

/// Whether the longest sequence keeps anything on any stage, as one piece or, of its last token, behind others.
template <class Cost>
bool keeps_any(const partition& packs, const Cost& cost, int stages) {
  tokens longest{};
  for (const slice& s : packs.forward.slices()) longest = std::max(longest, s.end());
  for (int stage = 0; stage < stages && longest > tokens{}; ++stage)
    for (const tokens begin : {tokens{}, longest - tokens{1}}) {
      const slice piece{{}, begin, longest - begin};
      if ((packs.backward.empty() ? evaluation_kept_of(cost, piece, stage, {}) : kept_of(cost, piece, stage)) > bytes{})
        return true;
    }
  return false;
}

/// Fills what forward packs that run alone keep beside their tokens, and what they let go of (workload::ended_kept).
/// Complexity O(stages * slices log sequences)
template <class Cost>
void follow_kept_alone(const micropacks& forward, const Cost& cost, std::span<const sequence_id> parents, workload& w) {
  const forward_readers readers(forward, parents);
  const sequence_numbers number(forward);
  std::vector<tokens> first(number.count(), longest_supported);  // of a sequence's tokens that run here
  for (const slice& s : forward.slices()) first[number(s.sequence)] = std::min(first[number(s.sequence)], s.begin);
  const std::size_t row = forward.size() + 1, cells = static_cast<std::size_t>(w.shape.stages) * row;
  std::vector<double>&acquired = w.times.kept.forward, &released = w.times.kept.backward;
  acquired.assign(cells, 0), released.assign(cells, 0);
  for (std::size_t begin = 0; begin < cells; begin += row) {
    const int stage = static_cast<int>(begin / row);
    for (std::size_t i = 0; i < forward.size(); ++i)
      for (const slice& s : forward[i]) {
        const double kept = std::ceil(evaluation_kept_of(cost, s, stage, first[number(s.sequence)]).value);
        acquired[begin + i + 1] += kept, released[begin + readers.last(s) + 1] += kept;
      }
    for (std::vector<double>* const sums : {&acquired, &released})
      for (std::size_t i = begin + 1; i < begin + row; ++i) (*sums)[i] += (*sums)[i - 1];
  }
}

/// Fills what packs keep beside their tokens. Whole bytes, so that sums are exact in any order and end at 0.
template <class Cost>
void follow_kept(const partition& packs, const Cost& cost, std::span<const sequence_id> parents, workload& w) {
  if (packs.backward.empty()) return follow_kept_alone(packs.forward, cost, parents, w);
  const common_cuts cuts(packs);
  for (const pass p : {pass::forward, pass::backward}) {
    const micropacks& of_pass = packs.of(p);
    std::vector<double>& kept = w.times.kept[p];
    kept.reserve(static_cast<std::size_t>(w.shape.stages) * (of_pass.size() + 1));
    for (int stage = 0; stage < w.shape.stages; ++stage) {
      double sum = 0;
      kept.push_back(sum);
      for (std::size_t i = 0; i < of_pass.size(); ++i) {
        for (const slice& s : of_pass[i])
          cuts.each_piece(s, p, [&](const slice& piece) { sum += std::ceil(kept_of(cost, piece, stage).value); });
        kept.push_back(sum);
      }
    }
  }
}

/// Adds the keys and values that packs of shared rows keep of the others' tokens.
void keep_others(std::span<const shared_row> shared, workload& w);

}  // namespace detail

/// What each stage holds per token under the shape's memory limit. Bytes need a cost model that knows them.
/// Without a limit, bytes are reported where the model knows them, else tokens.
/// Errors    invalid_input: a limit in bytes under a cost model without memory            Complexity  O(stages)
template <class Cost>
result<std::vector<memory_rates>> rates_of(const Cost& cost, const shape& shape) {
  std::vector<memory_rates> rates(static_cast<std::size_t>(shape.stages));
  if (shape.memory && shape.memory->unit == memory_unit::token) return rates;
  for (int stage = 0; stage < shape.stages; ++stage) {
    const std::optional<memory_rates> known = memory_of(cost, stage);
    if (!known && shape.memory)
      return error{errc::invalid_input, "this cost model knows no bytes: give the memory limit in tokens"};
    if (known) rates[static_cast<std::size_t>(stage)] = *known;
  }
  return rates;
}

/// The unit that rates_of answers in.
template <class Cost>
[[nodiscard]] memory_unit unit_of(const Cost& cost, const shape& shape) {
  if (shape.memory) return shape.memory->unit;
  return memory_of(cost, 0) ? memory_unit::byte : memory_unit::token;
}

/// What each stage holds per token where forward packs run alone: what the cost model says of evaluations, or else of
/// steps.
/// Errors    those of rates_of            Complexity  O(stages)
template <class Cost>
result<std::vector<memory_rates>> evaluation_rates_of(const Cost& cost, const shape& shape) {
  result<std::vector<memory_rates>> rates = rates_of(cost, shape);
  if (!rates || unit_of(cost, shape) == memory_unit::token) return rates;
  for (std::size_t stage = 0; stage < rates.value().size(); ++stage)
    if (const std::optional<memory_rates> known = evaluation_memory_of(cost, static_cast<int>(stage)))
      rates.value()[stage] = *known;
  return rates;
}

/// Prices one replica's packs: all that schedules and the simulator read. Packs without backward ones are run forward
/// alone.
/// Shapes    rates: one per stage, from rates_of, or evaluation_rates_of without backward packs;
///           weights: weight_gradients_of<Schedule> (schedules/hooks.hpp); shared: the rows that the replica takes part
///           in (core/merge.hpp); parents: by sequence_id of the packs, where samples share beginnings; else empty
/// Where the shape spreads the vocabulary, its calls have times of their own. A search leaves it to its cost model to
/// count them to layers (detail/vocabulary_turn.hpp), and prices a shape that does not.
/// Requires  a cost model with vocabulary_time where the shape spreads the vocabulary, and whose `like` keeps to its
///           range
/// Errors    none            Complexity  O(slices * (parts + log sequences))
template <class Cost>
[[nodiscard]] workload price(const partition& packs, const Cost& cost, const shape& shape,
                             std::vector<memory_rates> rates, weight_gradients weights = weight_gradients::with_inputs,
                             std::span<const shared_row> shared = {}, std::span<const sequence_id> parents = {}) {
  // Of several replicas (solvers/divide/stand_in_cost.hpp), or of the model that it stands before
  // (solvers/detail/any_policies.hpp).
  if constexpr (requires {
                  { cost.priced(packs, shape, rates, weights, shared, parents) } -> std::same_as<workload>;
                }) {
    return cost.priced(packs, shape, rates, weights, shared, parents);
  } else {
    workload w;
    w.shape = shape;
    for (const pass p : both_passes) detail::price_layers(packs.of(p), p, cost, shape.parts(), w.times);
    if (weights == weight_gradients::apart) detail::split_backward(packs.backward, cost, shape.parts(), w);
    if constexpr (requires { cost.turn_wait(w); }) {
      detail::wait_for_turn(cost.turn_wait(w), w);
    } else if constexpr (spreads_vocabulary<Cost>()) {
      if (shape.vocabulary == vocabulary::spread) detail::price_vocabulary(packs, cost, w);
    }
    detail::add_exchanges(packs, cost, shared, w);
    if (!packs.backward.empty()) detail::wait_for_weights(cost, w);  // no optimizer has run before forward packs alone
    w.rates = std::move(rates);
    detail::follow_sequences(packs, shared, parents, w);
    if constexpr (detail::asks_by_piece<Cost>())
      if (unit_of(cost, shape) == memory_unit::byte && detail::keeps_any(packs, cost, shape.stages))
        detail::follow_kept(packs, cost, parents, w);
    detail::keep_others(shared, w);
    return w;
  }
}

}  // namespace slimpack

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/pricing/impl/price.ipp>
#endif

#endif
