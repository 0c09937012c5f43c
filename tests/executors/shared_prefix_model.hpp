#ifndef SLIMPACK_TESTS_EXECUTORS_SHARED_PREFIX_MODEL_HPP
#define SLIMPACK_TESTS_EXECUTORS_SHARED_PREFIX_MODEL_HPP

#include "prefix_model.hpp"

#include <slimpack/concepts.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace slimpack {

/// The prefix model with several layers on each part, whose sequences replicas may share: what a layer reads of earlier
/// tokens, its inputs, is what sharers send each other. Layer k of the model has weight prefix_model::weight(k).
/// What goes round: of queries where they are, and the sums of inputs before them; backward the slopes of those sums.
/// In a ring inputs; backward their gradients.
template <backward_cuts Cuts>
class shared_prefix_stage {
 public:
  static constexpr backward_cuts cuts = Cuts;
  static constexpr exchange_set shares_rows = exchange_set::all();

  /// scale: of all weights, as of prefix_stage
  shared_prefix_stage(int stage, int stages, int chunks, int layers = 2, double scale = 1)
      : stage_(stage),
        stages_(stages),
        chunks_(chunks),
        layers_(layers),
        scale_(scale),
        gradient_(static_cast<std::size_t>(chunks * layers)) {}

  [[nodiscard]] message_format format() const { return {1, element_type::float64}; }
  [[nodiscard]] row_format rows(std::uint32_t) const {
    return {layers_, format(), format(), {{format(), format()}, {format(), {}}}, {{format(), {}}, {{}, format()}}};
  }
  [[nodiscard]] int chunks() const { return chunks_; }
  [[nodiscard]] double loss() const { return loss_; }
  [[nodiscard]] std::span<const double> gradient() const { return gradient_; }  // per chunk and layer
  [[nodiscard]] int part(std::uint32_t chunk) const { return static_cast<int>(chunk) * stages_ + stage_; }
  [[nodiscard]] bytes held() const { return {static_cast<double>(arena_.size())}; }
  [[nodiscard]] int rows_run() const { return rows_run_; }

  result<void> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    return fore({&p, 1}, in, out, nullptr);
  }
  result<void> backward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    return back({&p, 1}, in, out, nullptr);
  }
  result<void> forward(std::span<const piece> row, std::span<const std::byte> in, outgoing& out, sharing& with) {
    ++rows_run_;
    return fore(row, in, out, &with);
  }
  result<void> backward(std::span<const piece> row, std::span<const std::byte> in, outgoing& out, sharing& with) {
    return back(row, in, out, &with);
  }
  void discard(const piece& p) { arena_.erase({p.chunk, p.slice.sequence}); }
  void abort_step() { arena_.clear(); }

  template <class Group>
  result<void> reduce(Group& group) {
    return group.sum(std::span<double>(gradient_));
  }

  void zero() {
    loss_ = 0;
    gradient_.assign(gradient_.size(), 0);
  }

 protected:
  struct layer_rows {
    std::vector<double> x;     // inputs by token, own ones and those taken
    std::vector<double> sums;  // by own token
    std::vector<double> dx;    // by token, of inputs as earlier tokens
  };

  static std::vector<std::int64_t> places(std::span<const piece> row) {
    std::vector<std::int64_t> all;
    for (const piece& p : row)
      for (std::int64_t t = p.slice.begin.value; t < p.slice.end().value; ++t) all.push_back(t);
    return all;
  }
  static std::vector<std::int64_t> places(std::span<const slice> slices) {
    std::vector<std::int64_t> all;
    for (const slice& s : slices)
      for (std::int64_t t = s.begin.value; t < s.end().value; ++t) all.push_back(t);
    return all;
  }
  static std::vector<double> picked(const std::vector<double>& by_token, const std::vector<std::int64_t>& at) {
    std::vector<double> rows;
    for (const std::int64_t t : at) rows.push_back(by_token[static_cast<std::size_t>(t)]);
    return rows;
  }

  result<void> fore(std::span<const piece> row, std::span<const std::byte> in, outgoing& out, sharing* with) {
    const piece& one = row.front();
    const std::vector<std::int64_t> at = places(row);
    const sequence_id id = one.slice.sequence;
    const bool counts = one.loss_weight > 0;
    std::vector<layer_rows>& arena = arena_[{one.chunk, id}];
    arena.resize(static_cast<std::size_t>(layers_));
    const std::span<const double> from = as<double>(in);
    std::vector<double> x(at.size());
    for (std::size_t k = 0; k < at.size(); ++k) x[k] = from.empty() ? prefix_model::token(id, at[k]) : from[k];
    for (int l = 0; l < layers_; ++l) {
      layer_rows& here = arena[static_cast<std::size_t>(l)];
      for (std::vector<double>* const each : {&here.x, &here.sums, &here.dx})
        each->resize(static_cast<std::size_t>(one.sequence_length.value));
      for (std::size_t k = 0; k < at.size(); ++k) here.x[static_cast<std::size_t>(at[k])] = x[k];
      if (with != nullptr && with->exchange() == exchange::keep) {
        if (result<void> given = with->give(l, slimpack::as_span(picked(here.x, places(with->own())))); !given)
          return given;
        result<std::span<const std::byte>> taken = with->take(l);
        if (!taken) return std::move(taken).error();
        const std::span<const double> rows = as<double>(taken.value());
        const std::vector<std::int64_t> theirs = places(with->others());
        for (std::size_t k = 0; k < theirs.size(); ++k) here.x[static_cast<std::size_t>(theirs[k])] = rows[k];
      }
      const std::vector<double> prefix = up_to(here.x);
      for (const std::int64_t t : at) here.sums[static_cast<std::size_t>(t)] = prefix[static_cast<std::size_t>(t)];
      if (with != nullptr && with->exchange() != exchange::keep)
        if (result<void> went = round_forward(*with, l, here, prefix); !went) return went;
      for (std::size_t k = 0; k < at.size(); ++k)
        x[k] += weight(one.chunk, l) * here.sums[static_cast<std::size_t>(at[k])];
    }
    if (out.wanted()) return out.put(x);
    for (std::size_t k = 0; k < at.size() && counts; ++k) loss_ += prefix_model::slope(id, at[k]) * x[k];
    return success();
  }

  result<void> back(std::span<const piece> row, std::span<const std::byte> in, outgoing& out, sharing* with) {
    const piece& one = row.front();
    const std::vector<std::int64_t> at = places(row);
    const sequence_id id = one.slice.sequence;
    std::vector<layer_rows>& arena = arena_.at({one.chunk, id});
    const std::span<const double> from = as<double>(in);
    std::vector<double> dy(at.size());
    for (std::size_t k = 0; k < at.size(); ++k)
      dy[k] = !from.empty() ? from[k] : one.loss_weight > 0 ? prefix_model::slope(id, at[k]) : 0;
    for (int l = layers_; l-- > 0;) {
      layer_rows& here = arena[static_cast<std::size_t>(l)];
      const double w = weight(one.chunk, l);
      std::vector<double> of_row(here.dx.size());
      for (std::size_t k = 0; k < at.size(); ++k) {
        gradient_[one.chunk * static_cast<std::size_t>(layers_) + static_cast<std::size_t>(l)] +=
            dy[k] * here.sums[static_cast<std::size_t>(at[k])];
        of_row[static_cast<std::size_t>(at[k])] = w * dy[k];
      }
      add_from(of_row, here.dx);
      if (with != nullptr && with->exchange() != exchange::keep) {
        if (result<void> went = round_backward(*with, l, here, of_row); !went) return went;
      } else if (with != nullptr) {
        if (result<void> owed = with->owe(l, slimpack::as_span(picked(here.dx, places(with->others())))); !owed)
          return owed;
        const std::vector<std::int64_t> mine = places(with->own());
        std::vector<double> sum = picked(here.dx, mine);
        if (result<void> due = with->due(l, std::span(sum)); !due) return due;
        for (std::size_t k = 0; k < mine.size(); ++k) here.dx[static_cast<std::size_t>(mine[k])] = sum[k];
      }
      for (std::size_t k = 0; k < at.size(); ++k) dy[k] += here.dx[static_cast<std::size_t>(at[k])];
    }
    for (const piece& p : row)
      if (p.is_own_first()) arena_.erase({one.chunk, id});
    return out.put(dy);
  }

  static std::vector<double> up_to(std::vector<double> x) {
    for (std::size_t t = 1; t < x.size(); ++t) x[t] += x[t - 1];
    return x;
  }
  /// Adds to each token what it and those after it have.
  static void add_from(const std::vector<double>& of_row, std::vector<double>& dx) {
    double later = 0;
    for (std::size_t t = of_row.size(); t-- > 0;) dx[t] += later += of_row[t];
  }

  /// Sends rows and sums round, and calls visit(parcel's rows, tokens, sums) with those of the others. Gives what came
  /// home.
  template <class Visit>
  static result<std::vector<double>> round(sharing& with, int layer, const std::vector<double>& rows,
                                           std::vector<double> sums, Visit visit) {
    if (result<void> launched = with.launch(layer, slimpack::as_span(rows)); !launched)
      return std::move(launched).error();
    for (;;) {
      result<parcel> next = with.rotate(layer, slimpack::as_span(sums));
      if (!next) return std::move(next).error();
      const std::span<const double> so_far = as<double>(next.value().sums);
      sums.assign(so_far.begin(), so_far.end());
      if (next.value().is_home) return sums;
      visit(as<double>(next.value().rows), places(next.value().tokens), sums);
    }
  }

  result<void> round_forward(sharing& with, int layer, layer_rows& here, const std::vector<double>& prefix) {
    const std::vector<std::int64_t> own = places(with.own());
    if (with.exchange() == exchange::queries) {
      result<std::vector<double>> home =
          round(with, layer, {own.begin(), own.end()}, picked(prefix, own),
                [&](std::span<const double> queries, const std::vector<std::int64_t>&, std::vector<double>& sums) {
                  for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += prefix[static_cast<std::size_t>(queries[k])];
                });
      if (!home) return std::move(home).error();
      for (std::size_t k = 0; k < own.size(); ++k) here.sums[static_cast<std::size_t>(own[k])] = home.value()[k];
      return success();
    }
    result<std::vector<double>> home =
        round(with, layer, picked(here.x, own), {},
              [&](std::span<const double> inputs, const std::vector<std::int64_t>& theirs, std::vector<double>&) {
                std::vector<double> x(here.x.size());
                for (std::size_t k = 0; k < theirs.size(); ++k) x[static_cast<std::size_t>(theirs[k])] = inputs[k];
                const std::vector<double> sum = up_to(std::move(x));
                for (const std::int64_t t : own)
                  here.sums[static_cast<std::size_t>(t)] += sum[static_cast<std::size_t>(t)];
              });
    return home ? success() : result<void>(std::move(home).error());
  }

  result<void> round_backward(sharing& with, int layer, layer_rows& here, const std::vector<double>& of_row) {
    const std::vector<std::int64_t> own = places(with.own());
    if (with.exchange() == exchange::queries) {
      result<std::vector<double>> home =
          round(with, layer, picked(of_row, own), {},
                [&](std::span<const double> slopes, const std::vector<std::int64_t>& theirs, std::vector<double>&) {
                  std::vector<double> row(of_row.size());
                  for (std::size_t k = 0; k < theirs.size(); ++k) row[static_cast<std::size_t>(theirs[k])] = slopes[k];
                  add_from(row, here.dx);
                });
      return home ? success() : result<void>(std::move(home).error());
    }
    result<std::vector<double>> home =
        round(with, layer, {}, picked(here.dx, own),
              [&](std::span<const double>, const std::vector<std::int64_t>& theirs, std::vector<double>& sums) {
                std::vector<double> all(of_row.size());
                add_from(of_row, all);
                for (std::size_t k = 0; k < theirs.size(); ++k) sums[k] += all[static_cast<std::size_t>(theirs[k])];
              });
    if (!home) return std::move(home).error();
    for (std::size_t k = 0; k < own.size(); ++k) here.dx[static_cast<std::size_t>(own[k])] = home.value()[k];
    return success();
  }

  [[nodiscard]] double weight(std::uint32_t chunk, int layer) const {
    return scale_ * prefix_model::weight(part(chunk) * layers_ + layer);
  }

  int stage_, stages_, chunks_, layers_;
  double scale_;
  double loss_{};
  std::vector<double> gradient_;
  std::map<std::pair<std::uint32_t, sequence_id>, std::vector<layer_rows>> arena_;
  int rows_run_{};
};

/// The same with a state for each piece, which the runtime keeps: what a layer's graph of that piece holds. Inputs that
/// later pieces read, and their gradients, stay in the arena. Called for one piece, or for all of a pack.
template <bool ByPack>
class shared_prefix_graphs : public shared_prefix_stage<backward_cuts::forward_cuts> {
 public:
  using shared_prefix_stage::shared_prefix_stage;

  class state {
   public:
    state() = default;
    state(const piece& of, std::vector<double> sums) : of_(std::make_unique<piece>(of)), sums_(std::move(sums)) {}
    [[nodiscard]] bool is_of(const piece& p) const { return of_ && of_->slice == p.slice && of_->chunk == p.chunk; }
    [[nodiscard]] std::span<const double> sums() const { return sums_; }

   private:
    std::unique_ptr<piece> of_;  // so that it is move-only
    std::vector<double> sums_;   // per layer and token
  };

  result<state> forward(const piece& p, std::span<const std::byte> in, outgoing& out) requires(!ByPack) {
    if (result<void> done = shared_prefix_stage::forward(p, in, out); !done) return std::move(done).error();
    return taken_out(p);
  }
  result<void> backward(const piece& p, state s, std::span<const std::byte> in, outgoing& out) requires(!ByPack) {
    if (result<void> put = put_in(p, s); !put) return put;
    return shared_prefix_stage::backward(p, in, out);
  }
  result<void> forward(std::span<const piece> pack, std::span<state> states, std::span<const std::byte> in,
                       outgoing& out) requires(ByPack) {
    return each(pack, in, out, [&](std::size_t k, std::span<const std::byte> i, outgoing& o) {
      result<void> done = shared_prefix_stage::forward(pack[k], i, o);
      if (done) states[k] = taken_out(pack[k]);
      return done;
    });
  }
  result<void> backward(std::span<const piece> pack, std::span<state> states, std::span<const std::byte> in,
                        outgoing& out) requires(ByPack) {
    return each(pack, in, out, [&](std::size_t k, std::span<const std::byte> i, outgoing& o) {
      if (result<void> put = put_in(pack[k], states[k]); !put) return put;
      return shared_prefix_stage::backward(pack[k], i, o);
    });
  }
  result<void> forward(std::span<const piece> row, std::span<state> states, std::span<const std::byte> in,
                       outgoing& out, sharing& with) {
    result<void> done = shared_prefix_stage::forward(row, in, out, with);
    for (std::size_t k = 0; done && k < row.size(); ++k) states[k] = taken_out(row[k]);
    return done;
  }
  result<void> backward(std::span<const piece> row, std::span<state> states, std::span<const std::byte> in,
                        outgoing& out, sharing& with) {
    for (std::size_t k = 0; k < row.size(); ++k)
      if (result<void> put = put_in(row[k], states[k]); !put) return put;
    return shared_prefix_stage::backward(row, in, out, with);
  }
  void discard(const piece& p, const state& s) {
    if (s.is_of(p)) --live_;
    shared_prefix_stage::discard(p);
  }
  /// States that have not come back.
  [[nodiscard]] int live() const { return live_; }

 private:
  template <class Call>
  result<void> each(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out, Call call) {
    std::span<std::byte> to = out.bytes();
    for (std::size_t k = 0; k < pack.size(); ++k) {
      const std::size_t size = static_cast<std::size_t>(pack[k].slice.length.value) * format().bytes_per_token();
      outgoing part = to.empty() ? outgoing{} : outgoing{to.first(size)};
      if (result<void> done = call(k, in.empty() ? in : in.first(size), part); !done) return done;
      if (!in.empty()) in = in.subspan(size);
      if (!to.empty()) to = to.subspan(size);
    }
    return success();
  }
  template <class Visit>
  void each_sum(const piece& p, Visit visit) {
    for (layer_rows& layer : arena_.at({p.chunk, p.slice.sequence}))
      for (std::int64_t t = p.slice.begin.value; t < p.slice.end().value; ++t)
        visit(layer.sums[static_cast<std::size_t>(t)]);
  }
  state taken_out(const piece& p) {
    std::vector<double> sums;
    each_sum(p, [&](double& sum) { sums.push_back(std::exchange(sum, 0)); });
    ++live_;
    return {p, std::move(sums)};
  }
  result<void> put_in(const piece& p, const state& s) {
    if (!s.is_of(p)) return error{errc::compute_failed, "the state of another piece"};
    --live_;
    const double* next = s.sums().data();
    each_sum(p, [&](double& sum) { sum = *next++; });
    return success();
  }
  int live_{};
};

}  // namespace slimpack

#endif
