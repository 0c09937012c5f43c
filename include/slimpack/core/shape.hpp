#ifndef SLIMPACK_CORE_SHAPE_HPP
#define SLIMPACK_CORE_SHAPE_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace slimpack {

/// Where a pipeline has the embedding and the output layer, whose weights are a row for each word of the vocabulary.
enum class vocabulary : unsigned char {
  last,    ///< the embedding on the first part of the model, the output layer and the loss on the last
  spread,  ///< each of the p stages has a share of the words, of both
};

/// "last" or "spread".
[[nodiscard]] constexpr const char* name_of(vocabulary v) noexcept { return v == vocabulary::last ? "last" : "spread"; }

/// What a memory limit counts.
enum class memory_unit : unsigned char {
  token,  ///< live tokens of a stage, under any cost model
  byte,   ///< everything on one GPU, under a cost model that knows bytes
};

/// The most a GPU (bytes) or a stage (tokens) may hold at any time.
struct memory_limit {
  memory_unit unit{memory_unit::token};
  double amount{};
  friend constexpr bool operator==(const memory_limit&, const memory_limit&) = default;
};

/// The quantum where none is chosen: the least multiple of 2 c from 128 tokens on, for c context-parallel ranks. Zigzag
/// ring attention divides a slice into 2 c equal parts, of which rank i has parts i and 2 c - 1 - i.
/// Requires  context >= 1
/// Source    the context parallelism of Megatron-LM, which divides so for causal attention
[[nodiscard]] constexpr tokens default_quantum(int context) noexcept {
  return context == 1 ? tokens{128} : padded({128}, {2 * std::int64_t{context}});
}

/// How a model is laid over GPUs, and the rules that every plan on them obeys.
/// Units     degrees are counts of ranks; quantum in tokens
/// Requires  every degree and the quantum >= 1; `expert` divides the ranks of a stage. Above 1, tensor-parallel ranks
///           do not divide an expert: each rank of an expert group has whole ones
/// Limits    where expert ranks are of several replicas, plans do not pair the packs of these replicas
/// Source    the groups of experts are those of Megatron Core's MoE parallel folding: taken from the data-, context-
///           and tensor-parallel ranks of a stage, with --expert-tensor-parallel-size 1
struct shape {
  int stages{1};        ///< pipeline depth p (--pp)
  int replicas{1};      ///< data-parallel copies (--dp)
  int tensor{1};        ///< tensor-parallel ranks of a stage (--tp)
  int context{1};       ///< context-parallel ranks of a stage (--cp)
  int chunks{1};        ///< virtual stages on each stage (--vpp)
  int expert{1};        ///< ranks of a stage, those of its replicas among them, that divide the experts of its layers
                        ///< (--ep)
  tokens quantum{128};  ///< sequences may be cut at its multiples (default_quantum)
  std::optional<memory_limit> memory{};  ///< none: memory is reported, not limited
  slimpack::vocabulary vocabulary{};     ///< where embedding and output layer are; spread: over 2 stages or more
  /// How many words of a spread vocabulary each stage has, at least 1; empty: each of the p stages has a p-th of them.
  std::vector<std::int64_t> words{};

  /// Parts that the model is cut into: part c * stages + r is chunk c of stage r.
  [[nodiscard]] constexpr int parts() const noexcept { return stages * chunks; }
  /// Whether a part has work without a layer: the embedding or the output layer, unless all stages have words of both.
  [[nodiscard]] constexpr bool may_be_empty(int part) const noexcept {
    return vocabulary == slimpack::vocabulary::last && (part == 0 || part == parts() - 1);
  }
  /// What a stage has of an amount that all words of a spread vocabulary have together.
  [[nodiscard]] constexpr double share_of_words(int stage, double amount) const noexcept {
    if (words.empty()) return amount / stages;
    std::int64_t all = 0;
    for (const std::int64_t own : words) all += own;
    return amount * (static_cast<double>(words[static_cast<std::size_t>(stage)]) / static_cast<double>(all));
  }
  /// Parts whose weights are reduced: those of the model and, of a spread vocabulary, part parts() + r on stage r.
  [[nodiscard]] constexpr int reduced_parts() const noexcept {
    return parts() + (vocabulary == slimpack::vocabulary::spread ? stages : 0);
  }
  /// Ranks that run a stage: tensor- and context-parallel ones, of all replicas.
  [[nodiscard]] constexpr std::int64_t stage_ranks() const noexcept {
    return std::int64_t{replicas} * context * tensor;
  }
  /// Whether some weights have copies, whose gradients are summed: experts that tensor-parallel ranks do not all divide
  /// have copies on one replica, too.
  [[nodiscard]] constexpr bool has_copies() const noexcept {
    return std::int64_t{replicas} * context > 1 || (expert > 1 && expert < stage_ranks());
  }
  friend constexpr bool operator==(const shape&, const shape&) = default;
};

/// What a shape has that no plan can have; null where it has nothing such.
[[nodiscard]] constexpr const char* fault_of(const shape& s) noexcept {
  if (s.stages < 1) return "fewer than 1 stage";
  if (s.replicas < 1) return "fewer than 1 replica";
  if (s.chunks < 1) return "fewer than 1 chunk a stage";
  if (s.quantum < tokens{1}) return "a quantum of less than 1 token";
  if (s.vocabulary == vocabulary::spread && s.stages < 2)
    return "a vocabulary that is spread over 1 stage: it needs 2 or more, or vocabulary::last";
  if (s.words.empty()) return nullptr;
  if (s.vocabulary == vocabulary::last) return "words of each stage, but a vocabulary that is in one place";
  if (s.words.size() != static_cast<std::size_t>(s.stages)) return "words that are not of each stage";
  for (const std::int64_t own : s.words)
    if (own < 1) return "a stage without a word of the vocabulary that is spread";
  return nullptr;
}

/// A shape with its vocabulary in one place.
[[nodiscard]] constexpr shape with_whole_vocabulary(shape s) {
  s.vocabulary = vocabulary::last;
  s.words.clear();
  return s;
}

/// The words of each stage where so many are spread evenly: as many as on any other, or one less.
/// Requires  words >= stages >= 1
[[nodiscard]] constexpr std::vector<std::int64_t> even_words(std::int64_t words, int stages) {
  std::vector<std::int64_t> all;
  for (int stage = 0; stage < stages; ++stage) all.push_back(words * (stage + 1) / stages - words * stage / stages);
  return all;
}

/// What keeps the forward of steps on a shape from running alone, and what to choose instead; null where it can.
[[nodiscard]] constexpr const char* forward_fault_of(const shape& s) noexcept {
  return s.vocabulary == vocabulary::spread
             ? "the vocabulary is spread over the stages, whose calls run both passes: choose vocabulary::last"
             : nullptr;
}

}  // namespace slimpack

#endif
