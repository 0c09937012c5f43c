#ifndef SLIMPACK_EXECUTORS_DETAIL_GREETING_HPP
#define SLIMPACK_EXECUTORS_DETAIL_GREETING_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/message_format.hpp>
#include <slimpack/executors/piece.hpp>

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

/// What tied stages send each other in a layer (core/ensemble/stage_ties.hpp): messages, and bytes for a token of keys
/// and of queries.
struct tie_sizes {
  struct of_pass {
    std::int64_t messages{};
    std::int64_t keys{}, queries{};
    friend bool operator==(const of_pass&, const of_pass&) = default;
  };
  std::int64_t layers{};  // of all chunks
  by_pass<of_pass> in;

  friend bool operator==(const tie_sizes&, const tie_sizes&) = default;
};

/// What each rank tells all others before the first instruction.
struct greeting {
  std::uint64_t division{};  // 0: every rank holds the whole plan
  std::uint64_t group{};     // first of the replicas that hold the same plan; 0 of a whole one
  std::uint64_t hash{};
  std::int64_t stages{};
  std::int64_t replicas{};
  std::int64_t width{};
  std::int64_t element{};
  std::int64_t valid_tokens{};  // of its replica, as it counts them
  std::int64_t step{};          // as the trainer counts them
  std::int64_t cuts{};          // a backward message's pieces lie in the order in which they run
  row_sizes rows;               // of what it sends to those that share rows with it
  tie_sizes ties;               // of what it and stages that it is tied to send each other
  vocabulary_format vocabulary;
  std::uint64_t transfers{};    // the order of all that run together with its replica
  std::int64_t together{};      // the first replica of these
  std::int64_t forward_only{};  // 1: it evaluates
  std::int64_t joins{};         // 1: it runs rows that replicas share together with a pack's other pieces
  std::uint64_t nodes{};        // which rank is on which node, where that decides in which order it posts rows
  std::int64_t checksums{};     // 1: a checksum goes behind each of its messages
};

[[nodiscard]] inline std::string text_of(const row_sizes& s) {
  std::string text = std::to_string(s.bytes.forward.kept) + " and " + std::to_string(s.bytes.backward.kept) +
                     " bytes a token and layer";
  for (const pass p : both_passes) {
    const row_sizes::of_pass& b = s.bytes[p];
    if (b == row_sizes::of_pass{.kept = b.kept}) continue;
    text += std::string(", ") + name_of(p) + " queries " + std::to_string(b.queries) + " + " +
            std::to_string(b.query_sums) + ", ring " + std::to_string(b.ring) + " + " + std::to_string(b.ring_sums);
  }
  return text + ", layers " + std::to_string(s.layers);
}
[[nodiscard]] inline std::string text_of(const tie_sizes& s) {
  std::string text;
  for (const pass p : both_passes)
    text += std::string(name_of(p)) + " " + std::to_string(s.in[p].messages) + " messages of " +
            std::to_string(s.in[p].keys) + " bytes a token of keys and " + std::to_string(s.in[p].queries) +
            " a token of queries, ";
  return text + "layers " + std::to_string(s.layers);
}
[[nodiscard]] inline std::string text_of(const vocabulary_format& f) {
  return std::to_string(f.partial.width) + " " + to_string(f.partial.element) + " partial, " +
         std::to_string(f.statistics.width) + " " + to_string(f.statistics.element) + " of statistics";
}

/// What ranks that greet each other do not have in common, if anything: they must hold one plan, or parts of one
/// division and the same part within a group, and one message format. Whatever bytes came, nothing else is read.
/// Requires  a multiple of `stages` of them, and at least one
/// ranks     the words for two of them
[[nodiscard]] std::optional<error> difference(std::span<const greeting> all, std::size_t stages,
                                              const std::function<std::string(std::size_t, std::size_t)>& ranks);

/// Tokens of the whole batch that have a loss, as the last stages count them.            Requires  no difference
[[nodiscard]] tokens batch_tokens_of(std::span<const greeting> all, std::size_t stages);

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/executors/impl/greeting.ipp>
#endif

#endif
