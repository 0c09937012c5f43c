#ifndef SLIMPACK_IO_DETAIL_PLAN_MERGE_JSON_HPP
#define SLIMPACK_IO_DETAIL_PLAN_MERGE_JSON_HPP

#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/relays/relay.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/json_out.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

/// Sequences that replicas share, in a plan file (io/plan_json.hpp) and in the data of a timeline's page.
namespace slimpack::io::detail {

inline void write_replicas(json_out& to, const std::vector<std::uint32_t>& replicas) {
  to.open('[');
  for (const std::uint32_t replica : replicas) to.value(replica);
  to.close(']');
}

inline void write_merge(json_out& to, const merge& m) {
  to.open('{').field("sequence", m.sequence.value).field("exchange", name_of(m.exchange)).key("replicas");
  write_replicas(to, m.replicas);
  for (const pass p : both_passes) {
    to.key(name_of(p)).open('[');
    for (const std::vector<pack_id>& row : m.of(p)) {
      to.open('[');
      for (const pack_id pack : row) pack == merge::none ? to.null() : to.value(pack.value);
      to.close(']');
    }
    to.close(']');
  }
  if (!m.relays.empty()) {
    to.key("relays").open('[');
    for (const relay& r : m.relays) {
      write_replicas(to.open('{').key("out"), r.out);
      write_replicas(to.key("in"), r.in);
      to.field("segments", r.segments).close('}');
    }
    to.close(']');
  }
  to.close('}');
}

/// As the script of a page reads it: rows by pass, -1 for no pack, and relays as [out, in, segments].
inline void write_short_merge(json_out& to, const merge& m) {
  to.open('{').field("sequence", m.sequence.value).key("replicas");
  write_replicas(to, m.replicas);
  to.key("rows").open('[');
  for (const pass p : both_passes) {
    to.open('[');
    for (const std::vector<pack_id>& row : m.of(p)) {
      to.open('[');
      for (const pack_id pack : row) to.value(pack == merge::none ? std::int64_t{-1} : std::int64_t{pack.value});
      to.close(']');
    }
    to.close(']');
  }
  to.close(']');
  if (!m.relays.empty()) {
    to.key("relays").open('[');
    for (const relay& r : m.relays) {
      to.open('[');
      for (const std::vector<std::uint32_t>* const side : {&r.out, &r.in}) write_replicas(to, *side);
      to.value(r.segments).close(']');
    }
    to.close(']');
  }
  to.close('}');
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

}  // namespace slimpack::io::detail

#endif
