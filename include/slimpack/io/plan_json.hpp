#ifndef SLIMPACK_IO_PLAN_JSON_HPP
#define SLIMPACK_IO_PLAN_JSON_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/soundness/is_sound.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/open.hpp>
#include <slimpack/io/detail/plan/forest_json.hpp>
#include <slimpack/io/detail/plan/origin_json.hpp>
#include <slimpack/io/detail/plan/plan_writer.hpp>
#include <slimpack/io/detail/plan/replica_in.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <istream>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

/// Plan files: field for field the plan of core/plan.hpp, but for replica_plan::rates, which are an input of
/// peak_memory. Whoever has the file can run the plan again: slices are [sequence, begin, length], times are seconds.
/// One pack or stage a line, so that large files are read by people and by line tools.
///
/// Format    "slimpack-plan/1", or "slimpack-plan/2" where the plan has merges, layers, expert-parallel ranks, a spread
///           vocabulary or loans, samples that share beginnings or targets, a model flops utilisation, an origin, data,
///           or is written with its rank time; 2 has more fields:
///             "transfers": "start"
///             the rule that gives the order of all transfers (simulators/transfer_order.hpp)
///             "parents": [-1, 0, 0]
///             which sequence each goes on behind, -1 of a root, where samples share beginnings (core/sequence.hpp);
///             slices then begin at their depth
///             "copies": [[7, 2, 580], ...]
///             paths that several replicas compute (core/forest/forest_cut.hpp): of a sequence the tokens before a
///             place, 580, are copies of those of the path of another, up to its end
///             "samples": [[1, 602, 1], ...]
///             where samples end (core/forest/forest.hpp): in which sequence, at which token of its path, and how many
///             equal ones there are
///             "targets": [[1, 512, 90, 1], ...]
///             which tokens are predicted: sequence, begin, length, and on how many samples' account. Their weights are
///             not written, and read as 1: who runs the plan gives them theirs
///             "merges": [{"sequence": 0, "exchange": "keep" | "queries" | "ring", ...}]
///             in whose rows null stands for a replica that has no tokens of the row; with
///             "relays": [{"out": [3, 0], "in": [4, 5], "segments": 1}, ...]
///             where rows that go round cross between nodes over proxies (core/relays/legs.hpp), and in what
///             order their legs do
///             "layers": [9, 9, 9, 5]
///             of the model on each part, where they were chosen; 0 at an end of the model
///             "ep": 8
///             expert-parallel ranks, where there are more than one
///             "vocabulary": "spread"
///             over the stages; packs then have the times of their calls on each stage, forward "embed", "output" and
///             "output_weights", backward "embed_gradients", and "message" has what these send and are sent:
///             "embedded", "hidden", "partial", "statistics", "gradients", and "to_gradients", from B to G
///             "words": [14032, 16318, ...]
///             of that vocabulary on each stage, where these have unequal shares (shape::words)
///             "loans": [{"lender": [0, "F3"], "helper": [3, "F0"], "queries": [0, 96, 32],
///                        "context": [0, 0, 32]}, ...]
///             of a replica whose stages lend each other attention (core/lending/loan.hpp): who lends, its stage and
///             instruction, and who helps; these start together, and end together with the longer. Times of packs have
///             it in.
///             "weight_waits": [s, ...]
///             of a replica: what the first packs and calls of each stage wait for weights that are gathered beside the
///             work; their times have it in.
///             "rank_time": {"useful": s, ...}
///             where the time of the stages goes (core/plan.hpp); it may be left out
///             "mfu": 0.41
///             model flops utilisation, where the model and the GPU are known
///             "any_layout_bound": s
///             what no layout of as many GPUs has a plan faster than, where it is known
///             "made_with": {"version": "0.1.0", "longest": 4096, "options": {"pp": "2", ...}, "batch": {"seed": "7",
///             ...}, "inputs": [{"option": "model", "name": "...", "hash": "...", "content": "..."}, ...]}
///             what made the plan (plan_origin); inputs without a content are known by their hash alone
///             "data": {"file": "lengths.txt", "rows": [7, 2, {"first": 512, "count": 40}]}
///             which data row of a file each sequence is, in the order of "lengths" (plan_data): a number is one row,
///             and an object as many rows as its count says, each the one behind the row before. Rows count from 0, and
///             none comes twice, but where samples share beginnings
///           Files of format 1 that have merges are read as "start" and "keep", which is what they meant
namespace slimpack::io {

namespace detail {

[[nodiscard]] inline shape shape_in(const json_place& file) {
  constexpr int most = 32768;  // ranks of one kind; stages * vpp must stay an int
  shape s;
  s.stages = file["stages"].integer<int>(1, most);
  s.replicas = file["dp"].integer<int>(1, most);
  s.tensor = file["tp"].integer<int>(1, most);
  s.context = file["cp"].integer<int>(1, most);
  s.chunks = file["vpp"].integer<int>(1, most);
  if (const std::optional<json_place> expert = file.find({"ep"})) {
    s.expert = expert->integer<int>(2, std::numeric_limits<int>::max());
    const std::int64_t ranks = std::int64_t{s.replicas} * s.context * s.tensor;
    if (ranks % s.expert != 0) expert->expected("a divisor of dp x cp x tp, " + std::to_string(ranks));
  }
  if (const std::optional<json_place> spread = file.find({"vocabulary"})) {
    if (spread->text() != name_of(vocabulary::spread)) spread->expected("\"spread\"");
    if (s.stages < 2) spread->expected("2 stages or more, to spread it over");
    s.vocabulary = vocabulary::spread;
  }
  if (const std::optional<json_place> words = file.find({"words"})) {
    if (s.vocabulary != vocabulary::spread) words->expected("none, where no vocabulary is spread");
    words->must_have(static_cast<std::size_t>(s.stages), "one per stage");
    for (std::size_t stage = 0; stage < words->size(); ++stage)
      s.words.push_back(words->at(stage).integer<std::int64_t>(1, std::int64_t{1} << 40));
  }
  s.quantum = {file["quantum"].integer(1, longest_supported.value)};
  return s;
}

[[nodiscard]] inline memory_unit memory_unit_in(const json_place& unit) {
  if (unit.text() != "bytes" && unit.text() != "tokens") unit.expected("\"bytes\" or \"tokens\"");
  return unit.text() == "bytes" ? memory_unit::byte : memory_unit::token;
}

[[nodiscard]] inline exchange exchange_in(const json_place& place) {
  for (const exchange e : {exchange::keep, exchange::queries, exchange::ring})
    if (place.text() == name_of(e)) return e;
  place.expected("\"keep\", \"queries\" or \"ring\"");
}

/// Of a merge.
[[nodiscard]] inline relay relay_in(const json_place& place, const plan& p) {
  place.must_only_have({"out", "in", "segments"});
  relay r;
  for (const auto& [name, side] : {std::pair("out", &r.out), std::pair("in", &r.in)}) {
    const json_place replicas = place[name];
    for (std::size_t k = 0; k < replicas.size(); ++k)
      side->push_back(replicas.at(k).integer<std::uint32_t>(0, static_cast<std::int64_t>(p.replicas.size()) - 1));
  }
  r.segments = place["segments"].integer<std::uint32_t>(1, most_segments);
  return r;
}

[[nodiscard]] inline merge merge_in(const json_place& place, const plan& p, bool says_exchange) {
  merge m;
  if (says_exchange) {
    place.must_only_have({"sequence", "exchange", "replicas", "forward", "backward", "relays"});
    m.exchange = exchange_in(place["exchange"]);
  } else {
    place.must_only_have({"sequence", "replicas", "forward", "backward"});
  }
  m.sequence = {place["sequence"].integer<std::uint32_t>(0, static_cast<std::int64_t>(p.lengths.size()) - 1)};
  const json_place replicas = place["replicas"];
  for (std::size_t k = 0; k < replicas.size(); ++k)
    m.replicas.push_back(replicas.at(k).integer<std::uint32_t>(0, static_cast<std::int64_t>(p.replicas.size()) - 1));
  for (const pass direction : {pass::forward, pass::backward}) {
    const json_place rows = place[name_of(direction)];
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const json_place row = rows.at(k);
      std::vector<pack_id>& packs = m.of(direction).emplace_back();
      for (std::size_t j = 0; j < row.size(); ++j)
        packs.push_back(says_exchange && row.at(j).is_null()
                            ? merge::none
                            : pack_id{row.at(j).integer<std::uint32_t>(0, std::int64_t{merge::none.value} - 1)});
    }
  }
  if (!says_exchange) return m;
  if (const std::optional<json_place> relays = place.find({"relays"}))
    for (std::size_t k = 0; k < relays->size(); ++k) m.relays.push_back(relay_in(relays->at(k), p));
  return m;
}

/// Its parts, which add up to the time of the stages.
[[nodiscard]] inline rank_time rank_time_in(const json_place& place, const plan& p) {
  rank_time spent;
  place.must_only_have({"useful", "collectives", "recomputation", "packs", "communication", "imbalance", "waiting",
                        p.copies.empty() ? "waiting" : "copies"});
  for (const auto& [name, part] : rank_time_parts_of(p))
    if (part != &rank_time::collectives || place.find({name})) spent.*part = {place[name].number()};
  const double all = p.step_time.value * p.shape.stages * p.shape.replicas;
  if (!(std::abs(spent.total().value - all) <= 1e-9 * all))
    place.expected("parts that add up to " + std::to_string(all) + " s, the time of all stages");
  return spent;
}

[[nodiscard]] inline gradient_reduction reduction_in(const json_place& place, const plan& p) {
  place.must_only_have({"after", "buckets"});
  gradient_reduction r{{}, {place["after"].number(0)}};
  const json_place parts = place["buckets"];
  parts.must_have(static_cast<std::size_t>(p.shape.reduced_parts()),
                  p.shape.vocabulary == vocabulary::spread
                      ? "one list per part, and one per stage's share of the vocabulary"
                      : "one list per part");
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const json_place buckets = parts.at(part);
    r.parts.emplace_back();
    for (std::size_t k = 0; k < buckets.size(); ++k) {
      const json_place one = buckets.at(k);
      one.must_have(3, "at, scatter and gather");
      r.parts.back().push_back({one.at(0).number(0), {one.at(1).number(0)}, {one.at(2).number(0)}});
    }
  }
  return r;
}

[[nodiscard]] inline plan plan_in(const json_place& file) {
  const json_place format = file["format"];
  const bool is_second = format.text() == plan_format_2;
  if (!is_second && format.text() != plan_format)
    format.expected("\"" + std::string(plan_format) + "\" or \"" + std::string(plan_format_2) + "\"");
  if (is_second && file["transfers"].text() != transfers_by_start)
    file["transfers"].expected("\"" + std::string(transfers_by_start) + "\", the rule that orders them");
  file.must_only_have({"format",
                       "hash",
                       "truncated",
                       "planner",
                       "cost",
                       "model",
                       "gpu",
                       "lengths",
                       "stages",
                       "dp",
                       "tp",
                       "cp",
                       "vpp",
                       "quantum",
                       "replicas",
                       "merges",
                       "reduce_time",
                       "step_time",
                       "bounds",
                       "lower_bound",
                       "efficiency",
                       "bubble",
                       "memory_unit",
                       "memory_limit",
                       "planning_seconds",
                       is_second ? "transfers" : "format",
                       is_second ? "rank_time" : "format",
                       is_second ? "layers" : "format",
                       is_second ? "reduction" : "format",
                       is_second ? "ep" : "format",
                       is_second ? "vocabulary" : "format",
                       is_second ? "words" : "format",
                       is_second ? "mfu" : "format",
                       is_second ? "any_layout_bound" : "format",
                       is_second ? "made_with" : "format",
                       is_second ? "data" : "format",
                       is_second ? "parents" : "format",
                       is_second ? "copies" : "format",
                       is_second ? "samples" : "format",
                       is_second ? "targets" : "format"});
  plan p;
  p.hash = hash_in(file["hash"]);
  p.truncated = file["truncated"].boolean();
  p.planner = file["planner"].text();
  p.cost = file["cost"].text();
  p.model = file["model"].text();
  p.gpu = file["gpu"].text();
  const json_place lengths = file["lengths"];
  for (std::size_t i = 0; i < lengths.size(); ++i)
    p.lengths.push_back({lengths.at(i).integer(1, longest_supported.value)});
  read_forest(file, p);
  if (const std::optional<json_place> data = file.find({"data"}))
    p.data = data_in(*data, p.lengths.size(), !p.parents.empty());
  p.shape = shape_in(file);
  if (const std::optional<json_place> layers = file.find({"layers"})) {
    layers->must_have(static_cast<std::size_t>(p.shape.parts()), "one per part");
    for (std::size_t part = 0; part < layers->size(); ++part)
      p.layers.push_back(layers->at(part).integer<int>(p.shape.may_be_empty(static_cast<int>(part)) ? 0 : 1, 1 << 20));
  }
  const json_place replicas = file["replicas"];
  replicas.must_have(static_cast<std::size_t>(p.shape.replicas), "one per data-parallel rank");
  const std::vector<sequence> sequences = batch_of(p).sequences();
  for (std::size_t r = 0; r < replicas.size(); ++r)
    p.replicas.push_back(replica_in(replicas.at(r), p, sequences, is_second));
  const json_place merges = file["merges"];
  for (std::size_t m = 0; m < merges.size(); ++m) p.merges.push_back(merge_in(merges.at(m), p, is_second));
  if (const std::optional<json_place> reduction = file.find({"reduction"})) p.reduction = reduction_in(*reduction, p);
  p.reduce_time = {file["reduce_time"].number(0)};
  p.step_time = {file["step_time"].number(0)};
  const json_place bounds = file["bounds"];
  for (const std::string& name : bounds.names()) p.bounds.push_back({name, {bounds[name.c_str()].number(0)}});
  p.lower_bound = {file["lower_bound"].number(0)};
  p.efficiency = file["efficiency"].number();
  p.bubble = file["bubble"].number();
  if (const std::optional<json_place> spent = file.find({"rank_time"})) p.rank_time = rank_time_in(*spent, p);
  if (const std::optional<json_place> mfu = file.find({"mfu"})) p.mfu = mfu->number(0);
  if (const std::optional<json_place> least = file.find({"any_layout_bound"}))
    p.any_layout_bound = seconds{least->number(0)};
  if (const std::optional<json_place> origin = file.find({"made_with"})) p.origin = origin_in(*origin);
  p.memory_unit = memory_unit_in(file["memory_unit"]);
  if (const std::optional<json_place> limit = file.find({"memory_limit"}))
    p.shape.memory = memory_limit{p.memory_unit, limit->number(0)};
  p.planning_time = {file["planning_seconds"].number(0)};
  if (const result<void> sound = is_sound(p); !sound)
    replicas.expected("replicas whose stages can run what they have: " + sound.error().detail);
  if (hash_of(p) != p.hash)
    file["hash"].expected("\"" + hash_text(hash_of(p)) + "\", the hash of what the file holds: it was changed");
  return p;
}

}  // namespace detail

/// Writes a plan as JSON. Numbers read back exactly, so the plan read back has the same hash.
/// Times can be replayed from the file alone. So can peak_memory in tokens; in bytes it is what the cost model says
/// that tokens and pieces hold (hooks `memory` and `kept`), which the file does not repeat.
/// `explained`: with its rank time, whatever the plan
/// Requires  finite numbers; names in UTF-8, other bytes are replaced
/// Errors    unwritable: the stream has failed            Complexity  O(size of the plan), streamed
[[nodiscard]] inline result<void> write_plan(std::ostream& out, const plan& p, bool explained = false) {
  detail::plan_writer(out, p, explained).write();
  if (!out) return error{errc::unwritable, "the plan could not be written: the output stream failed"};
  return success();
}

/// Reads a plan that write_plan wrote; `name` opens every message.
/// Checks shapes, ranges, that its stages can run it (core/soundness/is_sound.hpp), and the hash: the plan is the one
/// that was written. Of its times, that each is one, from 0 to 1e12 s.
/// Errors    invalid_input: not JSON, not a plan, one that no stages can run, or changed since; the place in the
///           file is named, or the replica and what is wrong with it
/// Complexity O(size of the plan), and that of is_sound
[[nodiscard]] inline result<plan> read_plan(std::istream& in, const std::string& name = "plan") {
  return detail::read_json(in, name, detail::plan_in);
}

/// Errors    also unreadable: the file
[[nodiscard]] inline result<plan> read_plan(const std::filesystem::path& file) {
  result<std::ifstream> in = detail::open_to_read(file);
  if (!in) return std::move(in).error();
  return read_plan(in.value(), file.string());
}

}  // namespace slimpack::io

#endif
