#ifndef SLIMPACK_COSTS_PROFILED_HPP
#define SLIMPACK_COSTS_PROFILED_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/kernels/slice_growth.hpp>
#include <slimpack/costs/kernels/time_table.hpp>
#include <slimpack/costs/kernels/token_table.hpp>
#include <slimpack/costs/memory/evaluation_keeps.hpp>
#include <slimpack/costs/memory/memory.hpp>
#include <slimpack/costs/model/mixer.hpp>
#include <slimpack/costs/network/loan_rows.hpp>
#include <slimpack/costs/network/row_exchange.hpp>
#include <slimpack/costs/provenance.hpp>
#include <slimpack/costs/vocabulary_rates.hpp>

#include <algorithm>
#include <cstddef>
#include <iosfwd>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::costs {

/// Times as they were measured, by a trainer on its own machine or of single kernels (costs/profiled_of.hpp): tables
/// for each pass and part of the model.
///
/// Two things make the time of a pack: what each slice costs for itself (attention), and what runs once over all tokens
/// of the pack (linear layers and all that works token by token: 64 sequences of 128 tokens are one product of 8192
/// rows). Where whole slices were measured, the second is left out.
/// Formula   slice = slices(q, prefix) + rate tokens: its share of a large pack; rate is the least time of a token
///           slices(q, prefix) is the sum over tables, one of full attention and one of each other span of keys; chunks
///           are asked one by one (attention_span::each_chunk)
///           pack = overhead + max(sum over slices of slices(q, prefix), the longest of alone(q, prefix))
///                  + pack table(all tokens)
///           Weight gradients of a token, where they are known, are the same in every pack: tables hold the rest
/// Source    measured; the rules between and outside measurements are derived, see costs::time_table,
///           costs::token_table
/// Units     tokens in, seconds out
/// Law       time does not fall when a slice's prefix or length grows. Cutting a sequence does not conserve its time,
///           as it does not on machines: thin slices run slower (cost_model law 4 is for analytic models)
/// Errors    none once made            Complexity  O(log samples) a question
class profiled {
 public:
  /// One measurement of a slice: several at one place count by their median.
  struct sample {
    slimpack::pass pass{};
    int part{};
    tokens queries;   ///< the slice's own
    tokens keys;      ///< what they attend to: prefix + queries
    seconds time;     ///< among others, without what each pack costs besides its slices
    seconds alone{};  ///< where a thin slice takes longer when it has the device for itself; 0: `time`
    int span{};       ///< of layers that attend otherwise, by themselves: which of extras::spans, counted from 1; 0: of
                      ///< full attention, or of all layers together
  };

  /// One measurement of what runs once over all tokens of a pack.
  struct pack_sample {
    slimpack::pass pass{};
    int part{};
    tokens size;
    seconds time;
  };

  /// Of backward, what is not computed again: shares of what runs once over tokens, and of attention.
  struct useful_share {
    double tokens{1};
    double attention{1};
    friend constexpr bool operator==(const useful_share&, const useful_share&) = default;
  };

  /// Of useful time that runs once over tokens, what the ranks of a stage wait for each other.
  struct collective_share {
    double forward{};
    double backward{};
    friend constexpr bool operator==(const collective_share&, const collective_share&) = default;
  };

  /// What a step costs beside its slices.
  struct extras {
    std::vector<seconds> forward_overhead{};  ///< of each pack, by part; empty: none
    std::vector<seconds> backward_overhead{};
    std::vector<seconds> weight_token{};  ///< of backward times (of packs, where these were measured, else of slices),
                                          ///< weight gradients of a token in a large pack, by part; what small packs
                                          ///< cost more is not theirs. Empty: not known
    seconds message{};                    ///< end on a part to arrival at the next, of an empty message
    seconds message_token{};              ///< and for each of its tokens
    std::vector<memory_rates> memory{};   ///< bytes of each stage; empty: not known, limits are in tokens
    std::vector<memory_rates> evaluation_memory{};    ///< the same while it evaluates; empty: as in steps
    std::vector<evaluation_keeps> evaluation_kept{};  ///< and what is kept then beside tokens; empty: none
    std::vector<double> pair_bytes{};     ///< kept by dense attention, by stage, see memory::kept; empty: none
    std::vector<double> piece_bytes{};    ///< kept by a piece for states, by stage, see memory::kept; empty: none
    std::vector<attention_span> spans{};  ///< of samples of layers that attend otherwise than to all keys
    by_pass<std::vector<slice_growth>> growth{};  ///< of samples of full attention, or of all layers together, by part,
                                                  ///< with weight gradients; empty: fitted to them, as is one that
                                                  ///< gives a single token no time
    by_pass<std::vector<seconds>> slice_call{};   ///< of each slice besides, by part, for states; empty: none
    std::optional<row_exchange> exchange{};       ///< between replicas that share a sequence; without, it takes no time
    bool joins_rows{};                   ///< packs are called whole (executors/joined/joined_row.hpp): attention of
                                         ///< their own sequences covers exchanges, where it was measured apart from
                                         ///< what runs once over a pack
    std::optional<loan_rows> lending{};  ///< of attention that stages lend each other; without, its messages take
                                         ///< no time
    seconds reduce{};                    ///< gradient reduction and optimizer, after the step
    std::vector<std::vector<gradient_bucket>> buckets{};  ///< of each part, behind them of each stage's share of a
                                                          ///< spread vocabulary, reduced beside the work: then reduce
                                                          ///< is the optimizer alone; empty: none
    std::vector<vocabulary_rates> vocabulary{};           ///< spread over the stages: of all, or one per stage; empty:
                                                          ///< it cannot be spread
    std::vector<useful_share> useful{};  ///< by part; empty: nothing is computed again, or it is not known
    provenance sources{};                ///< where the samples come from, by time; empty: not said
    seconds call{};                      ///< of each slice besides, in each pass, where samples were measured without
                                         ///< it: of kernels, not of calls
    std::vector<collective_share> collectives{};  ///< by part; empty: none, or it is not known

    [[nodiscard]] const std::vector<seconds>& overhead(pass p) const noexcept {
      return p == pass::forward ? forward_overhead : backward_overhead;
    }
  };

  /// Slices of a part may take 0 s, all of them, where there are pack samples: the part has no attention.
  /// Errors    invalid_input: no samples; a pass of a part without any, or without pack samples where others have some;
  ///           sizes or times that are none; a wrong number of overheads or memory rates. The detail names which
  /// Complexity O(samples * distinct queries)
  [[nodiscard]] static result<profiled> make(std::span<const sample> samples, std::span<const pack_sample> packs,
                                             extras beside);
  [[nodiscard]] static result<profiled> make(std::span<const sample> samples, extras beside) {
    return make(samples, std::span<const pack_sample>{}, std::move(beside));
  }
  [[nodiscard]] static result<profiled> make(std::span<const sample> samples) { return make(samples, extras{}); }

  [[nodiscard]] seconds time(const slice& s, pass p, int part) const noexcept {
    return attended(index(p, part), s) + rate(p, part) * static_cast<double>(s.length.value);
  }
  [[nodiscard]] seconds time(std::span<const slice> pack, pass p, int part) const noexcept {
    const std::size_t i = index(p, part);
    seconds sum = overhead(p, part);
    seconds longest{};
    tokens size{};
    for (const slice& s : pack) {
      sum += attended(i, s);
      if (!alone_.empty()) longest = std::max(longest, alone_[i](s.length, s.begin) + near(i, s));
      size += s.length;
    }
    sum = std::max(sum, overhead(p, part) + longest);
    const seconds once = packs_.empty() ? seconds{} : packs_[i](size);
    return sum + (once + weights(p, part) * static_cast<double>(size.value));
  }
  /// Measured times do not add up, so bounds rest on the part of them that does; and so does useful work, which is then
  /// no more than the time of any packs.
  [[nodiscard]] seconds least(const slice& s, pass p, int part) const noexcept {
    return attended_least(index(p, part), s) + rate(p, part) * static_cast<double>(s.length.value);
  }
  [[nodiscard]] seconds useful(const slice& s, pass p, int part) const noexcept {
    const useful_share own =
        p == pass::forward || beside_.useful.empty() ? useful_share{} : beside_.useful[static_cast<std::size_t>(part)];
    return attended_least(index(p, part), s) * own.attention +
           rate(p, part) * (own.tokens * static_cast<double>(s.length.value));
  }
  /// Nothing of what slices take by themselves: of attention it is not known.
  [[nodiscard]] seconds collectives(const slice& s, pass p, int part) const noexcept {
    if (beside_.collectives.empty()) return {};
    const auto at = static_cast<std::size_t>(part);
    const bool first = p == pass::forward;
    const double useful = first || beside_.useful.empty() ? 1 : beside_.useful[at].tokens;
    const double share = first ? beside_.collectives[at].forward : beside_.collectives[at].backward;
    return rate(p, part) * (useful * share * static_cast<double>(s.length.value));
  }
  /// Half of each backward where nothing better is known: like times, halves do not add up, but the other half does not
  /// fall as a slice grows.
  [[nodiscard]] seconds weight_time(const slice& s, int part) const noexcept {
    if (beside_.weight_token.empty()) return time(s, pass::backward, part) * 0.5;
    return weights(pass::backward, part) * static_cast<double>(s.length.value);
  }
  [[nodiscard]] seconds overhead(pass p, int part) const noexcept {
    const std::vector<seconds>& all = beside_.overhead(p);
    return all.empty() ? seconds{} : all[static_cast<std::size_t>(part)];
  }
  [[nodiscard]] seconds call_overhead(pass p, int part) const noexcept {
    const std::vector<seconds>& own = beside_.slice_call[p];
    return own.empty() ? beside_.call : beside_.call + own[static_cast<std::size_t>(part)];
  }
  [[nodiscard]] seconds message(tokens size, pass, int /*part*/) const noexcept {
    return beside_.message + beside_.message_token * static_cast<double>(size.value);
  }
  /// Attention covers it where it was measured apart from what runs once over a pack; else nothing is known to.
  [[nodiscard]] loan_messages lending(const loan& l, int part) const {
    return beside_.lending ? (*beside_.lending)(l, part) : loan_messages{};
  }
  [[nodiscard]] seconds exchange(const shared_row& row, std::span<const slice> mine, pass p, int part) const {
    if (!beside_.exchange) return {};
    seconds attention{};
    if (!packs_.empty())
      for (const slice& s : mine) attention += attended(index(p, part), s);
    return (*beside_.exchange)(row, mine, attention, p, part);
  }
  /// Nothing where slices were not measured apart from what runs once over a pack.
  [[nodiscard]] seconds token_time(tokens size, pass p, int part) const noexcept {
    if (packs_.empty()) return {};
    return packs_[index(p, part)](size) + weights(p, part) * static_cast<double>(size.value);
  }
  [[nodiscard]] seconds covers(const slice& s, pass p, int part) const noexcept {
    return beside_.joins_rows && !packs_.empty() ? attended(index(p, part), s) : seconds{};
  }
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const noexcept {
    const auto at = static_cast<std::size_t>(stage);
    return at < beside_.memory.size() ? std::optional(beside_.memory[at]) : std::nullopt;
  }
  [[nodiscard]] std::optional<memory_rates> evaluation_memory(int stage) const noexcept {
    const auto at = static_cast<std::size_t>(stage);
    return at < beside_.evaluation_memory.size() ? std::optional(beside_.evaluation_memory[at]) : std::nullopt;
  }
  [[nodiscard]] bytes kept(const slice& piece, int stage) const noexcept {
    const auto at = static_cast<std::size_t>(stage);
    const auto of = [&](const std::vector<double>& each) { return at < each.size() ? each[at] : 0.0; };
    return costs::memory::kept(piece, of(beside_.pair_bytes), of(beside_.piece_bytes));
  }
  [[nodiscard]] bytes evaluation_kept(const slice& piece, int stage, tokens first) const noexcept {
    const auto at = static_cast<std::size_t>(stage);
    return at < beside_.evaluation_kept.size() ? beside_.evaluation_kept[at](piece, first) : bytes{};
  }
  /// No number where the samples are of a model whose vocabulary is not spread.
  [[nodiscard]] seconds vocabulary_time(tokens size, instruction_kind call, int stage) const noexcept {
    return beside_.vocabulary.empty() ? seconds{std::numeric_limits<double>::quiet_NaN()}
                                      : rates_on(beside_.vocabulary, stage).of(call)(size);
  }
  [[nodiscard]] seconds vocabulary_message(tokens size, message_kind rows, int stage) const noexcept {
    return beside_.vocabulary.empty() ? seconds{std::numeric_limits<double>::quiet_NaN()}
                                      : rates_on(beside_.vocabulary, stage).of(rows)(size);
  }
  [[nodiscard]] seconds reduce_time() const noexcept { return beside_.reduce; }
  [[nodiscard]] std::span<const gradient_bucket> gradient_buckets(int part) const noexcept {
    if (static_cast<std::size_t>(part) >= beside_.buckets.size()) return {};
    return beside_.buckets[static_cast<std::size_t>(part)];
  }
  [[nodiscard]] bool has_borders() const noexcept {
    return std::any_of(near_.begin(), near_.end(), [](const near_table& one) { return one.span.has_borders(); });
  }
  [[nodiscard]] int parts() const noexcept { return static_cast<int>(kind_.size()); }
  [[nodiscard]] int like(int part) const noexcept { return like_[static_cast<std::size_t>(part)]; }
  [[nodiscard]] const provenance& sources() const noexcept { return beside_.sources; }

  /// The most by which a sample was changed so that no time falls, as a ratio of it: of noise, a few percent.
  [[nodiscard]] double largest_change() const noexcept {
    double most = 0;
    for (const std::vector<time_table>* tables : {&slices_, &alone_})
      for (const time_table& t : *tables) most = std::max(most, t.largest_change());
    for (const near_table& one : near_) most = std::max(most, one.times.largest_change());
    for (const token_table& t : packs_) most = std::max(most, t.largest_change());
    return most;
  }

  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const profiled& p) {
    return out << "costs::profiled of " << p.parts() << " parts";
  }

 private:
  profiled() = default;

  /// Of layers that attend to a span of keys, on a kind of part in a pass.
  struct near_table {
    attention_span span{};
    time_table times;
  };

  /// What layers that do not attend to all keys take of a slice; `value(table, queries, prefix)`: of what is asked.
  template <class Value>
  [[nodiscard]] seconds near(std::size_t i, const slice& s, const Value& value) const noexcept {
    seconds sum{};
    for (std::size_t at = near_from_[i]; at < near_from_[i + 1]; ++at) {
      const near_table& one = near_[at];
      if (one.span.how == mixing::chunks)
        one.span.each_chunk(s.length, s.begin, [&](double count, tokens queries, tokens prefix) {
          sum += value(one.times, queries, prefix) * count;
        });
      else
        sum += value(one.times, s.length, s.begin);
    }
    return sum;
  }
  [[nodiscard]] seconds near(std::size_t i, const slice& s) const noexcept {
    return near(i, s, [](const time_table& t, tokens queries, tokens prefix) { return t(queries, prefix); });
  }
  [[nodiscard]] seconds attended(std::size_t i, const slice& s) const noexcept {
    return near_.empty() ? slices_[i](s.length, s.begin) : slices_[i](s.length, s.begin) + near(i, s);
  }
  [[nodiscard]] seconds attended_least(std::size_t i, const slice& s) const noexcept {
    const seconds full = slices_[i].least(s.length, s.begin);
    if (near_.empty()) return full;
    return full +
           near(i, s, [](const time_table& t, tokens queries, tokens prefix) { return t.least(queries, prefix); });
  }
  /// Of its tables.
  [[nodiscard]] std::size_t index(pass p, int part) const noexcept {
    return 2 * kind_[static_cast<std::size_t>(part)] + (p == pass::forward ? 0 : 1);
  }
  [[nodiscard]] bool answers_alike(int part, int other) const {
    const auto a = static_cast<std::size_t>(part), b = static_cast<std::size_t>(other);
    const auto same = [&](const auto& list) { return list.empty() || list[a] == list[b]; };
    return kind_[a] == kind_[b] && same(beside_.forward_overhead) && same(beside_.backward_overhead) &&
           same(beside_.slice_call.forward) && same(beside_.slice_call.backward) && same(beside_.weight_token) &&
           same(beside_.useful) && same(beside_.collectives) &&
           (!beside_.exchange || beside_.exchange->alike(part, other));
  }
  /// Least time of a token of what runs once over a pack, and of weight gradients.
  [[nodiscard]] seconds rate(pass p, int part) const noexcept {
    return (packs_.empty() ? seconds{} : packs_[index(p, part)].rate()) + weights(p, part);
  }
  [[nodiscard]] seconds weights(pass p, int part) const noexcept {
    if (p == pass::forward || beside_.weight_token.empty()) return {};
    return beside_.weight_token[static_cast<std::size_t>(part)];
  }

  static std::optional<error> fault(const sample& s, std::size_t i, bool has_packs, seconds weights = {});
  static std::optional<error> fault(const pack_sample& s, std::size_t i, int parts, seconds weights);
  static std::optional<error> fault(const extras& beside, std::size_t parts);

  struct measured;  // the points of all tables, part by part

  std::vector<std::size_t> kind_;   ///< of each part: those that have the same samples are of one
  std::vector<int> like_;           ///< by part
  std::vector<time_table> slices_;  ///< [kind * 2 + pass]
  std::vector<time_table> alone_;   ///< likewise, or empty: no slice is slower alone
  std::vector<near_table> near_;    ///< of other spans, in the order of `slices_`
  std::vector<std::size_t> near_from_{
      0};                           ///< [kind * 2 + pass]: where those of a kind and pass begin, and at last the end
  std::vector<token_table> packs_;  ///< likewise, or empty: nothing runs once over a pack
  extras beside_;
};

}  // namespace slimpack::costs

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/costs/impl/profiled.ipp>
#endif

#endif
