#ifndef SLIMPACK_TESTS_EXECUTORS_PATH_STAGE_HPP
#define SLIMPACK_TESTS_EXECUTORS_PATH_STAGE_HPP

#include "path_model.hpp"

#include <slimpack/concepts/running.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/executors/activation_store.hpp>
#include <slimpack/executors/outgoing.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/executors/step_outline.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::tests {

/// One stage of path_model, which keeps all by token in an activation_store. The forms of the concept derive from it.
class path_stage {
 public:
  using row = path_model::row;
  using store = executors::activation_store<double>;
  static constexpr bool shares_prefixes = true;

  /// Fields of a token: its row, query, key, value and attention, and the logarithm of the latter's sum. Accumulators
  /// of keys and values. For weight gradients apart: gradients of the part's output, and of query, key and value.
  static store::layout layout() {
    constexpr std::size_t w = path_model::width;
    return {{{w, w, w, w, w, 1}}, {{w, w}}, {}, {{w, w, w, w}}};
  }

  path_stage(int stage, int stages, int chunks, tokens quantum)
      : stage_(stage),
        stages_(stages),
        chunks_(chunks),
        store_(std::vector<store::layout>(static_cast<std::size_t>(chunks), layout()), quantum),
        gradients_(static_cast<std::size_t>(chunks)) {
    for (int c = 0; c < chunks; ++c) weights_.push_back(path_model::weights_of(c * stages + stage));
  }

  [[nodiscard]] message_format format() const {
    return {static_cast<std::int64_t>(path_model::width), element_type::float64};
  }
  [[nodiscard]] int chunks() const { return chunks_; }
  [[nodiscard]] double loss() const { return loss_; }
  [[nodiscard]] bytes held() const { return store_.held(); }
  [[nodiscard]] bytes peak() const { return store_.peak(); }
  void restart_peak() { store_.restart_peak(); }
  [[nodiscard]] memory_rates rates() const { return store_.rates(); }
  void begin_step(const step_outline& o) {
    outline = o;
    begins_.clear();
    for (const sequence& s : o.sequences) begins_[s.id] = s.begin;
  }
  void abort_step() {
    store_.clear();
    zero();
  }
  void zero() {
    gradients_.assign(gradients_.size(), {});
    dwords_ = dlogits_ = {};
    loss_ = 0;
  }
  void discard(const piece& p) {
    discarded.push_back({p.chunk, p.slice.sequence});
    store_.discard(p.slice.sequence, p.chunk);
  }
  void sequence_forwarded(sequence_id s, std::uint32_t chunk) { forwarded.push_back({chunk, s}); }
  void sample_forwarded(const sample_end& s) {
    wrong_samples += !is_all_there(s);
    samples.push_back(s);
    if (owner) weigh(s);
  }

  [[nodiscard]] tokens valid_tokens(const slice& s) const {
    const auto size = static_cast<std::int64_t>(text[s.sequence.value].size());
    return s.length - tokens{s.end().value == size ? 1 : 0};
  }

  /// Of the chunks in order, of the embedding, of the output layer.
  [[nodiscard]] const path_model::part& gradients_of(int chunk) const {
    return gradients_[static_cast<std::size_t>(chunk)];
  }
  [[nodiscard]] const path_model::table& embedding_gradients() const { return dwords_; }
  [[nodiscard]] const path_model::table& output_gradients() const { return dlogits_; }

  /// A piece, with what it points to.
  struct noted {
    piece what;
    std::vector<slice> prefix;
    std::vector<target_run> edges;
  };
  struct call {
    pass way;
    std::vector<noted> pieces;
  };
  std::vector<call> calls;
  step_outline outline;
  const random_forest* owner{};  ///< of samples that have one loss each (path_model::loss_of::samples); else null
  int fails_at{-1};              ///< the call that fails
  std::vector<std::vector<std::size_t>> text;  ///< own words of each sequence, if they are not path_model's
  bool adds_above{true};                       ///< gradients of the sequences above one's own
  std::vector<std::pair<std::uint32_t, sequence_id>> discarded;  ///< chunk, sequence
  std::vector<std::pair<std::uint32_t, sequence_id>> forwarded;
  std::vector<sample_end> samples;  ///< that have run forward
  int wrong_samples{};              ///< of them, before they had, or after a backward

 protected:
  result<void> run_forward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
    if (static_cast<int>(calls.size()) == fails_at) return error{errc::compute_failed, "as asked"};
    note(pass::forward, pack);
    for (const piece& p : pack)
      if (result<void> made = store_.append(p); !made) return made;
    std::span<const row> x = rows_of(in);
    std::span<row> y = rows_of(out.bytes());
    for (const piece& p : pack) {
      const auto n = static_cast<std::size_t>(p.slice.length.value);
      std::vector<row> own(n);
      for (std::size_t t = 0; t < n; ++t) own[t] = x.empty() ? embedded(p, t) : x[t];
      if (!x.empty()) x = x.subspan(n);
      if (result<void> done = forward_one(p, own, y.empty() ? y : y.first(n)); !done) return done;
      if (!y.empty()) y = y.subspan(n);
      fronts_[{p.chunk, p.slice.sequence}] = p.slice.end();
    }
    return success();
  }

  result<void> run_backward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
    if (static_cast<int>(calls.size()) == fails_at) return error{errc::compute_failed, "as asked"};
    note(pass::backward, pack);
    for (const piece& p : pack)
      if (result<void> made = store_.begin_backward(p); !made) return made;
    std::span<const row> dy = rows_of(in);
    std::span<row> dx = rows_of(out.bytes());
    for (const piece& p : pack) {
      const auto n = static_cast<std::size_t>(p.slice.length.value);
      std::vector<row> own =
          dy.empty() ? output_rows(p) : std::vector<row>(dy.begin(), dy.begin() + p.slice.length.value);
      if (!dy.empty()) dy = dy.subspan(n);
      if (result<void> done = backward_one(p, own); !done) return done;
      for (std::size_t t = 0; t < n; ++t)
        if (part(p.chunk) == 0 && has_words_) path_model::add(1, own[t], dwords_[word(p, t)]);
      if (!dx.empty()) std::copy(own.begin(), own.end(), dx.begin()), dx = dx.subspan(n);
      fronts_[{p.chunk, p.slice.sequence}] = p.slice.begin;
    }
    for (const piece& p : pack)
      if (result<void> done = store_.end_backward(p); !done) return done;
    return success();
  }

  result<void> run_weights(std::span<const piece> pack) {
    for (const piece& p : pack) {
      if (result<void> there = store_.begin_weights(p); !there) return there;
      std::vector<row> kept[4];
      if (result<void> found = store_.visit(p,
                                            [&](const store::page& here) {
                                              for (std::size_t f = 0; f < 4; ++f) {
                                                const std::span<const row> rows = as_rows(here.weights({0, f}));
                                                kept[f].insert(kept[f].end(), rows.begin(), rows.end());
                                              }
                                            });
          !found)
        return found;
      add_weights(p, kept[0], kept[1], kept[2], kept[3]);
      if (result<void> done = store_.end_weights(p); !done) return done;
    }
    return success();
  }

  [[nodiscard]] static std::span<const row> rows_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const row*>(bytes.data()), bytes.size() / sizeof(row)};
  }
  [[nodiscard]] static std::span<row> rows_of(std::span<std::byte> bytes) {
    return {reinterpret_cast<row*>(bytes.data()), bytes.size() / sizeof(row)};
  }
  [[nodiscard]] std::size_t word(sequence_id s, std::int64_t at) const {
    if (text.empty()) return path_model::word(s, at);
    return text[s.value][static_cast<std::size_t>(at - begins_.at(s).value)];
  }
  [[nodiscard]] std::size_t word(const piece& p, std::size_t t) const {
    return word(p.slice.sequence, p.slice.begin.value + static_cast<std::int64_t>(t));
  }
  [[nodiscard]] row embedded(const piece& p, std::size_t t) const { return path_model::embedding()[word(p, t)]; }

  /// Calls visit(token of the piece, factor, sequence and place of the target) for all of its edges. Where the batch
  /// says no targets, each token of a sequence is one but the first.
  template <class Visit>
  void each_edge(const piece& p, const Visit& visit) const {
    const auto count = static_cast<double>(outline.valid_tokens.value);
    for (const target_run& run : p.edges)
      for (tokens at = run.begin; at < run.begin + run.length; ++at.value)
        visit(static_cast<std::size_t>((at - p.slice.begin).value - 1), run.weight / count, run.sequence, at.value);
    if (outline.has_targets || outline.idle) return;
    for (tokens at = p.slice.begin + tokens{1}; at <= p.slice.end() && at < p.sequence_end(); ++at.value)
      visit(static_cast<std::size_t>((at - p.slice.begin).value - 1), 1 / count, p.slice.sequence, at.value);
  }

  int stage_, stages_, chunks_;
  path_model::table dwords_{}, dlogits_{};
  double loss_{};
  bool has_words_{true};  // the embedding on the first part, the output layer on the last

 private:
  using field = store::field;

  void note(pass way, std::span<const piece> pack) {
    call& made = calls.emplace_back(call{way, {}});
    for (const piece& p : pack)
      made.pieces.push_back({p, {p.prefix.begin(), p.prefix.end()}, {p.edges.begin(), p.edges.end()}});
  }
  [[nodiscard]] int part(std::uint32_t chunk) const { return static_cast<int>(chunk) * stages_ + stage_; }
  [[nodiscard]] bool is_last_part(std::uint32_t chunk) const { return part(chunk) + 1 == stages_ * chunks_; }
  [[nodiscard]] static std::span<row> as_rows(std::span<double> numbers) {
    return {reinterpret_cast<row*>(numbers.data()), numbers.size() / path_model::width};
  }
  [[nodiscard]] static std::span<double> as_numbers(std::vector<row>& rows) {
    return {rows.empty() ? nullptr : rows[0].data(), rows.size() * path_model::width};
  }
  /// Rows of a field, of the piece or, where its slice is a path, of all of it.
  [[nodiscard]] std::vector<row> kept(const piece& p, std::size_t index) {
    std::vector<row> rows(static_cast<std::size_t>(p.slice.length.value));
    const result<void> found = store_.read(p, {0, index}, as_numbers(rows));
    if (!found) rows.clear();
    return rows;
  }
  result<void> keep(const piece& p, std::size_t index, std::vector<row>& rows) {
    return store_.write(p, {0, index}, as_numbers(rows));
  }
  [[nodiscard]] static piece path_of(piece p) {
    p.slice = p.path();
    return p;
  }

  result<void> forward_one(const piece& p, std::vector<row>& x, std::span<row> out) {
    const path_model::part& w = weights_[p.chunk];
    const std::size_t n = x.size();
    std::vector<row> q(n), k(n), v(n), sums(n), y = x;
    std::vector<double> logs(n);
    for (std::size_t t = 0; t < n; ++t) {
      q[t] = path_model::times(w.query, x[t]);
      k[t] = path_model::times(w.key, x[t]);
      v[t] = path_model::times(w.value, x[t]);
    }
    for (const auto& [index, rows] : {std::pair{0, &x}, std::pair{1, &q}, std::pair{2, &k}, std::pair{3, &v}})
      if (result<void> done = keep(p, static_cast<std::size_t>(index), *rows); !done) return done;
    const std::vector<row> keys = kept(path_of(p), 2), values = kept(path_of(p), 3);
    if (keys.empty()) return error{errc::compute_failed, "keys of the path are not held"};
    for (std::size_t t = 0; t < n; ++t) {
      const std::size_t before = static_cast<std::size_t>(p.slice.begin.value) + t + 1;
      const path_model::attended a =
          path_model::attention(q[t], std::span(keys).first(before), std::span(values).first(before));
      sums[t] = a.sum, logs[t] = a.log_sum;
      path_model::add(1, path_model::times(w.out, a.sum), y[t]);
    }
    if (result<void> done = keep(p, 4, sums); !done) return done;
    if (result<void> done = store_.write(p, {0, 5}, logs); !done) return done;
    if (is_last_part(p.chunk) && has_words_)
      each_edge(p, [&](std::size_t t, double f, sequence_id s, std::int64_t at) {
        const double one = path_model::surprise(y[t], path_model::output(), word(s, at));
        surprises_[{s, at}] = one;
        if (!owner) loss_ += f * one;
      });
    if (!out.empty()) std::copy(y.begin(), y.end(), out.begin());
    return success();
  }

  /// Of the last part: gradients of its rows, and those of the output layer.
  std::vector<row> output_rows(const piece& p) {
    std::vector<row> y = kept(p, 0), dy(y.size());
    const std::vector<row> sums = kept(p, 4);
    for (std::size_t t = 0; t < y.size(); ++t)
      path_model::add(1, path_model::times(weights_[p.chunk].out, sums[t]), y[t]);
    each_edge(p, [&](std::size_t t, double f, sequence_id s, std::int64_t at) {
      path_model::surprise_gradients(owner ? factors_.at({s, at}) : f, y[t], path_model::output(), word(s, at), dy[t],
                                     dlogits_);
    });
    return dy;
  }

  /// dx: gradients of the part's output, then of what went in
  result<void> backward_one(const piece& p, std::vector<row>& dx) {
    const path_model::part& w = weights_[p.chunk];
    const auto begin = static_cast<std::size_t>(p.slice.begin.value);
    std::vector<row> dy = dx, q = kept(p, 1), sums = kept(p, 4);
    const std::vector<row> keys = kept(path_of(p), 2), values = kept(path_of(p), 3);
    std::vector<double> logs(dx.size());
    if (result<void> done = store_.read(p, {0, 5}, logs); !done) return done;
    std::vector<row> dq(dx.size()), dk(keys.size()), dv(keys.size());
    for (std::size_t t = 0; t < dx.size(); ++t) {
      row da{};
      path_model::add_transposed(w.out, dx[t], da);
      const std::size_t before = begin + t + 1;
      dq[t] = path_model::attention_gradients(q[t], {sums[t], logs[t]}, da, std::span(keys).first(before),
                                              std::span(values).first(before), dk, dv);
    }
    // Accumulators have what later tokens have added; a piece that no other adds to has none.
    const auto add = [](std::span<row> to, std::span<row> own) {
      for (std::size_t t = 0; t < to.size(); ++t) path_model::add(1, own[t], to[t]), own[t] = to[t];
    };
    if (result<void> done = store_.visit(path_of(p),
                                         [&](const store::page& here) {
                                           const auto at = static_cast<std::size_t>(here.begin().value);
                                           if (here.begin() < p.sequence_begin && !adds_above) return;
                                           add(as_rows(here.gradients({0, 0})), std::span(dk).subspan(at));
                                           add(as_rows(here.gradients({0, 1})), std::span(dv).subspan(at));
                                         });
        !done)
      return done;
    dk.erase(dk.begin(), dk.begin() + p.slice.begin.value);
    dv.erase(dv.begin(), dv.begin() + p.slice.begin.value);
    for (std::size_t t = 0; t < dx.size(); ++t) {
      path_model::add_transposed(w.query, dq[t], dx[t]);
      path_model::add_transposed(w.key, dk[t], dx[t]);
      path_model::add_transposed(w.value, dv[t], dx[t]);
    }
    if (!p.weights_apart) {
      add_weights(p, dy, dq, dk, dv);
      return success();
    }
    return store_.visit(p, [&](const store::page& here) {
      const auto at = static_cast<std::size_t>((here.begin() - p.slice.begin).value);
      for (const auto& [index, rows] : {std::pair{0, &dy}, std::pair{1, &dq}, std::pair{2, &dk}, std::pair{3, &dv}}) {
        const std::span<row> to = as_rows(here.weights({0, static_cast<std::size_t>(index)}));
        std::copy_n(rows->begin() + static_cast<std::ptrdiff_t>(at), to.size(), to.begin());
      }
    });
  }

  void add_weights(const piece& p, const std::vector<row>& dy, const std::vector<row>& dq, const std::vector<row>& dk,
                   const std::vector<row>& dv) {
    path_model::part& d = gradients_[p.chunk];
    const std::vector<row> x = kept(p, 0), sums = kept(p, 4);
    for (std::size_t t = 0; t < x.size(); ++t) {
      path_model::add_outer(dy[t], sums[t], d.out);
      path_model::add_outer(dq[t], x[t], d.query);
      path_model::add_outer(dk[t], x[t], d.key);
      path_model::add_outer(dv[t], x[t], d.value);
    }
  }

  /// Adds the loss of samples that end here, and the factors of their targets' gradients.
  void weigh(const sample_end& end) {
    for (const one_sample& s : owner->samples) {
      if (s.sequence != end.sequence || s.at != end.at) continue;
      const std::vector<sequence_id> path = owner->path_of(s);
      const auto targets = static_cast<double>(std::count(s.is_target.begin(), s.is_target.end(), true));
      if (targets == 0) continue;
      double surprises = 0;
      for (std::size_t t = 0; t < path.size(); ++t)
        if (s.is_target[t]) surprises += surprises_.at({path[t], static_cast<std::int64_t>(t)});
      const double loss = s.weight * std::exp(-surprises / targets);
      loss_ += loss;
      for (std::size_t t = 0; t < path.size(); ++t)
        if (s.is_target[t]) factors_[{path[t], static_cast<std::int64_t>(t)}] -= loss / targets;
    }
  }

  /// Whether the path of a sample has run forward on the last part, and none of it backward.
  [[nodiscard]] bool is_all_there(const sample_end& s) const {
    const auto chunk = static_cast<std::uint32_t>(chunks_ - 1);
    const auto last = std::find_if(calls.rbegin(), calls.rend(), [](const call& c) { return c.way == pass::forward; });
    for (const noted& p : last->pieces) {
      if (p.what.slice.sequence != s.sequence || p.what.slice.end() < s.at) continue;
      bool found = fronts_.at({chunk, s.sequence}) >= s.at;
      for (const slice& above : p.prefix) found = found && fronts_.at({chunk, above.sequence}) == above.end();
      return found;
    }
    return false;
  }

  store store_;
  std::vector<path_model::part> weights_;
  std::vector<path_model::part> gradients_;
  std::map<sequence_id, tokens> begins_;                                        // of sequences on their paths
  std::map<std::pair<sequence_id, std::int64_t>, double> surprises_, factors_;  // by target
  std::map<std::pair<std::uint32_t, sequence_id>, tokens> fronts_;  // where either pass has come to, by chunk
};

/// By pack.
template <backward_cuts Cuts>
class path_packs : public path_stage {
 public:
  static constexpr backward_cuts cuts = Cuts;
  static constexpr bool splits_weight_gradients = true;
  using path_stage::path_stage;
  result<void> forward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
    return run_forward(pack, in, out);
  }
  result<void> backward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
    return run_backward(pack, in, out);
  }
  result<void> weights(std::span<const piece> pack) { return run_weights(pack); }
};

/// By piece.
template <backward_cuts Cuts>
class path_pieces : public path_stage {
 public:
  static constexpr backward_cuts cuts = Cuts;
  static constexpr bool splits_weight_gradients = true;
  using path_stage::path_stage;
  result<void> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    return run_forward({&p, 1}, in, out);
  }
  result<void> backward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    return run_backward({&p, 1}, in, out);
  }
  result<void> weights(const piece& p) { return run_weights({&p, 1}); }
};

}  // namespace slimpack::tests

#endif
