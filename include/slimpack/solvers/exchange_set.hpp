#ifndef SLIMPACK_SOLVERS_EXCHANGE_SET_HPP
#define SLIMPACK_SOLVERS_EXCHANGE_SET_HPP

#include <slimpack/core/merge.hpp>

#include <cstddef>
#include <iosfwd>

namespace slimpack {

/// Exchanges: those that a plan may use, or by which a stage compute can share rows.
struct exchange_set {
  bool keep{true};
  bool queries{false};
  bool ring{false};

  [[nodiscard]] static constexpr exchange_set all() noexcept { return {true, true, true}; }
  [[nodiscard]] static constexpr exchange_set none() noexcept { return {false, false, false}; }
  [[nodiscard]] static constexpr exchange_set only(exchange e) noexcept {
    return {e == exchange::keep, e == exchange::queries, e == exchange::ring};
  }
  [[nodiscard]] constexpr bool contains(exchange e) const noexcept {
    return e == exchange::keep ? keep : e == exchange::queries ? queries : ring;
  }
  /// Those that keep nothing of the others.
  [[nodiscard]] constexpr exchange_set without_keeping() const noexcept { return {false, queries, ring}; }
  [[nodiscard]] constexpr bool empty() const noexcept { return !keep && !queries && !ring; }

  /// The one that sends the fewest bytes for a sequence of so many rows in the pass that has more. A ring among those
  /// is for one row; with no other, more rows have none, which the solver refuses.
  [[nodiscard]] constexpr exchange best(std::size_t rows) const noexcept {
    if (keep) return exchange::keep;
    return ring && (rows <= 1 || !queries) ? exchange::ring : exchange::queries;
  }

  friend constexpr bool operator==(const exchange_set&, const exchange_set&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const exchange_set& s) {
    return out << "{.keep = " << s.keep << ", .queries = " << s.queries << ", .ring = " << s.ring << '}';
  }
};

}  // namespace slimpack

#endif
