#ifndef SLIMPACK_COSTS_HOOKS_HPP
#define SLIMPACK_COSTS_HOOKS_HPP

#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/core/lending/loan_messages.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/detail/has_member.hpp>

#include <concepts>
#include <optional>
#include <span>
#include <vector>

/// How the library asks a cost model. Only time(slice, pass, part) must be there; each other question has the
/// answer of a plain pipeline as its default, and a member of the same meaning replaces it:
///
///   member a model may offer                          question                               default
///   seconds overhead(pass, int part)                  what each pack costs besides slices    0 s
///   seconds time(span<const slice>, pass, int part)   what a pack costs                      overhead + sum of times
///   seconds call_overhead(pass, int part)             what each slice of a pack costs        0 s
///                                                     besides, as a call of its own
///   seconds useful(const slice&, pass, int part)      its time without recompute             time of the slice
///   seconds collectives(const slice&, pass, int part) what of `useful` the ranks of a stage  0 s
///                                                     wait for each other
///   seconds least(const slice&, pass, int part)       what its cuts cost at least; adds up  time of the slice
///   seconds message(tokens, pass, int part)           end on a part to arrival at the next   0 s
///   bool has_borders()                                whether time may fall where a prefix   no
///                                                     grows (law 3)
///   optional<memory_rates> memory(int stage)          bytes a GPU of a stage holds           nothing: tokens only
///   optional<memory_rates> evaluation_memory(int stage)   the same while forward packs run   as in a step, with what
///                                                     alone                                  pieces keep
///   bytes evaluation_kept(const slice& piece, int     of a model of evaluation_memory: what  0 bytes
///                         stage, tokens first)        a piece keeps beside its tokens until
///                                                     its sequence ends, of a sequence whose
///                                                     tokens begin at `first` there
///   bytes kept(const slice& piece, int stage)         what a piece keeps for its backward,   0 bytes
///                                                     beside memory's live_token per token
///   seconds exchange(const shared_row&, span<const slice>, what sharing adds to a pack of a row    0 s
///                    pass, int part)
///   seconds token_time(tokens, pass, int part)        of a pack of so many tokens, what grows with   cannot be told
///                                                     them alone: modules that work token by token
///   seconds covers(const slice&, pass, int part)      how much of such additions a slice of a sequence     0 s
///                                                     that nobody shares runs beside, in one pack
///   loan_messages lending(const loan&, int part)      messages of attention that a stage     0 s
///                                                     lends another, in each layer
///   seconds reduce_time()                             gradient reduction after the step      0 s
///   span<const gradient_bucket> gradient_buckets(int part)   what of it runs beside the work, none
///                                                     in buckets of layers; reduce_time
///                                                     is then what follows: the optimizer
///   int parts()                                       parts of the model it prices          any number
///   int like(int part)                                a part, from 0 to this one, that      part
///                                                     answers all questions about slices,
///                                                     packs and rows as this one does; 0 of
///                                                     a model `using has_equal_parts = itself`
///   seconds weight_time(const slice&, int part)       share of backward that may run apart;  half of backward
///                                                     what is left of backward does not
///                                                     fall as a slice grows
///   seconds vocabulary_time(tokens,                   what a stage's share of a spread       none: it cannot
///                  instruction_kind, int stage)       vocabulary takes for a pack (E, V, U   be spread
///                                                     and G, core/wiring/step_kinds.hpp);
///                                                     of 0 tokens its overhead
///   seconds vocabulary_message(tokens,                of its messages                        0 s
///                  message_kind, int stage)
///
/// Where the vocabulary is spread, `time` is of layers alone, and `message` is also asked of part 0 backward: what it
/// sends to the last stage. A pack of more tokens takes no longer than several that have these together, and besides
/// its overhead no less than these besides theirs.
///
/// `call_overhead` is for computes that are called piece by piece, which launch their kernels once a piece; `overhead`
/// is what a pack costs however many pieces it has. It is added to either form of `time`, once for each slice, and no
/// bound counts it. Times of slices that a trainer measured in its own calls (profiling/driver.hpp) have it already.
///
/// `has_borders` is for layers that attend inside chunks of a sequence: a slice right behind a border of two chunks
/// takes less than one right before it. Full attention, sliding windows, chosen keys and states have none. Bounds of a
/// model with borders ask about each position of a quantum, and are weaker where samples share beginnings that end
/// between two multiples of it.
///
/// `exchange` is told of a row that several replicas share (core/merge.hpp) and of the replica's own slices of it,
/// in run order. A pack that holds slices of two rows pays for both.
///
/// `covers` is for computes that are called with whole packs (executors/joined/joined_row.hpp): in each layer they
/// attend to the pack's own sequences while its rows are exchanged. A pack then takes max(0, e - c) besides its slices,
/// e being what all its rows add, and c the sum of what its slices of sequences without a row cover: e + c of them one
/// after the other, less min(e, c).
///
/// `kept` is for trainers whose activations are no multiple of their tokens: dense attention keeps its scores, queries
/// times keys; a prefix may be copied for each piece. It counts under limits in bytes, rounded up to whole ones, and
/// with chunks means all of a stage's together. It need not add up when a slice is cut, so it is asked about the pieces
/// of the common refinement (pricing/refine.hpp): what forward packs acquire is what backward packs release, at the end
/// of B where weight gradients run apart, since W needs a token's activations only. A model of which the longest
/// sequence keeps nothing as one piece, nor its last token as a piece behind others, is not asked about others. So a
/// state that each piece but a sequence's first keeps from the one before is `piece.begin > 0 ? state : 0`.
///
/// `evaluation_kept` is for layers whose keys and values do not grow with a sequence, where no backward needs them. Of
/// n tokens a window of W keeps min(n, W), so that a piece of the tokens [first + a, first + b) adds min(b, W) - min(a,
/// W); a state is kept once for a sequence, by the piece that begins at `first`. Where samples share beginnings,
/// `first` is where the sequence goes on behind its parent, which keeps its own last W tokens as long as something
/// reads them.
///
/// A member of one of these names that cannot be called so is an error of compilation, not a default. Of `time` that is
/// a second member that takes a span of slices.
namespace slimpack {

struct loan;  // core/lending/loan.hpp

namespace detail {

SLIMPACK_DETAIL_HAS_MEMBER(overhead);
SLIMPACK_DETAIL_HAS_MEMBER(call_overhead);
SLIMPACK_DETAIL_HAS_MEMBER(useful);
SLIMPACK_DETAIL_HAS_MEMBER(collectives);
SLIMPACK_DETAIL_HAS_MEMBER(least);
SLIMPACK_DETAIL_HAS_MEMBER(has_borders);
SLIMPACK_DETAIL_HAS_MEMBER(message);
SLIMPACK_DETAIL_HAS_MEMBER(memory);
SLIMPACK_DETAIL_HAS_MEMBER(evaluation_memory);
SLIMPACK_DETAIL_HAS_MEMBER(evaluation_kept);
SLIMPACK_DETAIL_HAS_MEMBER(kept);
SLIMPACK_DETAIL_HAS_MEMBER(exchange);
SLIMPACK_DETAIL_HAS_MEMBER(covers);
SLIMPACK_DETAIL_HAS_MEMBER(lending);
SLIMPACK_DETAIL_HAS_MEMBER(reduce_time);
SLIMPACK_DETAIL_HAS_MEMBER(gradient_buckets);
SLIMPACK_DETAIL_HAS_MEMBER(parts);
SLIMPACK_DETAIL_HAS_MEMBER(like);
SLIMPACK_DETAIL_HAS_MEMBER(weight_time);
SLIMPACK_DETAIL_HAS_MEMBER(vocabulary_time);
SLIMPACK_DETAIL_HAS_MEMBER(vocabulary_message);

template <class Cost>
concept prices_vocabulary = requires(const Cost& cost, tokens size, instruction_kind call, int stage) {
  { cost.vocabulary_time(size, call, stage) } -> std::same_as<seconds>;
};

template <class Cost>
concept prices_packs = requires(const Cost& cost, std::span<const slice> pack, pass p, int part) {
  { cost.time(pack, p, part) } -> std::same_as<seconds>;
};

template <class Cost>
concept prices_calls = requires(const Cost& cost, pass p, int part) {
  { cost.call_overhead(p, part) } -> std::same_as<seconds>;
};

/// Whether `time` takes packs in some form, which is not told by its name: slices have one, too.
template <class Cost, class Pack>
concept takes_pack_as = requires(Cost& cost, Pack pack, pass p, int part) {
  cost.time(pack, p, part);
}
|| requires(Cost& cost, Pack pack, pass p) { cost.time(pack, p); }
|| requires(Cost& cost, Pack pack) { cost.time(pack); };
template <class Cost>
concept takes_packs =
    takes_pack_as<Cost, std::span<const slice>> || takes_pack_as<Cost, std::span<slice>> || takes_pack_as < Cost,
        std::vector<slice>
& > ;

template <class Cost>
concept keeps_by_piece = requires(const Cost& cost, const slice& piece, int stage) {
  { cost.kept(piece, stage) } -> std::same_as<bytes>;
};

template <class Cost>
concept covers_exchanges = requires(const Cost& cost, const slice& s, pass p, int part) {
  { cost.covers(s, p, part) } -> std::same_as<seconds>;
};

template <class Cost>
concept prices_weights = requires(const Cost& cost, const slice& s, int part) {
  { cost.weight_time(s, part) } -> std::same_as<seconds>;
};

template <class Cost>
concept keeps_in_evaluations = requires(const Cost& cost, const slice& piece, int stage, tokens first) {
  { cost.evaluation_kept(piece, stage, first) } -> std::same_as<bytes>;
};

/// Whether a model is asked what pieces keep, in steps or in evaluations. Where it is not, pricing leaves out the walk
/// over pieces as well.
template <class Cost>
consteval bool asks_by_piece() {
  static_assert(keeps_by_piece<Cost> || !has_member_kept<Cost>,
                "a cost model's kept(const slice& piece, int stage) is public, const and gives bytes");
  static_assert(
      keeps_in_evaluations<Cost> || !has_member_evaluation_kept<Cost>,
      "a cost model's evaluation_kept(const slice& piece, int stage, tokens first) is public, const and gives "
      "bytes");
  static_assert(!keeps_in_evaluations<Cost> || has_member_evaluation_memory<Cost>,
                "a cost model's evaluation_kept is of a model that offers evaluation_memory(int stage), too");
  return keeps_by_piece<Cost> || keeps_in_evaluations<Cost>;
}

}  // namespace detail

template <class Cost>
[[nodiscard]] constexpr seconds pack_overhead(const Cost& cost, pass p, int part) {
  if constexpr (requires {
                  { cost.overhead(p, part) } -> std::same_as<seconds>;
                }) {
    return cost.overhead(p, part);
  } else {
    static_assert(!detail::has_member_overhead<Cost>,
                  "a cost model's overhead(pass, int part) is public, const and gives seconds");
    return {};
  }
}

/// What each slice of a pack costs besides, where the compute is called piece by piece.
template <class Cost>
[[nodiscard]] constexpr seconds call_overhead_of(const Cost& cost, pass p, int part) {
  if constexpr (detail::prices_calls<Cost>) {
    return cost.call_overhead(p, part);
  } else {
    static_assert(!detail::has_member_call_overhead<Cost>,
                  "a cost model's call_overhead(pass, int part) is public, const and gives seconds");
    return {};
  }
}

template <class Cost>
[[nodiscard]] constexpr seconds pack_time(const Cost& cost, std::span<const slice> pack, pass p, int part) {
  const seconds calls = call_overhead_of(cost, p, part) * static_cast<double>(pack.size());
  if constexpr (detail::prices_packs<Cost>) {
    return cost.time(pack, p, part) + calls;
  } else {
    static_assert(!detail::takes_packs<Cost>,
                  "a cost model's time(span<const slice>, pass, int part) is public, const and gives seconds");
    seconds sum = pack_overhead(cost, p, part);
    for (const slice& s : pack) sum += cost.time(s, p, part);
    return sum + calls;
  }
}

template <class Cost>
[[nodiscard]] constexpr seconds useful_time(const Cost& cost, const slice& s, pass p, int part) {
  if constexpr (requires {
                  { cost.useful(s, p, part) } -> std::same_as<seconds>;
                }) {
    return cost.useful(s, p, part);
  } else {
    static_assert(!detail::has_member_useful<Cost>,
                  "a cost model's useful(const slice&, pass, int part) is public, const and gives seconds");
    return cost.time(s, p, part);
  }
}

/// What of a slice's useful time its stage's ranks wait for each other.
template <class Cost>
[[nodiscard]] constexpr seconds collective_time(const Cost& cost, const slice& s, pass p, int part) {
  if constexpr (requires {
                  { cost.collectives(s, p, part) } -> std::same_as<seconds>;
                }) {
    return cost.collectives(s, p, part);
  } else {
    static_assert(!detail::has_member_collectives<Cost>,
                  "a cost model's collectives(const slice&, pass, int part) is public, const and gives seconds");
    return {};
  }
}

/// Whether time may fall where a slice's prefix grows.
template <class Cost>
[[nodiscard]] constexpr bool has_borders(const Cost& cost) {
  if constexpr (requires {
                  { cost.has_borders() } -> std::same_as<bool>;
                }) {
    return cost.has_borders();
  } else {
    static_assert(!detail::has_member_has_borders<Cost>,
                  "a cost model's has_borders() is public, const and gives bool");
    return false;
  }
}

/// The part that a pack goes to next is part + 1 forward, part - 1 backward.
template <class Cost>
[[nodiscard]] constexpr seconds message_time(const Cost& cost, tokens size, pass p, int part) {
  if constexpr (requires {
                  { cost.message(size, p, part) } -> std::same_as<seconds>;
                }) {
    return cost.message(size, p, part);
  } else {
    static_assert(!detail::has_member_message<Cost>,
                  "a cost model's message(tokens, pass, int part) is public, const and gives seconds");
    return {};
  }
}

template <class Cost>
[[nodiscard]] constexpr std::optional<memory_rates> memory_of(const Cost& cost, int stage) {
  if constexpr (requires {
                  { cost.memory(stage) } -> std::same_as<std::optional<memory_rates>>;
                }) {
    return cost.memory(stage);
  } else {
    static_assert(!detail::has_member_memory<Cost>,
                  "a cost model's memory(int stage) is public, const and gives optional<memory_rates>");
    return std::nullopt;
  }
}

/// What a GPU of a stage holds while it evaluates: weights, keys and values of sequences that are under way, and what
/// runs. Of the rates only fixed, live_token and forward_token count. Nothing where the model knows no evaluations:
/// they are then held to be steps.
template <class Cost>
[[nodiscard]] constexpr std::optional<memory_rates> evaluation_memory_of(const Cost& cost, int stage) {
  if constexpr (requires {
                  { cost.evaluation_memory(stage) } -> std::same_as<std::optional<memory_rates>>;
                }) {
    return cost.evaluation_memory(stage);
  } else {
    static_assert(!detail::has_member_evaluation_memory<Cost>,
                  "a cost model's evaluation_memory(int stage) is public, const and gives optional<memory_rates>");
    return std::nullopt;
  }
}

template <class Cost>
[[nodiscard]] constexpr bytes kept_of(const Cost& cost, const slice& piece, int stage) {
  if constexpr (detail::asks_by_piece<Cost>() && detail::keeps_by_piece<Cost>)
    return cost.kept(piece, stage);
  else
    return {};
}

/// What a piece keeps where forward packs run alone, of a sequence whose tokens begin at `first` there. A model that
/// knows no evaluations keeps what it keeps in a step.
template <class Cost>
[[nodiscard]] constexpr bytes evaluation_kept_of(const Cost& cost, const slice& piece, int stage, tokens first) {
  if constexpr (detail::asks_by_piece<Cost>()) {
    if (!evaluation_memory_of(cost, stage)) return kept_of(cost, piece, stage);
    if constexpr (detail::keeps_in_evaluations<Cost>) return cost.evaluation_kept(piece, stage, first);
  }
  return {};
}

template <class Cost>
[[nodiscard]] constexpr seconds exchange_time(const Cost& cost, const shared_row& row, std::span<const slice> mine,
                                              pass p, int part) {
  if constexpr (requires {
                  { cost.exchange(row, mine, p, part) } -> std::same_as<seconds>;
                }) {
    return cost.exchange(row, mine, p, part);
  } else {
    static_assert(!detail::has_member_exchange<Cost>,
                  "a cost model's exchange(const shared_row&, span<const slice>, pass, int part) is public, const and "
                  "gives seconds");
    return {};
  }
}

/// What of a pack's time grows with its tokens alone.            Requires  a model that offers `token_time`
template <class Cost>
[[nodiscard]] constexpr seconds tokens_time(const Cost& cost, tokens size, pass p, int part) {
  static_assert(
      requires {
        { cost.token_time(size, p, part) } -> std::same_as<seconds>;
      },
      "a cost model's token_time(tokens, pass, int part) is public, const and gives seconds: it must be there to remap "
      "rows");
  return cost.token_time(size, p, part);
}

/// What a slice runs beside of the exchanges of its pack's rows.
template <class Cost>
[[nodiscard]] constexpr seconds covered_time(const Cost& cost, const slice& s, pass p, int part) {
  if constexpr (detail::covers_exchanges<Cost>) {
    return cost.covers(s, p, part);
  } else {
    static_assert(!detail::has_member_covers<Cost>,
                  "a cost model's covers(const slice&, pass, int part) is public, const and gives seconds");
    return {};
  }
}

template <class Cost>
[[nodiscard]] constexpr loan_messages loan_messages_of(const Cost& cost, const loan& l, int part) {
  if constexpr (requires {
                  { cost.lending(l, part) } -> std::same_as<loan_messages>;
                }) {
    return cost.lending(l, part);
  } else {
    static_assert(!detail::has_member_lending<Cost>,
                  "a cost model's lending(const loan&, int part) is public, const and gives loan_messages");
    return {};
  }
}

template <class Cost>
[[nodiscard]] constexpr seconds reduce_time_of(const Cost& cost) {
  if constexpr (requires {
                  { cost.reduce_time() } -> std::same_as<seconds>;
                }) {
    return cost.reduce_time();
  } else {
    static_assert(!detail::has_member_reduce_time<Cost>,
                  "a cost model's reduce_time() is public, const and gives seconds");
    return {};
  }
}

/// Buckets of a part whose reduction runs beside the work (core/gradient_reduction.hpp); the model keeps what it gives.
template <class Cost>
[[nodiscard]] constexpr std::span<const gradient_bucket> gradient_buckets_of(const Cost& cost, int part) {
  if constexpr (requires {
                  { cost.gradient_buckets(part) } -> std::same_as<std::span<const gradient_bucket>>;
                }) {
    return cost.gradient_buckets(part);
  } else {
    static_assert(!detail::has_member_gradient_buckets<Cost>,
                  "a cost model's gradient_buckets(int part) is public, const and gives span<const gradient_bucket>");
    return {};
  }
}

template <class Cost>
[[nodiscard]] constexpr std::optional<int> parts_of(const Cost& cost) {
  if constexpr (requires {
                  { cost.parts() } -> std::same_as<int>;
                }) {
    return cost.parts();
  } else {
    static_assert(!detail::has_member_parts<Cost>, "a cost model's parts() is public, const and gives int");
    return std::nullopt;
  }
}

/// The part that is asked instead of one: most parts of a model are alike, and are priced once.
template <class Cost>
[[nodiscard]] constexpr int like_of(const Cost& cost, int part) {
  if constexpr (requires {
                  { cost.like(part) } -> std::same_as<int>;
                })
    return cost.like(part);
  else if constexpr (requires { requires std::same_as<typename Cost::has_equal_parts, Cost>; })
    return 0;
  else
    static_assert(!detail::has_member_like<Cost>, "a cost model's like(int part) is public, const and gives int");
  return part;
}

/// Time of the weight-gradient part of a slice's backward: work that a schedule may delay (W instructions).
template <class Cost>
[[nodiscard]] constexpr seconds weight_time(const Cost& cost, const slice& s, int part) {
  if constexpr (detail::prices_weights<Cost>) {
    return cost.weight_time(s, part);
  } else {
    static_assert(!detail::has_member_weight_time<Cost>,
                  "a cost model's weight_time(const slice&, int part) is public, const and gives seconds");
    return cost.time(s, pass::backward, part) * 0.5;
  }
}

/// Whether a cost model can price a vocabulary that is spread over the stages.
template <class Cost>
[[nodiscard]] consteval bool spreads_vocabulary() {
  static_assert(
      detail::prices_vocabulary<Cost> || !detail::has_member_vocabulary_time<Cost>,
      "a cost model's vocabulary_time(tokens, instruction_kind, int stage) is public, const and gives seconds");
  return detail::prices_vocabulary<Cost>;
}

/// What a stage's share of a spread vocabulary takes for a pack of so many tokens.
template <class Cost>
[[nodiscard]] constexpr seconds vocabulary_time(const Cost& cost, tokens size, instruction_kind call, int stage) {
  if constexpr (spreads_vocabulary<Cost>())
    return cost.vocabulary_time(size, call, stage);
  else
    return {};
}

template <class Cost>
[[nodiscard]] constexpr seconds vocabulary_message(const Cost& cost, tokens size, message_kind rows, int stage) {
  if constexpr (requires {
                  { cost.vocabulary_message(size, rows, stage) } -> std::same_as<seconds>;
                }) {
    return cost.vocabulary_message(size, rows, stage);
  } else {
    static_assert(
        !detail::has_member_vocabulary_message<Cost>,
        "a cost model's vocabulary_message(tokens, message_kind, int stage) is public, const and gives seconds");
    return {};
  }
}

/// What a slice costs at least, however it is cut and whatever shares its packs: what lower bounds are made of. It adds
/// up over slices, obeys law 3 as time does, and a pack takes no less than its overhead and those of its slices. A
/// model whose times do not add up (law 4) offers `least`.
template <class Cost>
[[nodiscard]] constexpr seconds least_time(const Cost& cost, const slice& s, pass p, int part) {
  if constexpr (requires {
                  { cost.least(s, p, part) } -> std::same_as<seconds>;
                }) {
    return cost.least(s, p, part);
  } else {
    static_assert(!detail::has_member_least<Cost>,
                  "a cost model's least(const slice&, pass, int part) is public, const and gives seconds");
    return cost.time(s, p, part);
  }
}

/// The most of least_time's backward that weight gradients can take out of it: all of a model's own weight_time.
/// However a slice is cut, backward without weight gradients takes no less than least_time without these. That holds if
/// the weight times of cuts add up, and if they are the same share of each backward, as the default's.
template <class Cost>
[[nodiscard]] constexpr seconds least_weight_time(const Cost& cost, const slice& s, int part) {
  if constexpr (detail::prices_weights<Cost> || detail::has_member_weight_time<Cost>)
    return weight_time(cost, s, part);
  else
    return least_time(cost, s, pass::backward, part) * 0.5;
}

}  // namespace slimpack

#endif
