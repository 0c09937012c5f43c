#ifndef SLIMPACK_IO_DETAIL_PLAN_MERGE_OUT_HPP
#define SLIMPACK_IO_DETAIL_PLAN_MERGE_OUT_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/io/detail/json_out.hpp>

#include <cstdint>
#include <vector>

/// Writes sequences that replicas share, in a plan file (io/plan_json.hpp) and in the data of a timeline's page.
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

}  // namespace slimpack::io::detail

#endif
