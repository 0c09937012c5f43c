#ifndef SLIMPACK_IO_DETAIL_PLAN_FOREST_JSON_HPP
#define SLIMPACK_IO_DETAIL_PLAN_FOREST_JSON_HPP

#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/forest/uncut.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/json_out.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

/// How the samples of a plan file share beginnings, where they end, and what is trained on (io/plan_json.hpp).
namespace slimpack::io::detail {

/// Whether a plan says more of its batch than the lengths of its sequences.
[[nodiscard]] inline bool has_forest(const plan& p) noexcept {
  return !p.parents.empty() || !p.samples.empty() || !p.targets.empty();
}

inline void write_forest(json_out& to, const plan& p) {
  if (!p.parents.empty()) {
    to.key("parents").open('[');
    for (const sequence_id parent : p.parents)
      to.value(parent == no_parent ? std::int64_t{-1} : std::int64_t{parent.value});
    to.close(']').line();
  }
  if (!p.copies.empty()) {
    to.key("copies").open('[');
    for (const path_copy& c : p.copies)
      to.open('[').value(c.sequence.value).value(c.of.value).value(c.until.value).close(']');
    to.close(']').line();
  }
  if (!p.samples.empty()) {
    to.key("samples").open('[');
    for (const sample_end& s : p.samples)
      to.open('[').value(s.sequence.value).value(s.at.value).value(s.count).close(']');
    to.close(']').line();
  }
  if (p.targets.empty()) return;
  to.key("targets").open('[');
  for (const target_run& t : p.targets)
    to.open('[').value(t.sequence.value).value(t.begin.value).value(t.length.value).value(t.count).close(']');
  to.close(']').line();
}

/// The sequence that a list of numbers begins with, of so many.
[[nodiscard]] inline sequence_id sequence_in(const json_place& list, std::size_t sequences) {
  return {list.at(0).integer<std::uint32_t>(0, static_cast<std::int64_t>(sequences) - 1)};
}

/// Reads what a plan says of its batch beside the lengths, which it has. All weights are 1: a file has none.
inline void read_forest(const json_place& file, plan& p) {
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  const auto agree = [&](const json_place& place, const char* what) {
    if (const std::optional<std::string> fault = batch_of(p).fault()) place.expected(what + (": " + *fault));
  };
  if (const std::optional<json_place> parents = file.find({"parents"})) {
    parents->must_have(p.lengths.size(), "one per sequence");
    for (std::size_t i = 0; i < parents->size(); ++i) {
      const auto parent = parents->at(i).integer(-1, static_cast<std::int64_t>(p.lengths.size()) - 1);
      p.parents.push_back(parent < 0 ? no_parent : sequence_id{static_cast<std::uint32_t>(parent)});
    }
    agree(*parents, "the parents of a forest");
  }
  if (const std::optional<json_place> copies = file.find({"copies"})) {
    for (std::size_t i = 0; i < copies->size(); ++i) {
      const json_place one = copies->at(i);
      one.must_have(3, "[sequence, of, until]");
      p.copies.push_back({sequence_in(one, p.lengths.size()),
                          {one.at(1).integer<std::uint32_t>(0, static_cast<std::int64_t>(p.lengths.size()) - 1)},
                          {one.at(2).integer(1, longest_supported.value)}});
    }
    const result<uncut_forest> from = uncut(batch_of(p), p.copies);
    if (!from) copies->expected("copies of paths of a batch: " + from.error().detail);
  }
  if (const std::optional<json_place> samples = file.find({"samples"})) {
    for (std::size_t i = 0; i < samples->size(); ++i) {
      const json_place one = samples->at(i);
      one.must_have(3, "[sequence, end, count]");
      p.samples.push_back({sequence_in(one, p.lengths.size()),
                           {one.at(1).integer(1, longest_supported.value)},
                           one.at(2).integer<std::uint32_t>(1, most)});
    }
    agree(*samples, "ends of samples in their sequences, in order");
  }
  if (const std::optional<json_place> targets = file.find({"targets"})) {
    for (std::size_t i = 0; i < targets->size(); ++i) {
      const json_place one = targets->at(i);
      one.must_have(4, "[sequence, begin, length, count]");
      p.targets.push_back({sequence_in(one, p.lengths.size()),
                           {one.at(1).integer(1, longest_supported.value)},
                           {one.at(2).integer(1, longest_supported.value)},
                           one.at(3).integer<std::uint32_t>(1, most)});
    }
    agree(*targets, "runs of tokens of their sequences, in order and without overlap");
  }
}

}  // namespace slimpack::io::detail

#endif
