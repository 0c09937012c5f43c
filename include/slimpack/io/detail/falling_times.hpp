#ifndef SLIMPACK_IO_DETAIL_FALLING_TIMES_HPP
#define SLIMPACK_IO_DETAIL_FALLING_TIMES_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/io/csv.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::io::detail {

/// Finds measurements that are faster than one of a smaller size, all else equal: noise, or a slip of the pen.
class falling_times {
 public:
  /// A time in a column. `alike` is what it has in common with those that it is compared with; it grows with `size`.
  void add(std::string alike, double size, const std::string& column, seconds time, std::size_t row) {
    points_.push_back({std::move(alike), column, size, time.value, row});
  }

  /// One line on a file, naming the worst place by the columns that are sizes; nothing when no time falls.
  /// Complexity O(n log n)
  [[nodiscard]] std::optional<std::string> note(const csv_table& table, std::initializer_list<const char*> sizes) {
    std::sort(points_.begin(), points_.end(), [](const point& a, const point& b) {
      return std::tie(a.alike, a.column, a.size, a.row) < std::tie(b.alike, b.column, b.size, b.row);
    });
    std::set<std::size_t> rows;
    const point* lowest = nullptr;
    const point* above = nullptr;
    const point* slowest = nullptr;  // of the smaller sizes
    for (std::size_t i = 0, first = 0; i < points_.size(); ++i) {
      const point& here = points_[i];
      if (i == 0 || points_[i - 1].alike != here.alike || points_[i - 1].column != here.column) {
        slowest = nullptr;
        first = i;
      }
      for (; points_[first].size < here.size; ++first)
        if (!slowest || points_[first].time > slowest->time) slowest = &points_[first];
      if (!slowest || here.time >= slowest->time) continue;
      rows.insert(here.row);
      if (!lowest || here.time / slowest->time < lowest->time / above->time) lowest = &here, above = slowest;
    }
    if (!lowest) return std::nullopt;
    std::string place;
    for (const char* column : sizes)
      place += (place.empty() ? "" : ", ") + std::string(column) + " " + table.text(lowest->row, column).value();
    return table.where(lowest->row) + ": column " + lowest->column + ": " + place + " takes " +
           std::to_string(std::lround(100 * (1 - lowest->time / above->time))) + " % less than the smaller " +
           table.where(above->row) + "; " + std::to_string(rows.size()) + " of " + std::to_string(table.rows()) +
           " rows fall so";
  }

 private:
  struct point {
    std::string alike;
    std::string column;
    double size;
    double time;
    std::size_t row;
  };
  std::vector<point> points_;
};

}  // namespace slimpack::io::detail

#endif
