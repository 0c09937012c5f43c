#ifndef SLIMPACK_COSTS_KERNELS_DETAIL_SCATTER_HPP
#define SLIMPACK_COSTS_KERNELS_DETAIL_SCATTER_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/costs/kernels/origin.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Answers to questions that were asked before: a place in a fixed table for each, which the last of those that fall
/// there has. Any thread may ask; copies have one table, since what they would answer is the same.
/// Units     those of the question            Errors    none            Complexity  O(Dimensions)
template <std::size_t Dimensions, class Answer>
class known_answers {
 public:
  using question = std::array<double, Dimensions>;

  [[nodiscard]] std::optional<Answer> find(const question& asked) const noexcept {
    const std::size_t at = slot_of(asked);
    const std::unique_lock lock(table_->locks[at % lock_count], std::try_to_lock);
    const slot& known = table_->slots[at];
    if (!lock || !known.is_used || known.asked != asked) return std::nullopt;
    return known.answer;
  }
  /// A table that another thread has just now keeps what it has.
  void keep(const question& asked, const Answer& answer) const noexcept {
    const std::size_t at = slot_of(asked);
    const std::unique_lock lock(table_->locks[at % lock_count], std::try_to_lock);
    if (lock) table_->slots[at] = {asked, answer, true};
  }

 private:
  static constexpr std::size_t places = 1 << 15;
  static constexpr std::size_t lock_count = 64;

  struct slot {
    question asked{};
    Answer answer{};
    bool is_used{};
  };
  struct table {
    std::vector<slot> slots = std::vector<slot>(places);
    std::array<std::mutex, lock_count> locks{};
  };

  static std::size_t slot_of(const question& asked) noexcept {
    std::uint64_t mixed = 0;
    for (const double number : asked) {
      mixed = (mixed ^ std::bit_cast<std::uint64_t>(number)) * 0x9e3779b97f4a7c15u;
      mixed ^= mixed >> 32;
    }
    return mixed % places;
  }

  std::shared_ptr<table> table_ = std::make_shared<table>();
};

/// A number known at scattered places, and asked for at others: the mean of the 12 nearest, weighted as
/// ((R - d) / (R d))^2 with R the distance of the 13th, so that it is exact at places and has no jumps. Of points that
/// are equally far the first given are the nearest.
/// Source    Franke and Nielson's form of Shepard's method; the nearest are found in a k-d tree
template <std::size_t Dimensions>
class scatter {
 public:
  using place = std::array<double, Dimensions>;
  struct point {
    place at;
    double value;
    double apart;  ///< added to its distance as another dimension: of points that are less to the point
  };
  struct answer {
    double value;
    costs::origin source;
  };

  /// Requires  a point            Complexity  O(points log points)
  explicit scatter(std::vector<point> points) {
    SLIMPACK_ASSERT(!points.empty(), "scattered data needs a point");
    for (point& p : points) points_.push_back({p, points_.size()});
    grow(0, points_.size());
  }

  /// Interpolated: inside the range of every dimension, and no further than 1 from a point in any.
  /// Complexity O(log points) where points are spread, O(points) at worst; O(1) where the same was asked of late
  [[nodiscard]] answer operator()(const place& asked) const noexcept {
    if (const std::optional<answer> known = known_.find(asked)) return *known;
    const answer found = interpolated(asked);
    known_.keep(asked, found);
    return found;
  }

 private:
  [[nodiscard]] answer interpolated(const place& asked) const noexcept {
    nearest_points best;
    best.fill({std::numeric_limits<double>::infinity(), points_.size(), 0});
    search(0, asked, best);
    if (std::get<0>(best.front()) == 0) return {std::get<2>(best.front()), costs::origin::measured};
    const double rest = 1 / std::sqrt(std::get<0>(best.back()));  // 0 where there are no more points
    double sum = 0, weights = 0;
    for (const auto& [square, index, value] : best) {
      const double weight = 1 / std::sqrt(square) - rest;
      sum += weight * weight * value;
      weights += weight * weight;
    }
    bool near = true;
    for (std::size_t i = 0; i < Dimensions; ++i)
      near = near && nodes_.front().low[i] <= asked[i] && asked[i] <= nodes_.front().high[i];
    near = near && has_neighbour(0, asked);
    const double value = weights > 0 ? sum / weights : std::get<2>(best.front());  // 0: the nearest are equally far
    return {value, near ? costs::origin::interpolated : costs::origin::extrapolated};
  }

  static constexpr std::size_t nearest = 12;
  static constexpr std::size_t leaf = 16;  // points that are looked at one by one

  /// Squared distance, place in the list given, value.
  using nearest_points = std::array<std::tuple<double, std::size_t, double>, nearest + 1>;
  struct indexed_point : point {
    std::size_t index;
  };
  /// A box around some of the points; its halves are the next node and `second`, 0 for a leaf.
  struct node {
    place low;
    place high;
    double apart;  ///< the least
    std::size_t begin;
    std::size_t end;
    std::size_t second;
  };

  std::size_t grow(std::size_t begin, std::size_t end) {
    const std::size_t self = nodes_.size();
    node box{points_[begin].at, points_[begin].at, points_[begin].apart, begin, end, 0};
    for (std::size_t k = begin; k < end; ++k) {
      box.apart = std::min(box.apart, points_[k].apart);
      for (std::size_t i = 0; i < Dimensions; ++i) {
        box.low[i] = std::min(box.low[i], points_[k].at[i]);
        box.high[i] = std::max(box.high[i], points_[k].at[i]);
      }
    }
    nodes_.push_back(box);
    if (end - begin <= leaf) return self;
    std::size_t widest = 0;
    for (std::size_t i = 1; i < Dimensions; ++i)
      if (box.high[i] - box.low[i] > box.high[widest] - box.low[widest]) widest = i;
    const std::size_t middle = begin + (end - begin) / 2;
    const auto at = [&](std::size_t k) { return points_.begin() + static_cast<std::ptrdiff_t>(k); };
    std::nth_element(at(begin), at(middle), at(end),
                     [&](const indexed_point& a, const indexed_point& b) { return a.at[widest] < b.at[widest]; });
    grow(begin, middle);
    const std::size_t second = grow(middle, end);
    nodes_[self].second = second;
    return self;
  }

  /// How far a place lies outside a box, in a dimension.
  static double outside(const node& box, const place& asked, std::size_t i) noexcept {
    return std::max({box.low[i] - asked[i], asked[i] - box.high[i], 0.0});
  }
  /// Rounds as the distances of its points do, and is above none of them.
  static double least_square(const node& box, const place& asked) noexcept {
    double square = box.apart * box.apart;
    for (std::size_t i = 0; i < Dimensions; ++i) square += outside(box, asked, i) * outside(box, asked, i);
    return square;
  }

  void search(std::size_t at, const place& asked, nearest_points& best) const noexcept {
    const node& box = nodes_[at];
    if (least_square(box, asked) > std::get<0>(best.back())) return;
    if (box.second != 0) {
      const bool first = least_square(nodes_[at + 1], asked) <= least_square(nodes_[box.second], asked);
      search(first ? at + 1 : box.second, asked, best);
      search(first ? box.second : at + 1, asked, best);
      return;
    }
    for (std::size_t k = box.begin; k < box.end; ++k) {
      const indexed_point& p = points_[k];
      double square = p.apart * p.apart;
      for (std::size_t i = 0; i < Dimensions; ++i) square += (p.at[i] - asked[i]) * (p.at[i] - asked[i]);
      const std::pair key(square, p.index);
      const auto after = [&](const auto& other) { return std::pair(std::get<0>(other), std::get<1>(other)) > key; };
      if (!after(best.back())) continue;
      std::size_t slot = nearest;
      for (; slot > 0 && after(best[slot - 1]); --slot) best[slot] = best[slot - 1];
      best[slot] = {square, p.index, p.value};
    }
  }

  /// Whether a point is no further than 1 in any dimension.
  [[nodiscard]] bool has_neighbour(std::size_t at, const place& asked) const noexcept {
    const node& box = nodes_[at];
    for (std::size_t i = 0; i < Dimensions; ++i)
      if (outside(box, asked, i) > 1) return false;
    if (box.second != 0) return has_neighbour(at + 1, asked) || has_neighbour(box.second, asked);
    for (std::size_t k = box.begin; k < box.end; ++k) {
      double furthest = 0;
      for (std::size_t i = 0; i < Dimensions; ++i) furthest = std::max(furthest, std::abs(points_[k].at[i] - asked[i]));
      if (furthest <= 1) return true;
    }
    return false;
  }

  std::vector<indexed_point> points_;  ///< those of a node are neighbours
  std::vector<node> nodes_;            ///< the first holds all
  known_answers<Dimensions, answer> known_;
};

}  // namespace slimpack::detail

#endif
