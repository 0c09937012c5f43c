#ifndef SLIMPACK_EXECUTORS_STEP_OUTLINE_HPP
#define SLIMPACK_EXECUTORS_STEP_OUTLINE_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/piece.hpp>

#include <cstddef>
#include <span>

namespace slimpack {

/// What a stage learns before its first forward, so that buffers can be sized once.
struct step_outline {
  int replica{};
  int stage{};
  std::span<const sequence>
      sequences;        ///< this replica's, with their lengths, and where they lie on their paths; valid
                        ///< during begin_step
  tokens valid_tokens;  ///< of the whole batch: what loss weights are relative to
  bool has_targets{};   ///< the batch says what is trained on (core/forest/forest.hpp): pieces have edges
  bool idle{};  ///< none of the batch is this replica's: it runs a piece of weight 0, the beginning of the shortest
                ///< sequence of the batch as if that were all of it
  bool forward_only{};  ///< the step evaluates: it calls no backward, and reduces nothing. What a forward keeps of a
                        ///< sequence is discarded after the sequence's last forward on a chunk, so that what only
                        ///< backward reads need not be kept
  std::size_t forward_calls{};        ///< calls of forward, over all chunks
  std::size_t backward_calls{};       ///< calls of backward, over all chunks; piece.last_of_chunk says which is the
                                      ///< last
  std::span<const piece> backward{};  ///< the pieces of its backward packs, in order, with each of which backward is
                                      ///< called on each chunk: a compute that keeps something at every cut of both
                                      ///< passes learns here where backward cuts. Empty where none is called; valid
                                      ///< during begin_step
  std::size_t packs_in_flight{};      ///< most forward packs run and not yet wholly backwarded, or discarded, at a
                                      ///< time, in (pack, chunk)
  tokens tokens_in_flight;            ///< most live tokens at a time
  tokens largest_pack;                ///< most tokens in one message, of either pass
};

}  // namespace slimpack

#endif
