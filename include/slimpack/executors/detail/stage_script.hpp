#ifndef SLIMPACK_EXECUTORS_DETAIL_STAGE_SCRIPT_HPP
#define SLIMPACK_EXECUTORS_DETAIL_STAGE_SCRIPT_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/executors/detail/piece_list.hpp>
#include <slimpack/executors/detail/script/path_facts.hpp>
#include <slimpack/executors/detail/script/transfer_script.hpp>
#include <slimpack/executors/detail/shared/shared_sequences.hpp>
#include <slimpack/executors/message_format.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/executors/step_outline.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/transports/hooks.hpp>

#include <boost/container/container_fwd.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::detail {

/// One end of a message: a rank and a channel.
struct message_end {
  int rank{};
  int channel{};
};

/// What a message has for a token (executors/message_format.hpp).
enum class message_content : std::uint8_t {
  hidden,      ///< a hidden row or its gradient, an embedded row or its gradient
  partial,     ///< of the output layer, over the words of a stage
  statistics,  ///< of the output layer, over all words
};
inline constexpr std::size_t message_contents = 3;

/// The formats of a compute, by content.            ends: those of its output layer
[[nodiscard]] constexpr std::array<message_format, message_contents> formats_of(const message_format& hidden,
                                                                                const vocabulary_format& ends) {
  return {hidden, ends.partial, ends.statistics};
}

/// What one stage does in a step, made of a sound plan: its pieces, whom it hears and tells, how much is live.
/// Packs travel from part to part of the model, and where its vocabulary is spread over the stages, from stage to stage
/// at its ends; the channel of a message is that of the place that it goes to, so that messages on a channel from one
/// rank come in run order whatever order a stage gives its chunks.
class stage_script {
 public:
  int replica{};
  int stage{};
  shape on;
  program code;
  piece_list forward;
  piece_list backward;                    // empty of a step that is forward only
  std::vector<std::uint32_t> forward_of;  // per backward piece, its forward piece; empty under backward_cuts::any
  std::vector<sequence> sequences;
  path_facts paths;  // nothing of an idle replica's
  shared_sequences shared;
  transfer_script transfers;
  step_outline outline;  // valid_tokens is left to the runtime

  /// The passes that the step runs.
  [[nodiscard]] std::span<const pass> passes() const noexcept {
    return std::span(both_passes).first(outline.forward_only ? 1 : 2);
  }
  [[nodiscard]] piece_list& of(pass p) noexcept { return p == pass::forward ? forward : backward; }
  [[nodiscard]] const piece_list& of(pass p) const noexcept { return p == pass::forward ? forward : backward; }

  /// One past the largest id of its sequences.
  [[nodiscard]] std::size_t ids() const noexcept {
    std::size_t most = 0;
    for (const sequence& s : sequences) most = std::max(most, std::size_t{s.id.value} + 1);
    return most;
  }

  using message_ends = boost::container::small_vector<message_end, 4>;  // who asks includes
                                                                        // boost/container/small_vector.hpp
  /// Of each message that it waits for, in order of the stages that they come from.
  [[nodiscard]] message_ends sources(const instruction& i) const;
  /// Of each message that it sends, in order of the stages that they go to. All have one content.
  [[nodiscard]] message_ends targets(const instruction& i) const;

  [[nodiscard]] bool spreads_vocabulary() const noexcept { return on.vocabulary == vocabulary::spread; }
  /// Whether the instruction puts the parts of all stages together: V on the last stage. It reads the hidden rows of
  /// this stage's F, and makes gradients of hidden rows, which wait on this stage for the B that takes them.
  [[nodiscard]] bool gathers(const instruction& i) const {
    return i.kind == instruction_kind::output && stage + 1 == on.stages;
  }
  /// Whether it is the F whose hidden rows this stage's V reads.
  [[nodiscard]] bool gives_hidden_rows(const instruction& i) const {
    return i.kind == instruction_kind::forward && is_on_last_part(i);
  }
  /// Whether it is a B that takes gradients of hidden rows.
  [[nodiscard]] bool takes_gradients(const instruction& i) const {
    return i.kind == instruction_kind::backward && is_on_last_part(i);
  }
  /// Whether it is a U that reads the statistics of this stage's V.
  [[nodiscard]] bool takes_statistics(const instruction& i) const {
    return i.kind == instruction_kind::output_weights && stage + 1 == on.stages;
  }

  /// Whether a forward on a chunk is a sample's last, whose loss it knows: that on the last part. Where the vocabulary
  /// is spread, V knows it, and makes gradients at once.
  [[nodiscard]] bool ends_samples(std::uint32_t chunk) const noexcept {
    return !spreads_vocabulary() && stage + 1 == on.stages && chunk + 1 == static_cast<std::uint32_t>(on.chunks);
  }

  /// What its messages in have for a token.
  [[nodiscard]] message_content content_in(const instruction& i) const {
    if (i.kind == instruction_kind::output_weights) return message_content::statistics;
    return gathers(i) ? message_content::partial : message_content::hidden;
  }
  /// What its call writes for a token: V on the last stage partial rows as on any other, though they go nowhere.
  [[nodiscard]] message_content content_out(const instruction& i) const {
    return i.kind == instruction_kind::output ? message_content::partial : message_content::hidden;
  }

  /// The number by which chunks are told apart, in pieces and reductions: a spread vocabulary counts as one chunk more.
  [[nodiscard]] std::uint32_t chunk_of(const instruction& i) const noexcept {
    return i.is_of_part() ? i.chunk : static_cast<std::uint32_t>(on.chunks);
  }
  /// Chunks, with that of a spread vocabulary.
  [[nodiscard]] int reduced_chunks() const noexcept { return on.chunks + (spreads_vocabulary() ? 1 : 0); }

  /// The last instruction that adds to the gradients of each chunk, that of a spread vocabulary last; none of a step
  /// that is forward only: one past its end.
  [[nodiscard]] std::vector<std::size_t> last_of_chunks() const {
    std::vector<std::size_t> last(static_cast<std::size_t>(reduced_chunks()), code.size());
    for (std::size_t at = 0; at < code.size(); ++at)
      if (facts_of(code[at].kind).weight_gradients) last[chunk_of(code[at])] = at;
    return last;
  }

  /// A chunk, and the instruction after which its gradients are reduced.
  struct final_gradients {
    std::uint32_t chunk{};
    std::size_t after{};
  };
  /// Of all chunks in the order of their reductions: last chunk first, a spread vocabulary at the end. A chunk whose
  /// gradients are final before those of one that it follows waits for these, so that all copies of the stage have one
  /// order.
  [[nodiscard]] std::vector<final_gradients> gradients_final() const {
    const std::vector<std::size_t> last = last_of_chunks();
    std::vector<final_gradients> order;
    const auto add = [&](int chunk) {
      const std::size_t own = last[static_cast<std::size_t>(chunk)];
      order.push_back({static_cast<std::uint32_t>(chunk), order.empty() ? own : std::max(own, order.back().after)});
    };
    for (int chunk = on.chunks; chunk-- > 0;) add(chunk);
    if (spreads_vocabulary()) add(on.chunks);
    return order;
  }

  /// Whether sums over the copies of a stage can be issued as soon as gradients are final (gradients_final), between
  /// the transfers of a step, whose order each replica has for itself: whether they cannot wait for each other, even if
  /// a rank runs one thing at a time.
  /// Source    derived. Backward runs packs in one order on all parts, so gradients of part b are final before those of
  ///           part b - 1, and all transfers up to the message that says so stand before it in a replica's order. So a
  ///           sum of part b waits, through a replica's transfers, for sums of later parts alone: waiting goes one way
  ///           through the parts, and never round. Weight gradients apart, and those of a spread vocabulary, are final
  ///           in any order. Of replicas that share a sequence, one may be done with a part before it exchanges rows of
  ///           an earlier one, which another does before it is done with that part; on one chunk no transfer of a rank
  ///           comes after its sum
  /// splits    whether the compute may run weight gradients apart, on any replica; shares: whether replicas share
  ///           sequences
  [[nodiscard]] bool sums_have_place(bool splits, bool shares) const noexcept {
    return !splits && !spreads_vocabulary() && !(shares && on.chunks > 1);
  }

  /// shares: how the compute can run sequences that replicas share; is_part: whether the plan is the part of a group
  /// (rank_plan), so that other replicas run what it leaves out; forward_only: whether a step runs no backward of the
  /// plan
  /// Errors    those of is_sound, of the plan and of the replicas that run with the rank's; invalid_input: a rank that
  ///           the plan has not; shared sequences or a pass that the compute cannot run
  static result<stage_script> of(const plan& p, int rank, backward_cuts cuts, exchange_set shares, bool is_part = false,
                                 bool forward_only = false);

 private:
  [[nodiscard]] pack_place place(const instruction& i) const {
    return place_of(i, static_cast<std::uint32_t>(stage), on);
  }
  [[nodiscard]] int rank_of(pack_place p) const { return replica * on.stages + static_cast<int>(stage_of(p, on)); }
  /// Of messages to a place.
  [[nodiscard]] int channel(pack_place p) const {
    if (facts_of(p.kind).each == places::stages)
      return channel_of(traffic::rows, 1 + static_cast<int>(p.kind) - static_cast<int>(instruction_kind::embed));
    return channel_of(facts_of(p.kind).pass == pass::forward ? traffic::forward : traffic::backward,
                      static_cast<int>(p.at) / on.stages);
  }
  static_assert(channel_of(traffic::rows, static_cast<int>(instruction_kinds.size()) -
                                              static_cast<int>(instruction_kind::embed)) < ties_channel);

  /// Of a spread vocabulary.
  [[nodiscard]] bool is_on_last_part(const instruction& i) const {
    return spreads_vocabulary() && place(i).at + 1 == static_cast<std::uint32_t>(on.parts());
  }

  result<void> read(const plan& p, backward_cuts cuts);
  void idle(const plan& p);
  void list(const partition& packs);
  void list_rows(piece_list& list, pass p, std::uint32_t pack, std::span<const slice> slices, tokens& size) const;
  void split(const apart_packs& of);
  void match();
  void follow();

  wiring wires_{shape{}};  // of `on`
};

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/executors/impl/stage_script.ipp>
#endif

#endif
