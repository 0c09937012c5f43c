#ifndef SLIMPACK_TESTS_NETS_LENDING_STAGE_HPP
#define SLIMPACK_TESTS_NETS_LENDING_STAGE_HPP

#include "../executors/shared_prefix_model.hpp"

#include <slimpack/concepts/running.hpp>
#include <slimpack/executors/lending/lending.hpp>
#include <slimpack/executors/lending/loan_format.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace slimpack::tests {

/// A stage of the prefix model that lends the sums over earlier tokens to other stages, and helps them. Forward a
/// helper gets inputs of context tokens and gives each query their sum; backward it gets gradients of queries' sums and
/// gives each context token their sum.
class lending_stage : public shared_prefix_stage<backward_cuts::any> {
 public:
  static constexpr exchange_set shares_rows = exchange_set::none();
  static constexpr bool lends_attention = true;

  lending_stage(int stage, int stages, int chunks, bool /*its vocabulary is in one place*/)
      : shared_prefix_stage(stage, stages, chunks, 2, 0.3) {}

  [[nodiscard]] std::vector<double> found() const { return {gradient().begin(), gradient().end()}; }
  [[nodiscard]] loan_format loans(std::uint32_t) const {
    const loan_message keys{format(), true}, queries{format(), false};
    return {layers_, {{keys}, {keys}}, {{queries}, {queries}}, {{queries}, {keys}}};
  }

  result<void> forward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
    return run_forward(pack, in, out, nullptr);
  }
  result<void> forward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out, lending& with) {
    return run_forward(pack, in, out, &with);
  }
  result<void> backward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
    return run_backward(pack, in, out, nullptr);
  }
  result<void> backward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out, lending& with) {
    return run_backward(pack, in, out, &with);
  }

 private:
  using loans_of_pack = std::span<const loan>;
  static loans_of_pack lent_of(const lending* with) { return with == nullptr ? loans_of_pack{} : with->lent(); }
  static loans_of_pack helped_of(const lending* with) { return with == nullptr ? loans_of_pack{} : with->helped(); }

  result<void> run_forward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out, lending* with) {
    std::vector<double> x = rows_of(pack, in, [](sequence_id s, std::int64_t t) { return prefix_model::token(s, t); });
    for (int l = 0; l < layers_; ++l) {
      each_token(pack, [&](std::size_t k, const piece& p, std::int64_t t) { row_of(p, l).x[at(t)] = x[k]; });
      const auto inputs = [&](const slice& s) { return picked(kept(pack, s, l).x, places(std::span(&s, 1))); };
      if (result<void> sent = ask_for(with, l, inputs, inputs); !sent) return sent;
      each_token(pack, [&](std::size_t, const piece& p, std::int64_t t) {
        layer_rows& here = row_of(p, l);
        here.sums[at(t)] = 0;
        each_own_key(lent_of(with), p.slice.sequence, t, [&](std::int64_t u) { here.sums[at(t)] += here.x[at(u)]; });
      });
      if (result<void> helped = help(with, l, pass::forward); !helped) return helped;
      for (std::size_t i = 0; i < lent_of(with).size(); ++i) {
        const result<lending::rows> answer = with->collect(l, i);
        if (!answer) return answer.error();
        add(answer.value()[0], lent_of(with)[i].queries, kept(pack, lent_of(with)[i].queries, l).sums);
      }
      each_token(pack, [&](std::size_t k, const piece& p, std::int64_t t) {
        x[k] += weight(p.chunk, l) * row_of(p, l).sums[at(t)];
      });
    }
    if (out.wanted()) return out.put(x);
    each_token(pack, [&](std::size_t k, const piece& p, std::int64_t t) {
      loss_ += prefix_model::slope(p.slice.sequence, t) * x[k];
    });
    return success();
  }

  result<void> run_backward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out, lending* with) {
    std::vector<double> dy = rows_of(pack, in, [](sequence_id s, std::int64_t t) { return prefix_model::slope(s, t); });
    for (int l = layers_; l-- > 0;) {
      std::map<sequence_id, std::vector<double>> of_sums;  // gradients, by token
      each_token(pack, [&](std::size_t k, const piece& p, std::int64_t t) {
        gradient_[p.chunk * static_cast<std::size_t>(layers_) + static_cast<std::size_t>(l)] +=
            dy[k] * row_of(p, l).sums[at(t)];
        std::vector<double>& row = of_sums[p.slice.sequence];
        row.resize(static_cast<std::size_t>(p.sequence_length.value));
        row[at(t)] = weight(p.chunk, l) * dy[k];
      });
      const auto inputs = [&](const slice& s) { return picked(kept(pack, s, l).x, places(std::span(&s, 1))); };
      const auto slopes = [&](const slice& s) { return picked(of_sums.at(s.sequence), places(std::span(&s, 1))); };
      if (result<void> sent = ask_for(with, l, inputs, slopes); !sent) return sent;
      each_token(pack, [&](std::size_t, const piece& p, std::int64_t t) {
        const double slope = of_sums.at(p.slice.sequence)[at(t)];
        each_own_key(lent_of(with), p.slice.sequence, t, [&](std::int64_t u) { row_of(p, l).dx[at(u)] += slope; });
      });
      if (result<void> helped = help(with, l, pass::backward); !helped) return helped;
      for (std::size_t i = 0; i < lent_of(with).size(); ++i) {
        const result<lending::rows> answer = with->collect(l, i);
        if (!answer) return answer.error();
        add(answer.value()[0], lent_of(with)[i].context, kept(pack, lent_of(with)[i].context, l).dx);
      }
      each_token(pack, [&](std::size_t k, const piece& p, std::int64_t t) { dy[k] += row_of(p, l).dx[at(t)]; });
    }
    for (const piece& p : pack)
      if (p.is_own_first()) arena_.erase({p.chunk, p.slice.sequence});
    return out.put(dy);
  }

  static std::size_t at(std::int64_t t) { return static_cast<std::size_t>(t); }

  [[nodiscard]] layer_rows& row_of(const piece& p, int l) {
    std::vector<layer_rows>& all = arena_[{p.chunk, p.slice.sequence}];
    all.resize(static_cast<std::size_t>(layers_));
    layer_rows& here = all[static_cast<std::size_t>(l)];
    for (std::vector<double>* const each : {&here.x, &here.sums, &here.dx}) each->resize(at(p.sequence_length.value));
    return here;
  }
  /// Of the sequence of a slice, which the pack has.
  [[nodiscard]] layer_rows& kept(std::span<const piece> pack, const slice& s, int l) {
    return row_of(
        *std::find_if(pack.begin(), pack.end(), [&](const piece& p) { return p.slice.sequence == s.sequence; }), l);
  }

  template <class Visit>
  static void each_token(std::span<const piece> pack, const Visit& visit) {
    std::size_t k = 0;
    for (const piece& p : pack)
      for (std::int64_t t = p.slice.begin.value; t < p.slice.end().value; ++t) visit(k++, p, t);
  }
  template <class Otherwise>
  static std::vector<double> rows_of(std::span<const piece> pack, std::span<const std::byte> in,
                                     const Otherwise& otherwise) {
    std::vector<double> rows(as<double>(in).begin(), as<double>(in).end());
    if (in.empty())
      each_token(pack,
                 [&](std::size_t, const piece& p, std::int64_t t) { rows.push_back(otherwise(p.slice.sequence, t)); });
    return rows;
  }
  static bool has(const slice& s, sequence_id id, std::int64_t t) {
    return s.sequence == id && t >= s.begin.value && t < s.end().value;
  }
  /// The tokens up to t whose sum it makes itself.
  template <class Visit>
  static void each_own_key(std::span<const loan> lent, sequence_id id, std::int64_t t, const Visit& visit) {
    for (std::int64_t u = 0; u <= t; ++u)
      if (std::none_of(lent.begin(), lent.end(),
                       [&](const loan& l) { return has(l.queries, id, t) && has(l.context, id, u); }))
        visit(u);
  }
  static void add(std::span<const std::byte> rows, const slice& to, std::vector<double>& by_token) {
    const std::span<const double> more = as<double>(rows);
    for (std::size_t k = 0; k < more.size(); ++k) by_token[at(to.begin.value) + k] += more[k];
  }

  template <class Keys, class Queries>
  static result<void> ask_for(lending* with, int l, const Keys& keys, const Queries& queries) {
    for (std::size_t i = 0; i < lent_of(with).size(); ++i) {
      const std::vector<double> offered = keys(lent_of(with)[i].context), asked = queries(lent_of(with)[i].queries);
      const std::array<std::span<const std::byte>, 1> first{slimpack::as_span(offered)},
          second{slimpack::as_span(asked)};
      if (result<void> sent = with->offer(l, i, first); !sent) return sent;
      if (result<void> sent = with->ask(l, i, second); !sent) return sent;
    }
    return success();
  }
  static result<void> help(lending* with, int l, pass p) {
    for (std::size_t i = 0; i < helped_of(with).size(); ++i) {
      const result<lending::rows> taken = with->take(l, i);
      if (!taken) return taken.error();
      double sum = 0;
      for (const double x : as<double>(taken.value()[p == pass::forward ? 0 : 1])) sum += x;
      const slice& to = p == pass::forward ? helped_of(with)[i].queries : helped_of(with)[i].context;
      const std::vector<double> answer(at(to.length.value), sum);
      const std::array<std::span<const std::byte>, 1> rows{slimpack::as_span(answer)};
      if (result<void> sent = with->answer(l, i, rows); !sent) return sent;
    }
    return success();
  }
};

}  // namespace slimpack::tests

#endif
