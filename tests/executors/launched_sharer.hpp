#ifndef SLIMPACK_TESTS_EXECUTORS_LAUNCHED_SHARER_HPP
#define SLIMPACK_TESTS_EXECUTORS_LAUNCHED_SHARER_HPP

#include "shared_prefix_model.hpp"

#include <slimpack/devices/host.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace slimpack {

/// The shared prefix model as a compute that only launches work: when a call returns, nothing has been computed, read
/// or written yet. All numbers lie in memory of a stand-in device, where the host does not look at them.
template <class End>
class launched_sharer : public shared_prefix_stage<backward_cuts::any> {
  using base = shared_prefix_stage<backward_cuts::any>;
  using rows_in = std::span<const std::byte>;
  using numbers = std::vector<double>;
  using place_list = std::vector<std::int64_t>;

 public:
  launched_sharer(int stage, int stages, int chunks, End& on) : base(stage, stages, chunks), on_(&on) {}

  result<void> forward(const piece& p, rows_in in, outgoing& out) { return fore({&p, 1}, in, out, nullptr); }
  result<void> backward(const piece& p, rows_in in, outgoing& out) { return back({&p, 1}, in, out, nullptr); }
  result<void> forward(std::span<const piece> row, rows_in in, outgoing& out, sharing& with) {
    return fore(row, in, out, &with);
  }
  result<void> backward(std::span<const piece> row, rows_in in, outgoing& out, sharing& with) {
    return back(row, in, out, &with);
  }

  devices::host::memory make_tensor(tokens size) {
    return on_->device().allocate(static_cast<std::size_t>(size.value) * format().bytes_per_token()).value();
  }
  result<void> copy_rows(rows_in from, std::span<std::byte> to) { return on_->device().copy(on_->stream(), to, from); }
  result<void> add_rows(rows_in from, std::span<std::byte> to) {
    return launch([more = as<double>(from), sum = reinterpret_cast<double*>(to.data())] {
      for (std::size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
    });
  }

  void discard(const piece& p) { kept_.erase({p.chunk, p.slice.sequence}); }
  void abort_step() { kept_.clear(), scratch_.clear(); }
  bytes held() const {
    waits_ = on_->device().host_waits() - waits_before_;
    return {static_cast<double>(kept_.size())};
  }
  /// Calls at which a host may wait for its device, from the first call of the compute to the end of its program.
  [[nodiscard]] int waits() const { return waits_; }

  int fails_at{};  // a call of a row, or never

 private:
  using arena = std::shared_ptr<std::vector<layer_rows>>;

  template <class Work>
  result<void> launch(Work work) {
    return on_->device().run(on_->stream(), std::move(work));
  }
  /// Memory of the device, until the step has ended.
  numbers& room(std::size_t size) { return scratch_.emplace_back(size); }
  static void put(const numbers& from, numbers& to) { std::copy(from.begin(), from.end(), to.begin()); }

  result<void> begin_call(sharing* with) {
    if (waits_before_ < 0) waits_before_ = on_->device().host_waits();
    if (with != nullptr && ++rows_run_ == fails_at)
      return error{errc::compute_failed, "a kernel that cannot be launched"};
    return success();
  }

  result<void> fore(std::span<const piece> row, rows_in in, outgoing& out, sharing* with) {
    if (result<void> begun = begin_call(with); !begun) return begun;
    const piece one = row.front();
    const place_list at = places(row);
    const sequence_id id = one.slice.sequence;
    arena& all = kept_[{one.chunk, id}];
    if (!all) {
      all = std::make_shared<std::vector<layer_rows>>(static_cast<std::size_t>(layers_));
      for (layer_rows& here : *all)
        for (numbers* const each : {&here.x, &here.sums, &here.dx})
          each->resize(static_cast<std::size_t>(one.sequence_length.value));
    }
    numbers& x = room(at.size());
    result<void> done = launch([&x, at, id, from = as<double>(in)] {
      for (std::size_t k = 0; k < at.size(); ++k) x[k] = from.empty() ? prefix_model::token(id, at[k]) : from[k];
    });
    for (int l = 0; done && l < layers_; ++l) done = layer_forward(all, l, one.chunk, at, x, with);
    if (!done) return done;
    if (out.wanted()) return copy_rows(slimpack::as_span(x), out.bytes());
    return launch([this, &x, at, id, counts = one.loss_weight > 0] {
      for (std::size_t k = 0; k < at.size() && counts; ++k) loss_ += prefix_model::slope(id, at[k]) * x[k];
    });
  }

  result<void> layer_forward(const arena& all, int l, std::uint32_t chunk, const place_list& at, numbers& x,
                             sharing* with) {
    const auto of = static_cast<std::size_t>(l);
    result<void> done = launch([all, of, at, &x] {
      for (std::size_t k = 0; k < at.size(); ++k) (*all)[of].x[static_cast<std::size_t>(at[k])] = x[k];
    });
    if (done && with != nullptr && with->exchange() == exchange::keep) done = exchange_inputs(all, l, *with);
    if (done)
      done = launch([all, of, at] {
        const numbers prefix = up_to((*all)[of].x);
        for (const std::int64_t t : at)
          (*all)[of].sums[static_cast<std::size_t>(t)] = prefix[static_cast<std::size_t>(t)];
      });
    if (done && with != nullptr && with->exchange() != exchange::keep) done = round_forward(all, l, *with);
    if (!done) return done;
    return launch([all, of, at, &x, w = weight(chunk, l)] {
      for (std::size_t k = 0; k < at.size(); ++k) x[k] += w * (*all)[of].sums[static_cast<std::size_t>(at[k])];
    });
  }

  result<void> exchange_inputs(const arena& all, int l, sharing& with) {
    const auto of = static_cast<std::size_t>(l);
    const place_list own = places(with.own());
    numbers& mine = room(own.size());
    if (result<void> done = launch([all, of, own, &mine] { put(picked((*all)[of].x, own), mine); }); !done) return done;
    if (result<void> given = with.give(l, slimpack::as_span(mine)); !given) return given;
    const result<rows_in> taken = with.take(l);
    if (!taken) return taken.error();
    return launch([all, of, theirs = places(with.others()), rows = as<double>(taken.value())] {
      for (std::size_t k = 0; k < theirs.size(); ++k) (*all)[of].x[static_cast<std::size_t>(theirs[k])] = rows[k];
    });
  }

  result<void> back(std::span<const piece> row, rows_in in, outgoing& out, sharing* with) {
    if (result<void> begun = begin_call(with); !begun) return begun;
    const piece one = row.front();
    const place_list at = places(row);
    const arena all = kept_.at({one.chunk, one.slice.sequence});
    numbers& dy = room(at.size());
    result<void> done = launch([&dy, at, id = one.slice.sequence, counts = one.loss_weight > 0, from = as<double>(in)] {
      for (std::size_t k = 0; k < at.size(); ++k)
        dy[k] = !from.empty() ? from[k] : counts ? prefix_model::slope(id, at[k]) : 0;
    });
    for (int l = layers_; done && l-- > 0;) done = layer_backward(all, l, one.chunk, at, dy, with);
    if (!done) return done;
    for (const piece& p : row)
      if (p.is_own_first()) kept_.erase({one.chunk, one.slice.sequence});
    if (out.wanted()) return copy_rows(slimpack::as_span(dy), out.bytes());
    return success();
  }

  result<void> layer_backward(const arena& all, int l, std::uint32_t chunk, const place_list& at, numbers& dy,
                              sharing* with) {
    const auto of = static_cast<std::size_t>(l);
    numbers& of_row = room((*all)[of].dx.size());
    double& gradient = gradient_[chunk * static_cast<std::size_t>(layers_) + of];
    result<void> done = launch([all, of, at, &dy, &of_row, &gradient, w = weight(chunk, l)] {
      for (std::size_t k = 0; k < at.size(); ++k) {
        gradient += dy[k] * (*all)[of].sums[static_cast<std::size_t>(at[k])];
        of_row[static_cast<std::size_t>(at[k])] = w * dy[k];
      }
      add_from(of_row, (*all)[of].dx);
    });
    if (done && with != nullptr)
      done = with->exchange() == exchange::keep ? exchange_gradients(all, l, *with)
                                                : round_backward(all, l, of_row, *with);
    if (!done) return done;
    return launch([all, of, at, &dy] {
      for (std::size_t k = 0; k < at.size(); ++k) dy[k] += (*all)[of].dx[static_cast<std::size_t>(at[k])];
    });
  }

  result<void> exchange_gradients(const arena& all, int l, sharing& with) {
    const auto of = static_cast<std::size_t>(l);
    const place_list own = places(with.own()), theirs = places(with.others());
    numbers& owed = room(theirs.size());
    if (result<void> done = launch([all, of, theirs, &owed] { put(picked((*all)[of].dx, theirs), owed); }); !done)
      return done;
    if (result<void> gone = with.owe(l, slimpack::as_span(owed)); !gone) return gone;
    numbers& sum = room(own.size());
    if (result<void> done = launch([all, of, own, &sum] { put(picked((*all)[of].dx, own), sum); }); !done) return done;
    if (result<void> due = with.due(l, std::span(sum)); !due) return due;
    return launch([all, of, own, &sum] {
      for (std::size_t k = 0; k < own.size(); ++k) (*all)[of].dx[static_cast<std::size_t>(own[k])] = sum[k];
    });
  }

  /// Sends rows and sums round, and launches visit(parcel's rows, tokens, sums) with those of the others, then
  /// home(sums).
  template <class Visit, class Home>
  result<void> go_round(sharing& with, int l, const numbers& rows, const numbers& begin, Visit visit, Home home) {
    if (result<void> launched = with.launch(l, slimpack::as_span(rows)); !launched) return launched;
    for (const numbers* held = &begin;;) {
      const result<parcel> next = with.rotate(l, slimpack::as_span(*held));
      if (!next) return next.error();
      const std::span<const double> so_far = as<double>(next.value().sums);
      numbers& sums = room(so_far.size());
      held = &sums;
      if (next.value().is_home) return launch([so_far, home] { home(so_far); });
      const result<void> done = launch(
          [so_far, visit, &sums, rows_there = as<double>(next.value().rows), theirs = places(next.value().tokens)] {
            std::copy(so_far.begin(), so_far.end(), sums.begin());
            visit(rows_there, theirs, sums);
          });
      if (!done) return done;
    }
  }

  result<void> round_forward(const arena& all, int l, sharing& with) {
    const auto of = static_cast<std::size_t>(l);
    const place_list own = places(with.own());
    const bool queries = with.exchange() == exchange::queries;
    numbers& rows = room(own.size());
    numbers& sums = room(queries ? own.size() : 0);
    if (result<void> done = launch([all, of, own, queries, &rows, &sums] {
          const numbers mine = picked((*all)[of].x, own), prefix = picked(up_to((*all)[of].x), own);
          for (std::size_t k = 0; k < own.size(); ++k) rows[k] = queries ? static_cast<double>(own[k]) : mine[k];
          std::copy(prefix.begin(), prefix.begin() + static_cast<std::ptrdiff_t>(sums.size()), sums.begin());
        });
        !done)
      return done;
    if (queries)
      return go_round(
          with, l, rows, sums,
          [all, of](std::span<const double> asked, const place_list&, numbers& so_far) {
            const numbers prefix = up_to((*all)[of].x);
            for (std::size_t k = 0; k < so_far.size(); ++k)  // of a step that was aborted, rows may be
                                                             // anything
              if (asked[k] >= 0 && asked[k] < static_cast<double>(prefix.size()))
                so_far[k] += prefix[static_cast<std::size_t>(asked[k])];
          },
          [all, of, own](std::span<const double> home) {
            for (std::size_t k = 0; k < own.size(); ++k) (*all)[of].sums[static_cast<std::size_t>(own[k])] = home[k];
          });
    return go_round(
        with, l, rows, sums,
        [all, of, own](std::span<const double> inputs, const place_list& theirs, numbers&) {
          numbers x((*all)[of].x.size());
          for (std::size_t k = 0; k < theirs.size(); ++k) x[static_cast<std::size_t>(theirs[k])] = inputs[k];
          x = up_to(std::move(x));
          for (const std::int64_t t : own)
            (*all)[of].sums[static_cast<std::size_t>(t)] += x[static_cast<std::size_t>(t)];
        },
        [](std::span<const double>) {});
  }

  result<void> round_backward(const arena& all, int l, const numbers& of_row, sharing& with) {
    const auto of = static_cast<std::size_t>(l);
    const place_list own = places(with.own());
    const bool queries = with.exchange() == exchange::queries;
    numbers& slopes = room(queries ? own.size() : 0);
    numbers& sums = room(queries ? 0 : own.size());
    numbers& from_there = queries ? slopes : sums;
    if (result<void> done = launch([all, of, own, queries, &of_row, &from_there] {
          put(picked(queries ? of_row : (*all)[of].dx, own), from_there);
        });
        !done)
      return done;
    if (queries)
      return go_round(
          with, l, slopes, sums,
          [all, of](std::span<const double> theirs_there, const place_list& theirs, numbers&) {
            numbers row((*all)[of].dx.size());
            for (std::size_t k = 0; k < theirs.size(); ++k) row[static_cast<std::size_t>(theirs[k])] = theirs_there[k];
            add_from(row, (*all)[of].dx);
          },
          [](std::span<const double>) {});
    return go_round(
        with, l, slopes, sums,
        [&of_row](std::span<const double>, const place_list& theirs, numbers& so_far) {
          numbers later(of_row.size());
          add_from(of_row, later);
          for (std::size_t k = 0; k < theirs.size(); ++k) so_far[k] += later[static_cast<std::size_t>(theirs[k])];
        },
        [all, of, own](std::span<const double> home) {
          for (std::size_t k = 0; k < own.size(); ++k) (*all)[of].dx[static_cast<std::size_t>(own[k])] = home[k];
        });
  }

  End* on_;
  std::map<std::pair<std::uint32_t, sequence_id>, arena> kept_;
  std::deque<numbers> scratch_;
  int waits_before_{-1};
  mutable int waits_{};
};

}  // namespace slimpack

#endif
