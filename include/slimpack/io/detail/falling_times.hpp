#ifndef SLIMPACK_IO_DETAIL_FALLING_TIMES_HPP
#define SLIMPACK_IO_DETAIL_FALLING_TIMES_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/detail/masked.hpp>
#include <slimpack/io/csv.hpp>
#include <slimpack/io/profile_note.hpp>

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::io::detail {

/// Finds measurements that are faster than one of a smaller size, all else equal: noise, or a slip of the pen.
class falling_times {
 public:
  /// A time in a column. `alike` is what it has in common with those that it is compared with; it grows with `size`.
  void add(const std::string& gpu, std::string alike, double size, const std::string& column, seconds time,
           std::size_t row) {
    points_[gpu].push_back({std::move(alike), column, size, time.value, row});
  }

  /// A note on each GPU, naming the worst place by the columns that are sizes; none where no time falls.
  /// Complexity O(n log n)
  void report(const csv_table& table, std::initializer_list<const char*> sizes, std::vector<profile_note>& notes) {
    for (auto& [gpu, points] : points_) {
      std::sort(points.begin(), points.end());
      const fall worst = worst_of(points);
      if (worst.rows == 0) continue;
      std::string place;
      for (const char* column : sizes)
        place +=
            std::string(column) + " " + slimpack::detail::shown(table.text(worst.lower->row, column).value()) + ", ";
      const long percent = std::lround(100 * (1 - worst.lower->time / worst.above->time));
      notes.push_back({gpu, table.where(worst.lower->row) + ": column " + worst.lower->column + ": " + place +
                                std::to_string(percent) + " % faster than the smaller size in line " +
                                std::to_string(table.line(worst.above->row)) +
                                "; such rows in all: " + std::to_string(worst.rows)});
    }
  }

 private:
  struct point {
    std::string alike;
    std::string column;
    double size;
    double time;
    std::size_t row;
    friend auto operator<=>(const point&, const point&) = default;
    [[nodiscard]] bool like(const point& other) const { return alike == other.alike && column == other.column; }
  };

  struct fall {
    const point* lower{};
    const point* above{};
    std::size_t rows{};
  };

  /// Of sorted points: each against the slowest of all smaller sizes that are alike.
  [[nodiscard]] static fall worst_of(const std::vector<point>& points) {
    fall worst;
    std::set<std::size_t> rows;
    const point* slowest = nullptr;
    for (std::size_t i = 0, next = 0; i < points.size(); ++i) {
      const point& here = points[i];
      if (i == 0 || !here.like(points[i - 1])) {
        slowest = nullptr;
        next = i;
      }
      for (; points[next].size < here.size; ++next)
        if (!slowest || points[next].time > slowest->time) slowest = &points[next];
      if (!slowest || here.time >= slowest->time) continue;
      rows.insert(here.row);
      if (!worst.lower || here.time / slowest->time < worst.lower->time / worst.above->time)
        worst = {&here, slowest, 0};
    }
    worst.rows = rows.size();
    return worst;
  }

  std::map<std::string, std::vector<point>> points_;  ///< of each GPU
};

}  // namespace slimpack::io::detail

#endif
