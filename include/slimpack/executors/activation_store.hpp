#ifndef SLIMPACK_EXECUTORS_ACTIVATION_STORE_HPP
#define SLIMPACK_EXECUTORS_ACTIVATION_STORE_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/detail/held_paths.hpp>
#include <slimpack/executors/detail/sequence_pages.hpp>
#include <slimpack/executors/piece.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace slimpack::executors {

/// What a stage keeps from forward to backward, in rows that are found by sequence and token, so that backward may cut
/// where forward did not and later slices read the keys and values of their prefix.
///
///   store.append(p)           forward of a piece begins: room for its rows, which hold nothing yet
///   store.write, read, visit  rows of what is held, copied or in place
///   store.begin_backward(p)   accumulators of the sequence's prefix, unless it runs backward in one piece
///   store.end_backward(p)     the piece's rows and accumulators are freed
///
/// Where samples share beginnings, a sequence's prefix goes on above it (piece::prefix): rows are found by token of the
/// path, whichever sequence has them, and the first backward piece of a sequence makes accumulators of those above it,
/// too. They are freed with their own tokens, after the backward of all that go on where these end. A parent and its
/// children may be begun together, the children first.
///
/// Of a sequence that replicas share (piece::shared) it keeps this replica's tokens, with gaps between them, and of the
/// others' the fields that they send each other:
///
///   store.append(p, others)        room for tokens of the others, found by token as one's own are
///   store.end_backward(p, others)  those of the others are freed, with their accumulators
///
/// Where weight gradients run apart (piece::weights_apart), a piece's rows stay until these have run, and with them
/// rows for what else they need; backward may write over those activations that nobody reads any more:
///
///   store.begin_backward(p)   makes room for these rows, too; they hold nothing yet
///   store.end_backward(p)     accumulators are freed, rows are not
///   store.begin_weights(p)    the piece waits for them, or this is refused
///   store.end_weights(p)      its rows are freed
///
/// Of a pack, begin all pieces before the first is ended: a pack then holds all it needs at once, as in the simulator.
/// Shapes    a page is one allocation for `quantum` tokens of a sequence, or its last ones, on one chunk: a block of
///           (tokens, width) for each layer and field; accumulators have pages of their own
/// Units     held(), peak() and rates() count the bytes of pages as they are allocated and freed; the tables that find
///           pages (under 100 bytes a page) are not counted
/// Law       the peak of a program is what simulators::peak_memory says with rates(). With several chunks on a stage,
///           if they hold equally much: a (token, chunk) counts 1 / chunks token there
/// Errors    out_of_order, naming sequence and tokens: a forward that does not continue its sequence, a backward that
///           does not end where the last one began, a parent that has not run forward, or has children that have not
///           run backward, tokens that are not held
///           invalid_input: a cut off the quantum, a span of another size than the rows
///           After an error nothing has changed.
/// Complexity  O(depth log sequences + pages touched)
template <class T>
requires std::is_arithmetic_v<T>
class activation_store {
 public:
  /// What a chunk keeps of each token: elements of every field of every layer.
  struct layout {
    std::vector<std::vector<std::size_t>> activations;  ///< [layer][field], from forward to backward
    std::vector<std::vector<std::size_t>> gradients;    ///< [layer][field], while the sequence runs backward
    std::vector<std::size_t> sent{};  ///< fields of activations that sharers send each other: keys, values
    std::vector<std::vector<std::size_t>> weights{};  ///< [layer][field], what weight gradients need beside activations
  };

  /// One field of one layer: positions in the layout.
  struct field {
    std::size_t layer{};
    std::size_t index{};
  };

  class page;

  /// Shapes    one layout per chunk of the stage
  /// Requires  quantum >= 1, every cut of the plans a multiple of it or the sequence's end
  activation_store(std::span<const layout> chunks, tokens quantum) : quantum_(quantum.value) {
    SLIMPACK_ASSERT(quantum_ >= 1, "a quantum of at least one token");
    for (const layout& l : chunks)
      chunks_.push_back(
          {columns(l.activations), columns(l.gradients), columns::only(l.activations, l.sent), columns(l.weights)});
  }

  /// Makes room for a forward piece. Its rows are not initialised.
  [[nodiscard]] result<void> append(const piece& p) {
    const held_sequence* const known = sequences_.find(p.chunk, p.slice.sequence);
    const tokens done = known ? known->forwarded : p.own_begin;
    const tokens length = known ? known->length : p.sequence_length;
    if ((p.shared ? p.slice.begin < done : p.slice.begin != done) || p.sequence_length != length ||
        p.slice.end() > p.sequence_end() || (known && known->begin != p.sequence_begin))
      return refused(errc::out_of_order, "forward", p,
                     "does not continue the " + std::to_string((done - p.sequence_begin).value) + " tokens held of " +
                         std::to_string(length.value));
    if (!known && !p.prefix.empty()) {
      const held_sequence* const above = sequences_.find(p.chunk, p.prefix.back().sequence);
      if (!above || above->forwarded != p.sequence_begin)
        return refused(errc::out_of_order, "forward", p,
                       "goes on where sequence " + std::to_string(p.prefix.back().sequence.value) +
                           " ends, which has not run forward");
    }
    if (!on_quantum(p, p.slice)) return refused(errc::invalid_input, "forward", p, off_quantum());
    held_sequence& s = sequences_.make(p, quantum_);
    s.forwarded = p.slice.end();
    allocate(s, p.slice, widths_of(p).activations, true);
    return success();
  }

  /// Makes room for tokens of those that share the piece's sequence: the fields that are sent, not initialised.
  /// Errors    invalid_input: a cut off the quantum, tokens that are held already
  [[nodiscard]] result<void> append(const piece& p, std::span<const slice> others) {
    auto* const known = sequences_.find(p);
    for (const slice& o : others) {
      if (!on_quantum(p, o)) return refused(errc::invalid_input, "others' tokens", p, off_quantum());
      if (known && known->pages.any_of(o.begin, o.end(),
                                       [&](std::size_t at) { return known->pages.activations[at].has_value(); }))
        return refused(errc::invalid_input, "others' tokens", p, "are held already");
    }
    for (const slice& o : others) allocate(sequences_.make(p, quantum_), o, widths_of(p).others, false);
    return success();
  }

  /// Opens the backward of a piece. The first of a sequence that takes several, or is shared, makes accumulators, all
  /// zero, for all that is held of the sequence; the first of any makes them for the sequences above it. Those that are
  /// there already stay. A piece whose weight gradients run apart gets rows for them.
  [[nodiscard]] result<void> begin_backward(const piece& p) {
    auto* const known = sequences_.find(p);
    if (!known) return refused(errc::out_of_order, "backward", p, "is of a sequence that is not held");
    held_sequence& s = *known;
    if (s.forwarded < s.own_end)
      return refused(errc::out_of_order, "backward", p,
                     "begins after " + std::to_string((s.forwarded - p.sequence_begin).value) + " of " +
                         std::to_string((s.own_end - p.sequence_begin).value) + " tokens of forward");
    if (s.children > 0)
      return refused(errc::out_of_order, "backward", p,
                     "begins before that of " + std::to_string(s.children) + " that go on where its sequence ends");
    if (p.slice.end() > s.opened || s.own_within(p.slice.end(), s.opened))
      return refused(errc::out_of_order, "backward", p, "does not end at " + std::to_string(s.opened.value));
    if (!on_quantum(p, p.slice)) return refused(errc::invalid_input, "backward", p, off_quantum());
    const bool opens = s.opened == s.own_end;
    for (const slice& above : opens ? p.prefix : std::span<const slice>{})
      if (!sequences_.find(p.chunk, above.sequence))
        return refused(errc::out_of_order, "backward", p,
                       "reads sequence " + std::to_string(above.sequence.value) + ", which is not held");
    if (opens) {
      if (p.shared || !p.is_first()) accumulate(s, p);
      for (std::size_t above = p.prefix.size(); above-- > 0;)
        if (!accumulate(*sequences_.find(p.chunk, p.prefix[above].sequence), p)) break;
    }
    s.opened = p.slice.begin;
    if (p.is_first()) sequences_.leave_parent(p.chunk, s);
    if (p.weights_apart) count(s.pages.allocate(&paged::weights, p.slice.begin, p.slice.end(), widths_of(p).weights));
    return success();
  }

  /// Frees the rows and accumulators of a piece whose backward was begun, and forgets a sequence with its last token;
  /// of one whose weight gradients run apart the accumulators alone.
  [[nodiscard]] result<void> end_backward(const piece& p) {
    auto* const known = sequences_.find(p);
    if (!known || p.slice.end() > known->end || p.slice.begin < known->opened ||
        known->own_within(p.slice.end(), known->end) || !on_quantum(p, p.slice))
      return refused(errc::out_of_order, "end of backward", p, "was not begun");
    known->end = p.slice.begin;
    if (p.weights_apart)
      held_ -= known->pages.free({&paged::gradients}, p.slice.begin, p.slice.end());
    else
      release(p.chunk, p.slice.sequence, {&p.slice, 1});
    return success();
  }

  /// Whether a piece waits for its weight gradients, its backward having ended.
  /// Errors    out_of_order: it does not
  [[nodiscard]] result<void> begin_weights(const piece& p) const {
    auto* const known = sequences_.find(p);
    if (!known || !on_quantum(p, p.slice) || p.slice.begin < known->end || p.slice.end() > known->path_end() ||
        !known->pages.has(&paged::weights, p.slice.begin, p.slice.end()))
      return refused(errc::out_of_order, "weight gradients", p, "were not left by a backward");
    return success();
  }

  /// Frees the rows of a piece that waits for its weight gradients.
  [[nodiscard]] result<void> end_weights(const piece& p) {
    if (result<void> waits = begin_weights(p); !waits) return waits;
    release(p.chunk, p.slice.sequence, {&p.slice, 1});
    return success();
  }

  /// Frees what is held of tokens of the others, after the piece's row has run backward.
  /// Errors    out_of_order: tokens that are not held of others
  [[nodiscard]] result<void> end_backward(const piece& p, std::span<const slice> others) {
    auto* const known = sequences_.find(p);
    for (const slice& o : others)
      if (!known || !on_quantum(p, o) || !known->others_within(o))
        return refused(errc::out_of_order, "end of backward of others' tokens", p, "is of tokens that are not held");
    if (known) release(p.chunk, p.slice.sequence, others);
    return success();
  }

  /// Calls f(page) for each page that holds tokens of p.slice, in rising order: the keys and values of a prefix where
  /// they lie, for a piece whose slice begins at 0. Pages of the sequences above its own come before its own.
  template <class F>
  [[nodiscard]] result<void> visit(const piece& p, F&& f) {
    tokens held = sequences_.find(p) ? p.slice.begin : tokens{};
    sequences_.each_run(p, [&](held_sequence* s, tokens begin, tokens end) {
      if (s && begin == held) held = std::min(s->pages.held_up_to(begin, end), end);
    });
    if (p.slice.begin < tokens{} || held < p.slice.end())
      return refused(errc::out_of_order, "access", p,
                     "reaches beyond the " + std::to_string(held.value) + " tokens held");
    sequences_.each_run(p, [&](held_sequence* s, tokens begin, tokens end) { each_page(s->pages, p, begin, end, f); });
    return success();
  }

  /// The same with gaps: for those pages alone that are held. Of a shared sequence whose rows go round, others' tokens
  /// are gaps.
  /// Errors    out_of_order: a piece of a sequence that is not held
  template <class F>
  [[nodiscard]] result<void> visit_held(const piece& p, F&& f) {
    auto* const known = sequences_.find(p);
    if (!known || p.slice.begin < tokens{} || p.slice.end() > known->path_end())
      return refused(errc::out_of_order, "access", p, "is of a sequence that is not held, or reaches beyond it");
    sequences_.each_run(p, [&](held_sequence* s, tokens begin, tokens end) {
      if (s)
        each_page(s->pages, p, begin, end, [&](const page& here) {
          if (s->pages.has(&paged::activations, here.begin(), here.end())) f(here);
        });
    });
    return success();
  }

  /// Copies the piece's rows of a field from `rows`.   Shapes  (p.slice.length, width), row after row
  /// Errors    out_of_order: tokens of others, who do not send the field
  [[nodiscard]] result<void> write(const piece& p, field which, std::span<const T> rows) {
    if (result<void> fits = check_rows(p, which, rows.size()); !fits) return fits;
    return visit(p, [&](const page& here) {
      std::ranges::copy(rows.first(here.activations(which).size()), here.activations(which).begin());
      rows = rows.subspan(here.activations(which).size());
    });
  }

  /// Copies the piece's rows of a field to `rows`.   Shapes, errors  as write
  [[nodiscard]] result<void> read(const piece& p, field which, std::span<T> rows) {
    if (result<void> fits = check_rows(p, which, rows.size()); !fits) return fits;
    return visit(p, [&](const page& here) {
      std::ranges::copy(here.activations(which), rows.begin());
      rows = rows.subspan(here.activations(which).size());
    });
  }

  /// Drops a sequence, whatever it has done; of one that is not held, nothing.
  void discard(sequence_id s, std::uint32_t chunk = 0) {
    held_sequence* const known = sequences_.find(chunk, s);
    if (!known) return;
    if (known->opened != known->begin) sequences_.leave_parent(chunk, *known);
    const slice whole{s, known->begin, known->length};
    release(chunk, s, {&whole, 1});
  }

  /// Drops everything.
  void clear() {
    while (!sequences_.empty()) discard(sequences_.first().second, sequences_.first().first);
  }

  [[nodiscard]] bytes held() const noexcept { return {static_cast<double>(held_)}; }
  /// The most held since restart_peak(), or ever.
  [[nodiscard]] bytes peak() const noexcept { return {static_cast<double>(peak_)}; }
  void restart_peak() noexcept { peak_ = held_; }

  /// What a token that has run forward on every chunk holds.
  [[nodiscard]] bytes bytes_per_token() const noexcept { return sum(&widths::activations); }
  /// What the accumulators of a token hold on every chunk.
  [[nodiscard]] bytes gradient_bytes_per_token() const noexcept { return sum(&widths::gradients); }
  /// What a token that another sharer runs holds on every chunk.
  [[nodiscard]] bytes other_bytes_per_token() const noexcept { return sum(&widths::others); }
  /// What a token's weight gradients, where they run apart, need beside its activations on every chunk.
  [[nodiscard]] bytes weight_bytes_per_token() const noexcept { return sum(&widths::weights); }
  /// All four, as a planner asks for them.
  [[nodiscard]] memory_rates rates() const noexcept {
    return {.fixed = 0,
            .live_token = bytes_per_token().value,
            .gradient_token = gradient_bytes_per_token().value,
            .other_token = other_bytes_per_token().value,
            .weight_token = weight_bytes_per_token().value};
  }

 private:
  using columns = slimpack::detail::page_columns;
  using paged = slimpack::detail::sequence_pages<T>;
  using held_sequence = slimpack::detail::held_sequence<T>;

  struct widths {
    columns activations;
    columns gradients;
    columns others;  // activations of tokens that other replicas run
    columns weights;
  };

  [[nodiscard]] const widths& widths_of(const piece& p) const noexcept {
    SLIMPACK_ASSERT(p.chunk < chunks_.size(), "a chunk that the store was made for");
    return chunks_[p.chunk];
  }
  [[nodiscard]] bool on_quantum(const piece& p, const slice& s) const noexcept {
    const auto fine = [&](tokens at) {
      return (at - p.sequence_begin).value % quantum_ == 0 || at == p.sequence_end();
    };
    return s.begin >= p.sequence_begin && s.length >= tokens{1} && fine(s.begin) && fine(s.end());
  }
  [[nodiscard]] std::string off_quantum() const { return "does not lie on the quantum, " + std::to_string(quantum_); }
  [[nodiscard]] bytes sum(columns widths::*kind) const noexcept {
    std::size_t elements = 0;
    for (const widths& w : chunks_) elements += (w.*kind).size();
    return {static_cast<double>(elements * sizeof(T))};
  }

  template <class F>
  void each_page(paged& pages, const piece& p, tokens begin, tokens end, F&& f) const {
    for (tokens at = begin; at < end;) {
      const tokens next = std::min(pages.begin_of(pages.first(at) + 1), end);
      f(page(pages, widths_of(p), at.value, next.value));
      at = next;
    }
  }

  /// Whether all rows of a field are held, and as many elements are given.
  [[nodiscard]] result<void> check_rows(const piece& p, field which, std::size_t given) {
    const std::size_t width = widths_of(p).activations.width(which.layer, which.index);
    if (given != static_cast<std::size_t>(p.slice.length.value) * width)
      return refused(errc::invalid_input, "access", p,
                     "of width " + std::to_string(width) + " copies " + std::to_string(given) + " elements");
    std::size_t there = 0;
    if (result<void> held = visit(p, [&](const page& here) { there += here.activations(which).size(); }); !held)
      return held;
    if (there == given) return success();
    return refused(errc::out_of_order, "access", p,
                   "reaches over tokens of others, who do not send field " + std::to_string(which.index));
  }

  static error refused(errc code, const char* what, const piece& p, const std::string& why) {
    return {code, std::string(what) + " of sequence " + std::to_string(p.slice.sequence.value) + ", tokens [" +
                      std::to_string(p.slice.begin.value) + ", " + std::to_string(p.slice.end().value) + ") of " +
                      std::to_string(p.sequence_length.value) + ", chunk " + std::to_string(p.chunk) + ": " + why};
  }

  /// Makes a sequence's accumulators; says whether it had none.
  bool accumulate(held_sequence& s, const piece& p) {
    if (std::exchange(s.has_accumulators, true)) return false;
    count(s.pages.accumulate(widths_of(p).gradients));
    return true;
  }

  void count(std::size_t allocated) {
    held_ += allocated;
    peak_ = std::max(peak_, held_);
  }

  void allocate(held_sequence& s, const slice& tokens_of, const columns& widths_of, bool own) {
    count(s.pages.allocate(&paged::activations, tokens_of.begin, tokens_of.end(), widths_of));
    for (std::size_t at = s.pages.first(tokens_of.begin); at < s.pages.end(tokens_of.end()); ++at)
      s.pages.own[at] = own;
  }

  /// Frees all rows of tokens of a sequence, and forgets it with the last.
  void release(std::uint32_t chunk, sequence_id id, std::span<const slice> all) {
    held_sequence& s = *sequences_.find(chunk, id);
    for (const slice& one : all) {
      held_ -= s.pages.free({&paged::activations, &paged::gradients, &paged::weights}, one.begin, one.end());
      for (std::size_t at = s.pages.first(one.begin); at < s.pages.end(one.end()); ++at) s.pages.own[at] = false;
    }
    if (s.pages.empty()) sequences_.erase(chunk, id);
  }

  std::int64_t quantum_;
  std::vector<widths> chunks_;
  slimpack::detail::held_paths<T> sequences_;
  std::size_t held_{};
  std::size_t peak_{};
};

/// The rows [begin(), end()) of a path that lie in one page of a sequence, for visit().
template <class T>
requires std::is_arithmetic_v<T>
class activation_store<T>::page {
 public:
  [[nodiscard]] tokens begin() const noexcept { return begin_; }
  [[nodiscard]] tokens end() const noexcept { return end_; }
  /// Shapes    (end() - begin(), width), row after row; empty where it is a field that others do not send of their
  ///           tokens
  [[nodiscard]] std::span<T> activations(field which) const {
    const bool own = pages_->own[pages_->first(begin_)];
    return rows(&paged::activations, own ? widths_->activations : widths_->others, which);
  }
  /// The same of an accumulator; empty where the sequence has none.
  [[nodiscard]] std::span<T> gradients(field which) const { return rows(&paged::gradients, widths_->gradients, which); }
  /// The same of what weight gradients need beside activations; empty where they do not run apart.
  [[nodiscard]] std::span<T> weights(field which) const { return rows(&paged::weights, widths_->weights, which); }

 private:
  friend activation_store;
  page(paged& held, const widths& w, std::int64_t begin, std::int64_t end) noexcept
      : pages_(&held), widths_(&w), begin_{begin}, end_{end} {}

  [[nodiscard]] std::span<T> rows(typename paged::kind which, const columns& of, field f) const {
    return pages_->field(which, of, f.layer, f.index, begin_, end_);
  }

  paged* pages_;
  const widths* widths_;
  tokens begin_;
  tokens end_;
};

}  // namespace slimpack::executors

#endif
