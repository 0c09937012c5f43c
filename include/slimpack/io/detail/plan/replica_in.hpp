#ifndef SLIMPACK_IO_DETAIL_PLAN_REPLICA_IN_HPP
#define SLIMPACK_IO_DETAIL_PLAN_REPLICA_IN_HPP

#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/soundness/completed_times.hpp>
#include <slimpack/core/timings.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/plan/columns.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

/// Reads a replica of a plan file (io/plan_json.hpp).
namespace slimpack::io::detail {

[[nodiscard]] inline slice slice_in(const json_place& place, std::span<const sequence> sequences) {
  place.must_have(3, "[sequence, begin, length]");
  slice s;
  s.sequence = {place.at(0).integer<std::uint32_t>(0, static_cast<std::int64_t>(sequences.size()) - 1)};
  const sequence& whole = sequences[s.sequence.value];
  s.begin = {place.at(1).integer(whole.begin.value, whole.end().value - 1)};
  s.length = {place.at(2).integer(1, (whole.end() - s.begin).value)};
  return s;
}

/// The times of a pack, [stage], or of parts with virtual stages [stage][chunk], added to a column of all packs.
inline void read_times(const json_place& time, const shape& s, places each, std::vector<seconds>& table) {
  const auto stages = static_cast<std::size_t>(s.stages);
  const auto chunks = static_cast<std::size_t>(each == places::parts ? s.chunks : 1);
  time.must_have(stages, "one per stage");
  const std::size_t first = table.size();
  table.resize(first + stages * chunks);
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const json_place own = time.at(stage);
    if (chunks > 1) own.must_have(chunks, "one per chunk");
    for (std::size_t chunk = 0; chunk < chunks; ++chunk)
      table[first + chunk * stages + stage] = {(chunks > 1 ? own.at(chunk) : own).number(0)};
  }
}

/// What a pack sends, one number for all or a list of them.
inline void read_message(const json_place& message, std::span<seconds> sent, const char* meaning) {
  if (message.is_array()) message.must_have(sent.size(), meaning);
  for (std::size_t b = 0; b < sent.size(); ++b)
    sent[b] = {message.is_array() ? message.at(b).number(0) : message.number(0)};
}

/// The packs of one pass of a replica, with what their calls take.
inline void read_packs(const json_place& list, const plan& p, std::span<const sequence> sequences, pass direction,
                       micropacks& packs, timings& times) {
  std::vector<time_column> columns;
  std::vector<const char*> keys{"slices"};
  for (const time_column c : time_columns)
    if (c.is_call() && c.pass() == direction && is_timed(c, p.shape)) columns.push_back(c), keys.push_back(key_of(c));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const json_place pack = list.at(i);
    pack.must_only_have(keys);
    const json_place slices = pack["slices"];
    if (slices.size() == 0) slices.expected("at least one slice");
    for (std::size_t k = 0; k < slices.size(); ++k) packs.append(slice_in(slices.at(k), sequences));
    packs.close();
    for (const time_column c : columns) {
      const std::optional<json_place> time =
          c == instruction_kind::weights ? pack.find({key_of(c)}) : std::optional(pack[key_of(c)]);
      if (c == instruction_kind::weights) times.apart.flags.push_back(time ? 1 : 0);
      time ? read_times(*time, p.shape, c.each(), times[c]) : times[c].resize((i + 1) * count_of(c.each(), p.shape));
    }
  }
}

/// What the packs of a replica send.
inline void read_messages(const json_place& messages, const plan& p, const partition& of, timings& times) {
  std::vector<const char*> keys;
  for (const time_column c : time_columns)
    if (!c.is_call() && is_timed(c, p.shape)) keys.push_back(c.name());
  const bool spread = has(p.shape, instruction_kind::embed_gradients);
  if (spread) keys.push_back(to_gradients);
  messages.must_only_have(keys);
  for (const time_column c : time_columns) {
    if (c.is_call() || !is_timed(c, p.shape)) continue;
    const std::size_t packs = of.of(c.pass()).size(), count = count_of(c.each(), p.shape);
    const json_place sent = messages[c.name()];
    sent.must_have(packs, "one per pack");
    times[c].resize(packs * count);
    for (std::size_t i = 0; i < packs; ++i)
      read_message(sent.at(i), sent_in(c, std::span(times[c]).subspan(i * count, count)),
                   c.each() == places::parts ? "one per boundary between parts" : "one per stage that has one");
  }
  if (!spread) return;
  const json_place sent = messages[to_gradients];
  sent.must_have(of.backward.size(), "one per pack");
  for (std::size_t i = 0; i < sent.size(); ++i)
    times.messages[pass::backward][i * count_of(places::parts, p.shape)] = {sent.at(i).number(0)};
}

[[nodiscard]] inline instruction instruction_in(const json_place& place, const replica_plan& r, const shape& on) {
  const std::string& text = place.text();
  const char* const end = text.data() + text.size();
  instruction i;
  bool good = false;
  for (std::size_t k = 0; k < instruction_kinds.size(); ++k)
    if (const auto kind = static_cast<instruction_kind>(k);
        !text.empty() && facts_of(kind).letter == text.front() && has(on, kind))
      i.kind = kind, good = true;
  const int chunks = i.is_of_part() ? on.chunks : 1;
  if (good) {
    auto [next, failed] = std::from_chars(text.data() + 1, end, i.pack.value);
    if (failed == std::errc{} && chunks > 1 && next != end && *next == '.') {
      const auto [last, wrong] = std::from_chars(next + 1, end, i.chunk);
      next = last;
      failed = wrong;
    } else if (chunks > 1) {
      failed = std::errc::invalid_argument;
    }
    good = failed == std::errc{} && next == end && i.pack.value < r.partition.of(i.pass()).size() &&
           i.chunk < static_cast<std::uint32_t>(chunks) && (!i.is_weights() || r.times.apart.splits(i.pack.value));
  }
  if (!good && i.is_weights()) place.expected("W and a backward pack of this plan that has a \"weight_time\"");
  if (!good && !i.is_of_part()) place.expected(std::string(1, letter_of(i)) + " and a pack of this plan");
  if (!good)
    place.expected(chunks > 1 ? "F or B, a pack and a chunk of this plan, as in \"F0.1\""
                              : "F or B and a pack of this plan, as in \"F0\"");
  return i;
}

/// A loan between instructions of the replica.
[[nodiscard]] inline loan loan_in(const json_place& place, const replica_plan& r, const plan& p,
                                  std::span<const sequence> all) {
  place.must_only_have({"lender", "helper", "queries", "context"});
  const auto side_in = [&](const char* name) {
    const json_place side = place[name];
    side.must_have(2, "a stage and its instruction");
    const loan::side read{side.at(0).integer<std::uint32_t>(0, p.shape.stages - 1),
                          instruction_in(side.at(1), r, p.shape)};
    if (!read.what.is_pass()) side.at(1).expected("F or B");
    return read;
  };
  return {side_in("lender"), side_in("helper"), slice_in(place["queries"], all), slice_in(place["context"], all)};
}

/// The replica of a plan that comes after those that were read. all: sequences of its batch.
[[nodiscard]] inline replica_plan replica_in(const json_place& place, const plan& p, std::span<const sequence> all,
                                             bool is_second) {
  place.must_only_have({"sequences", "forward", "backward", "message", "programs", "peak_memory", "makespan",
                        "lower_bound", is_second ? "loans" : "sequences", is_second ? "weight_waits" : "sequences"});
  replica_plan r;
  const json_place sequences = place["sequences"];
  for (std::size_t i = 0; i < sequences.size(); ++i)
    r.sequences.push_back({sequences.at(i).integer<std::uint32_t>(0, static_cast<std::int64_t>(p.lengths.size()) - 1)});
  for (const pass way : both_passes) read_packs(place[name_of(way)], p, all, way, r.partition.of(way), r.times);
  if (r.times.apart.count() == 0) r.times.apart = {}, r.times.calls[instruction_kind::weights].clear();
  read_messages(place["message"], p, r.partition, r.times);
  result<timings> whole = completed(std::move(r.times), r.partition, p.shape, p.replicas.size());
  if (!whole) place.expected("times that its packs can have: " + whole.error().detail);
  r.times = std::move(whole).value();
  const json_place programs = place["programs"];
  const json_place peaks = place["peak_memory"];
  programs.must_have(static_cast<std::size_t>(p.shape.stages), "one per stage");
  peaks.must_have(static_cast<std::size_t>(p.shape.stages), "one per stage");
  for (std::size_t stage = 0; stage < programs.size(); ++stage) {
    const json_place instructions = programs.at(stage);
    r.programs.emplace_back().reserve(instructions.size());
    for (std::size_t i = 0; i < instructions.size(); ++i)
      r.programs.back().push_back(instruction_in(instructions.at(i), r, p.shape));
    r.peak_memory.push_back(peaks.at(stage).number(0));
  }
  if (const std::optional<json_place> loans = place.find({"loans"}))
    for (std::size_t k = 0; k < loans->size(); ++k) r.loans.push_back(loan_in(loans->at(k), r, p, all));
  if (const std::optional<json_place> waits = place.find({"weight_waits"})) {
    waits->must_have(static_cast<std::size_t>(p.shape.stages), "one per stage");
    for (std::size_t stage = 0; stage < waits->size(); ++stage)
      r.times.weight_waits.push_back({waits->at(stage).number(0)});
  }
  r.makespan = {place["makespan"].number(0)};
  r.lower_bound = {place["lower_bound"].number(0)};
  return r;
}

}  // namespace slimpack::io::detail

#endif
