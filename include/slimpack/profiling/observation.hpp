#ifndef SLIMPACK_PROFILING_OBSERVATION_HPP
#define SLIMPACK_PROFILING_OBSERVATION_HPP

#include <slimpack/core/ensemble/stage_ties.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/step_report.hpp>
#include <slimpack/transports/gathered.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::profiling {

/// One pack that a stage ran, and how long it took: what a profile is fitted to.
struct observation {
  slimpack::pass pass{};
  int part{};               ///< of the model
  bool weights{};           ///< weight gradients alone, that run apart: W
  std::vector<slice> pack;  ///< whose lengths and prefixes count; ids do not
  seconds time;             ///< by the clock, or of a device
  seconds processor{};      ///< of the thread in its calls; 0 where that is not known (executors/call_time.hpp)

  friend bool operator==(const observation&, const observation&) = default;
};

/// What a rank's step tells: each pack on each chunk. A pack whose weight gradients ran apart is told twice, B and W
/// together as a backward, and W alone. Nothing of a replica without work, of E, V, U and G, or of packs that stages
/// run together (core/ensemble/stage_ties.hpp): they run other work than their slices'.
/// Requires  the report of that rank of the plan, or of the part that it runs
/// Errors    invalid_input: the report is of another program            Complexity  O(instructions * log packs +
///           slices)
[[nodiscard]] inline result<std::vector<observation>> observations_of(const plan& p, int rank,
                                                                      const step_report& report) {
  const auto stage = static_cast<std::size_t>(rank % p.shape.stages),
             replica = static_cast<std::size_t>(rank / p.shape.stages);
  if (rank < 0 || replica >= p.replicas.size())
    return error{errc::invalid_input, "the plan has no rank " + std::to_string(rank)};
  const replica_plan& r = p.replicas[replica];
  std::vector<observation> all;
  if (r.sequences.empty()) return all;
  if (stage >= r.programs.size() || r.programs[stage].size() < report.timeline.size())
    return error{errc::invalid_input, "the report of rank " + std::to_string(rank) + " has " +
                                          std::to_string(report.timeline.size()) +
                                          " instructions, more than its program"};
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> split;  // by pack and chunk: where a B waits for its W
  for (std::size_t at = 0; at < report.timeline.size(); ++at) {
    const timed_instruction& t = report.timeline[at];
    if (t.instruction != r.programs[stage][at])
      return error{errc::invalid_input, "the report of rank " + std::to_string(rank) +
                                            " has another instruction than its program at " + std::to_string(at)};
    const instruction& i = t.instruction;
    if ((!i.is_pass() && !i.is_weights()) || is_tied(r, i, static_cast<std::uint32_t>(stage))) continue;
    const std::span<const slice> pack = r.partition.of(i.pass())[i.pack.value];
    const int part = static_cast<int>(i.chunk) * p.shape.stages + static_cast<int>(stage);
    if (i.is_weights()) {
      observation& whole = all[split.at({i.pack.value, i.chunk})];
      whole.time += t.end - t.begin;
      const bool are_known = whole.processor > seconds{} && t.processor > seconds{};
      whole.processor = are_known ? whole.processor + t.processor : seconds{};
    }
    if (i.pass() == pass::backward && !i.is_weights()) split[{i.pack.value, i.chunk}] = all.size();
    all.push_back({i.pass(), part, i.is_weights(), {pack.begin(), pack.end()}, t.end - t.begin, t.processor});
  }
  return all;
}

namespace detail {

/// Observations as words: pass and kind, part, slices, both times, then each slice.
[[nodiscard]] inline std::vector<std::int64_t> words_of(std::span<const observation> all) {
  std::vector<std::int64_t> words;
  for (const observation& o : all) {
    words.insert(words.end(), {(o.pass == pass::backward ? 1 : 0) + (o.weights ? 2 : 0), o.part,
                               static_cast<std::int64_t>(o.pack.size()), std::bit_cast<std::int64_t>(o.time.value),
                               std::bit_cast<std::int64_t>(o.processor.value)});
    for (const slice& s : o.pack) words.insert(words.end(), {s.begin.value, s.length.value});
  }
  return words;
}

inline void read_words(std::span<const std::int64_t> words, std::vector<observation>& all) {
  for (std::size_t at = 0; at < words.size();) {
    observation& o = all.emplace_back();
    o.pass = words[at] % 2 == 1 ? pass::backward : pass::forward;
    o.weights = words[at] >= 2;
    o.part = static_cast<int>(words[at + 1]);
    o.pack.resize(static_cast<std::size_t>(words[at + 2]));
    o.time = {std::bit_cast<double>(words[at + 3])};
    o.processor = {std::bit_cast<double>(words[at + 4])};
    at += 5;
    for (slice& s : o.pack) s.begin = {words[at]}, s.length = {words[at + 1]}, at += 2;
  }
}

/// Every rank's observations on all ranks, by rank. Sequence ids are lost.
template <class Transport>
[[nodiscard]] result<std::vector<std::vector<observation>>> gathered_by_rank(Transport& transport,
                                                                             std::span<const observation> own) {
  std::vector<std::int64_t> words = words_of(own);
  const result<std::vector<std::int64_t>> sizes = gathered(transport, static_cast<std::int64_t>(words.size()));
  if (!sizes) return sizes.error();
  const auto longest = static_cast<std::size_t>(*std::max_element(sizes.value().begin(), sizes.value().end()));
  std::vector<std::vector<observation>> all(sizes.value().size());
  if (longest == 0) return all;
  words.resize(longest);
  const result<std::vector<std::int64_t>> theirs = gathered(transport, std::span<const std::int64_t>(words));
  if (!theirs) return theirs.error();
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    read_words(std::span(theirs.value()).subspan(rank * longest, static_cast<std::size_t>(sizes.value()[rank])),
               all[rank]);
  return all;
}

}  // namespace detail

/// Every rank's observations on all ranks, in order of rank: what each then fits has the same bits. Call it on every
/// rank, between steps, over a transport of all ranks of the job: with tensor ranks, one that has these, too.
/// choose_clocks (clocks.hpp) comes next. Sequence ids are lost.
/// Errors    those of the transport, which is then aborted            Complexity  two gathers, the second as long as
///           the most that a rank has
template <class Transport>
[[nodiscard]] result<std::vector<observation>> gather(Transport& transport, std::span<const observation> own) {
  result<std::vector<std::vector<observation>>> by_rank = detail::gathered_by_rank(transport, own);
  if (!by_rank) return std::move(by_rank).error();
  std::vector<observation> all;
  for (std::vector<observation>& theirs : by_rank.value())
    all.insert(all.end(), std::make_move_iterator(theirs.begin()), std::make_move_iterator(theirs.end()));
  return all;
}

}  // namespace slimpack::profiling

#endif
