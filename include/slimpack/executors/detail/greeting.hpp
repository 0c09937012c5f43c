#ifndef SLIMPACK_EXECUTORS_DETAIL_GREETING_HPP
#define SLIMPACK_EXECUTORS_DETAIL_GREETING_HPP

#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/executors/backward_cuts.hpp>
#include <slimpack/executors/message_format.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace slimpack::detail {

/// What a stage sends for a token of a shared row: bytes in a layer, and layers of all chunks.
struct row_sizes {
  struct of_pass {
    std::int64_t kept{};
    std::int64_t queries{}, query_sums{};
    std::int64_t ring{}, ring_sums{};
    friend bool operator==(const of_pass&, const of_pass&) = default;
  };
  std::int64_t layers{};
  by_pass<of_pass> bytes;
  friend bool operator==(const row_sizes&, const row_sizes&) = default;
};

/// What each rank tells all others before the first instruction.
struct greeting {
  std::uint64_t division{};     // 0: every rank holds the whole plan
  std::uint64_t group{};        // first of the replicas that hold the same plan; 0 of a whole one
  std::uint64_t hash{};
  std::int64_t stages{};
  std::int64_t replicas{};
  std::int64_t width{};
  std::int64_t element{};
  std::int64_t valid_tokens{};  // of its replica, as it counts them
  std::int64_t step{};          // as the trainer counts them
  std::int64_t cuts{};          // a backward message's pieces lie in the order in which they run
  row_sizes rows;               // of what it sends to those that share rows with it
  vocabulary_format vocabulary;
  std::uint64_t transfers{};    // the order of all that run together with its replica
  std::int64_t together{};      // the first replica of these
  std::int64_t forward_only{};  // 1: it evaluates
};

[[nodiscard]] inline std::string text_of(const row_sizes& s) {
  std::string text = std::to_string(s.bytes.forward.kept) + " and " + std::to_string(s.bytes.backward.kept) + " bytes a token and layer";
  for (const pass p : both_passes) {
    const row_sizes::of_pass& b = s.bytes[p];
    if (b == row_sizes::of_pass{.kept = b.kept}) continue;
    text += std::string(", ") + name_of(p) + " queries " + std::to_string(b.queries) + " + " + std::to_string(b.query_sums) + ", ring " +
            std::to_string(b.ring) + " + " + std::to_string(b.ring_sums);
  }
  return text + ", layers " + std::to_string(s.layers);
}
[[nodiscard]] inline std::string text_of(const vocabulary_format& f) {
  return std::to_string(f.partial.width) + " " + to_string(f.partial.element) + " partial, " + std::to_string(f.statistics.width) +
         " " + to_string(f.statistics.element) + " of statistics";
}

/// What ranks that greet each other do not have in common, if anything: they must hold one plan, or parts of one division and the
/// same part within a group, and one message format.
/// ranks     the words for two of them
[[nodiscard]] inline std::optional<error> difference(std::span<const greeting> all, std::size_t stages,
                                                     const std::function<std::string(std::size_t, std::size_t)>& ranks) {
  const auto differ = [&](std::size_t a, std::size_t b, const std::string& how) { return error{errc::disagreement, ranks(a, b) + how}; };
  const auto plan_of = [](const greeting& g) { return g.division == 0 ? "a plan of all replicas" : hash_text(g.division); };
  const auto kind_of = [](const greeting& g) { return g.forward_only != 0 ? "an evaluation (evaluate)" : "a training step (execute)"; };
  const auto cuts_of = [](const greeting& g) { return g.cuts == static_cast<std::int64_t>(backward_cuts::any) ? "any" : "forward_cuts"; };
  const auto element_of = [](const greeting& g) { return std::string(to_string(static_cast<element_type>(g.element))); };
  const greeting& first = all[0];
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const greeting& one = all[rank];
    const auto holds = [&](const std::string& what, const std::string& a, const std::string& b) {
      return differ(0, rank, " hold different " + what + ": " + a + " and " + b);
    };
    if (one.division != first.division) return holds("divisions of the batch", plan_of(first), plan_of(one));
    const std::size_t leader = std::min<std::size_t>(one.group, all.size()) * stages;
    if (leader >= all.size() || one.hash != all[leader].hash || one.group != all[leader].group)
      return differ(leader, rank, " hold different plans: " + hash_text(leader < all.size() ? all[leader].hash : 0) + " and " + hash_text(one.hash));
    if (one.stages != first.stages || one.replicas != first.replicas) return holds("plans", hash_text(first.hash), hash_text(one.hash));
    if (one.step != first.step) return holds("steps", std::to_string(first.step), std::to_string(one.step));
    if (one.forward_only != first.forward_only) return holds("kinds of step", kind_of(first), kind_of(one));
    if (one.cuts != first.cuts) return holds("kinds of backward cuts", cuts_of(first), cuts_of(one));
    if (one.width != first.width) return holds("message widths", std::to_string(first.width), std::to_string(one.width));
    if (one.element != first.element) return holds("element types", element_of(first), element_of(one));
    if (const std::size_t copy = rank % stages; one.rows != all[copy].rows)
      return differ(copy, rank, " send rows that replicas share in different sizes: " + text_of(all[copy].rows) + " and " + text_of(one.rows));
    if (one.vocabulary != first.vocabulary) return holds("rows of the vocabulary", text_of(first.vocabulary), text_of(one.vocabulary));
    // Plans are alike; their arithmetic may not be, on another processor or by another compiler.
    if (const auto head = static_cast<std::size_t>(one.together) * stages; one.transfers != all[head].transfers)
      return differ(head, rank, " order the plan's transfers differently: " + hash_text(all[head].transfers) + " and " + hash_text(one.transfers));
  }
  return std::nullopt;
}

}  // namespace slimpack::detail

#endif
