#ifndef SLIMPACK_COSTS_KERNELS_TIME_TABLE_HPP
#define SLIMPACK_COSTS_KERNELS_TIME_TABLE_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/kernels/detail/measured_times.hpp>
#include <slimpack/costs/kernels/slice_growth.hpp>
#include <slimpack/costs/model/detail/analytic_shape.hpp>
#include <slimpack/costs/model/mixer.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::costs {

/// Measured times of slices, by query tokens q and prefix tokens p, for any q and p.
///
/// Between measurements time runs along the shape g(q, p) = launch + linear q + attention q (2 p + q + 1) / 2 that is
/// fitted to all of them: at a measured q, linearly in p; between two measured q0 < q1,
///   t(q, p) = t(q0, p) + (t(q1, p) - t(q0, p)) (g(q, p) - g(q0, p)) / (g(q1, p) - g(q0, p)).
/// Outside, the nearest measurement grows or shrinks as g does: t(q, p) = t(q', p') g(q, p) / g(q', p'). Measurements
/// give the level and the fit gives the growth, since a power law of the last two points would double their noise with
/// every doubling, and does not know that attention overtakes the linear layers.
///
/// Of attention to a span of keys (costs::attention_span), g has the pairs of that span. A straight line in p then is
/// one in these pairs, w, and between q0 and q1 it is one in q:
///   t(q, p) = t(q0, p) + (t(q1, p) - t(q0, p)) (q - q0) / (q1 - q0), t(q0, p) linear in w(q0, p)
/// which neither falls in q nor in p, as t(q0, .) <= t(q1, .) do not. Of chunks only the first is asked (each_chunk).
///
/// Where the growth of slices is known (costs::slice_growth), g is that growth instead of a fit.
///
/// Why not in logarithms: with every second published time of attention and of matrix products left out (H100 and A100,
/// 128 to 32768 tokens), log-log interpolation is 5.3 % to 8.2 % off the others on average, this one 3.6 % to 7.4 %;
/// times of the fitted shape are exact; and a few products and two divisions give the same bits with every mathematics
/// library.
///
/// Source    derived
/// Law       t does not fall in q nor in p. t(q0, .) <= t(q1, .) rise with p, and with r = linear / attention the
///           share is (q - q0) / (q1 - q0) times (2 r + 2 p + q + q0 + 1) / (2 r + 2 p + q1 + q0 + 1), which rises
///           with q, and with p since q <= q1. Of a given growth the share is (q - q0) / (q1 - q0) times
///           (a + pair p + own q) / (a + pair p + own q1) with a = token + own q0, which does the same: slice and
///           prefix stand on both sides of the differences and leave. Measurements that fall are replaced by the mean
///           of the largest before (fewer q, p) and the smallest after, which neither falls nor changes any that do
///           not
/// Shapes    any points: a grid, or another list of prefixes for each q; of several times at a point the median counts
/// Errors    none            Complexity  O(log rows + log columns) a question, O(points * rows) to build
class time_table {
 public:
  using point = slimpack::detail::timed_point;

  /// Requires  a point; queries from 1 to longest_supported - prefix, prefixes >= 0, times > 0 and finite; or times
  ///           that are all 0, of slices that take none whatever their tokens
  explicit time_table(std::vector<point> points, const attention_span& span = {}) : span_(span) {
    build(std::move(points));
  }

  /// A table of full attention that grows between and outside measurements as it is said here.
  /// Requires  coefficients of at least 0, finite. Without growth.has_time() the shape is fitted, too
  time_table(std::vector<point> points, const slice_growth& growth) {
    if (growth.has_time()) growth_ = growth;
    build(std::move(points));
  }

  /// Requires  queries >= 1, prefix >= 0
  [[nodiscard]] seconds operator()(tokens queries, tokens prefix) const noexcept {
    const std::size_t i = line_of(queries_, queries.value);
    const std::size_t j = line_of(prefixes_, prefix.value);
    const auto q = static_cast<double>(queries.value);
    const auto p = static_cast<double>(prefix.value);
    const auto q0 = static_cast<double>(queries_[i]);
    const auto q1 = static_cast<double>(queries_[i + 1]);
    const auto p0 = static_cast<double>(prefixes_[j]);
    const double along = (p - p0) / (static_cast<double>(prefixes_[j + 1]) - p0);
    const double* const few = &time_[i * prefixes_.size() + j];
    const double* const many = few + prefixes_.size();
    if (!is_full()) {
      const double below = few[0] + share_of_pairs(i, j, prefix) * (few[1] - few[0]);
      const double above = many[0] + share_of_pairs(i + 1, j, prefix) * (many[1] - many[0]);
      return {below + (q - q0) / (q1 - q0) * (above - below)};
    }
    const double low = few[0] + along * (few[1] - few[0]);
    const double high = many[0] + along * (many[1] - many[0]);
    const double beside = ratio_ * p + q0 + 1;
    const double share =
        (q - q0) * (twice_linear_ + bend_ * (beside + q)) / ((q1 - q0) * (twice_linear_ + bend_ * (beside + q1)));
    return {low + share * (high - low)};
  }

  /// At most the time of these tokens however they are cut, and adding up: the fitted shape without launches, lowered
  /// until no measured line is below it. Between lines it holds as on them, since t runs along the same shape there,
  /// or, of a span, since its pairs are convex in q and t is straight.
  ///
  /// Where the growth is given, the lines are compared with h = token q + pair q p + own q^2, the growth without slice
  /// and prefix. Let t >= s h at all crossings of lines. On a line of queries t and h are straight in p between them,
  /// so t >= s h there. Between two such lines t = t0 + (t1 - t0) share >= s (h0 + (h1 - h0) share) = s h, since h has
  /// the same share as g; of a straight share it is more, as h is convex in q. And h >= token q + rho (q p + q^2 / 2)
  /// with rho = min(pair, 2 own), which adds up (slice_growth::additive_pair). That part itself could not be compared
  /// with lines: of dense attention t is more convex than it, and may pass below it between them.
  [[nodiscard]] seconds least(tokens queries, tokens prefix) const noexcept {
    return {least_ * work(static_cast<double>(queries.value), static_cast<double>(prefix.value))};
  }

  /// The most by which a measured time was changed so that none falls, as a ratio of it.
  [[nodiscard]] double largest_change() const noexcept { return largest_change_; }

  friend bool operator==(const time_table&, const time_table&) = default;

 private:
  void build(std::vector<point> points) {
    SLIMPACK_ASSERT(!points.empty(), "a time table needs a measured time");
    slimpack::detail::keep_medians(points, [](const point& a, const point& b) {
      return a.queries != b.queries ? a.queries < b.queries : a.prefix < b.prefix;
    });
    if (points.front().time == seconds{}) {
      place_lines({});
      time_.resize(queries_.size() * prefixes_.size());
      return;
    }
    if (growth_) {
      run_along(*growth_);
    } else {
      shape_ = is_full() ? slimpack::detail::analytic_shape::fitted(points)
                         : slimpack::detail::analytic_shape::fitted(points, pairs());
      twice_linear_ = shape_.linear + shape_.attention > 0 ? 2 * shape_.linear : 1;
      bend_ = shape_.attention;
    }
    place_lines(points);
    fill(points);
    make_monotone();
    find_least();
    for (const point& m : points)
      largest_change_ = std::max(largest_change_, std::abs((*this)(m.queries, m.prefix) / m.time - 1));
  }

  /// The share between two lines of queries, with bend = 2 own and ratio = pair / own: times 2 and without what both
  /// sides have, (q - q0) (2 (token - own) + bend (ratio p + q + q0 + 1)). Where own is nothing beside pair, the pairs
  /// leave the share, and it is a straight line.
  void run_along(const slice_growth& g) {
    const double pair = g.additive_pair().value;
    shape_ = {.launch = 0, .linear = g.token.value - pair / 2, .attention = pair};  // as least() has it
    if (g.own.value > 1e-9 * g.pair.value) {
      twice_linear_ = 2 * (g.token - g.own).value;
      bend_ = 2 * g.own.value, ratio_ = g.pair / g.own;
    }
  }

  /// Lines at every q and p measured, and at the ends of what may be asked.
  void place_lines(std::span<const point> points) {
    queries_ = {1, longest_supported.value};
    prefixes_ = {0, longest_supported.value};
    for (const point& m : points) {
      queries_.push_back(m.queries.value);
      prefixes_.push_back(m.prefix.value);
    }
    for (std::vector<std::int64_t>* lines : {&queries_, &prefixes_}) {
      std::sort(lines->begin(), lines->end());
      lines->erase(std::unique(lines->begin(), lines->end()), lines->end());
    }
  }

  /// The times at all crossings of lines, by the rules above; points of one q follow each other.
  void fill(std::span<const point> points) {
    time_.resize(queries_.size() * prefixes_.size());
    std::vector<std::size_t> measured;  // rows
    for (std::size_t first = 0; first < points.size();) {
      std::size_t end = first;
      while (end < points.size() && points[end].queries == points[first].queries) ++end;
      const auto row = static_cast<std::size_t>(
          std::lower_bound(queries_.begin(), queries_.end(), points[first].queries.value) - queries_.begin());
      fill_row(row, points.subspan(first, end - first));
      measured.push_back(row);
      first = end;
    }
    if (measured.front() > 0) scale_row(measured.front(), 0);
    if (measured.back() + 1 < queries_.size()) scale_row(measured.back(), queries_.size() - 1);
  }

  void fill_row(std::size_t row, std::span<const point> own) {
    const auto q = static_cast<double>(queries_[row]);
    for (std::size_t j = 0; j < prefixes_.size(); ++j) {
      const tokens p{prefixes_[j]};
      const auto before = [](const point& m, tokens at) { return m.prefix < at; };
      const auto after = static_cast<std::size_t>(std::lower_bound(own.begin(), own.end(), p, before) - own.begin());
      double& t = time_[row * prefixes_.size() + j];
      if (after < own.size() && own[after].prefix == p) {
        t = own[after].time.value;
      } else if (after == 0 || after == own.size()) {
        const point& nearest = own[after == 0 ? 0 : after - 1];
        const double growth =
            grown(q, static_cast<double>(p.value)) / grown(q, static_cast<double>(nearest.prefix.value));
        t = nearest.time.value * growth;
      } else {
        const point& a = own[after - 1];
        const point& b = own[after];
        t = a.time.value + (p - a.prefix) / (b.prefix - a.prefix) * (b.time - a.time).value;
      }
    }
  }

  void scale_row(std::size_t from, std::size_t to) {
    const auto q = static_cast<double>(queries_[from]);
    const auto wanted = static_cast<double>(queries_[to]);
    for (std::size_t j = 0; j < prefixes_.size(); ++j) {
      const auto p = static_cast<double>(prefixes_[j]);
      time_[to * prefixes_.size() + j] = time_[from * prefixes_.size() + j] * (grown(wanted, p) / grown(q, p));
    }
  }

  void make_monotone() {
    const std::size_t columns = prefixes_.size();
    std::vector<double> least = time_;  // of what is not before
    for (std::size_t i = queries_.size(); i-- > 0;)
      for (std::size_t j = columns; j-- > 0;) {
        double& here = least[i * columns + j];
        if (i + 1 < queries_.size()) here = std::min(here, least[(i + 1) * columns + j]);
        if (j + 1 < columns) here = std::min(here, least[i * columns + j + 1]);
      }
    std::vector<double> most = time_;  // of what is not after
    for (std::size_t i = 0; i < queries_.size(); ++i)
      for (std::size_t j = 0; j < columns; ++j) {
        double& here = most[i * columns + j];
        if (i > 0) here = std::max(here, most[(i - 1) * columns + j]);
        if (j > 0) here = std::max(here, most[i * columns + j - 1]);
      }
    for (std::size_t k = 0; k < time_.size(); ++k) time_[k] = (least[k] + most[k]) / 2;
  }

  [[nodiscard]] bool is_full() const noexcept { return span_.how == mixing::full; }
  /// Pairs of a span, by queries and prefix.
  struct pairs_of_span {
    attention_span span;
    [[nodiscard]] double operator()(double q, double p) const noexcept {
      return span.pairs({{}, {static_cast<std::int64_t>(p)}, {static_cast<std::int64_t>(q)}});
    }
  };
  [[nodiscard]] pairs_of_span pairs() const noexcept { return {span_}; }
  /// On a line of queries, how far a prefix is between two lines of prefixes, in pairs.
  [[nodiscard]] double share_of_pairs(std::size_t i, std::size_t j, tokens prefix) const noexcept {
    const auto of = [&](std::int64_t p) { return span_.pairs({{}, {p}, {queries_[i]}}); };
    const double first = of(prefixes_[j]), last = of(prefixes_[j + 1]);
    return last > first ? (of(prefix.value) - first) / (last - first) : 0;
  }
  [[nodiscard]] double grown(double q, double p) const noexcept {
    if (growth_) return (*growth_)(q, p);
    return is_full() ? shape_(q, p) : shape_(q, p, pairs());
  }
  /// What lines are compared with for least().
  [[nodiscard]] double compared(double q, double p) const noexcept {
    return growth_ ? slice_growth{{}, growth_->token, growth_->pair, growth_->own, {}}(q, p) : work(q, p);
  }
  [[nodiscard]] double work(double q, double p) const noexcept {
    return shape_.linear * q + shape_.attention * (is_full() ? q * (2 * p + q + 1) / 2 : pairs()(q, p));
  }

  void find_least() {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < queries_.size(); ++i)
      for (std::size_t j = 0; j < prefixes_.size(); ++j) {
        const double of = compared(static_cast<double>(queries_[i]), static_cast<double>(prefixes_[j]));
        if (of > 0) least = std::min(least, time_[i * prefixes_.size() + j] / of);
      }
    if (std::isfinite(least)) least_ = least;
  }

  /// The last line that is not after `at`, and not the last of all.
  static std::size_t line_of(const std::vector<std::int64_t>& lines, std::int64_t at) noexcept {
    std::size_t first = 0;  // a search without branches to mispredict
    for (std::size_t left = lines.size() - 1; left > 1;) {
      const std::size_t half = left / 2;
      first = lines[first + half] <= at ? first + half : first;
      left -= half;
    }
    return first;
  }

  attention_span span_;
  std::optional<slice_growth> growth_;  ///< where it was given
  slimpack::detail::analytic_shape shape_;
  double twice_linear_{1};
  double bend_{};
  double ratio_{2};  ///< of a pair with the prefix to one of the slice's own, see run_along
  double largest_change_{};
  double least_{};
  std::vector<std::int64_t> queries_;
  std::vector<std::int64_t> prefixes_;
  std::vector<double> time_;  ///< [query line * prefix lines + prefix line]
};

}  // namespace slimpack::costs

#endif
