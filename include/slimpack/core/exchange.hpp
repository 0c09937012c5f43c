#ifndef SLIMPACK_CORE_EXCHANGE_HPP
#define SLIMPACK_CORE_EXCHANGE_HPP

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>

namespace slimpack {

/// How replicas that share a sequence get what their tokens attend to on the others, in every layer of every row.
///
///   keep     each sends the keys and values of its tokens once, and keeps those of the others until it has run these
///            tokens backward; then it sends back their gradients. The fewest bytes, and the most memory
///   queries  queries go to where the keys are; outputs come back and are merged. Nobody keeps anything of the others
///   ring     keys and values go round the sharers and are dropped; backward again, with their gradients. Nobody keeps
///            anything of the others. For a sequence of one row in either pass: others would send all that lies before
///            a row with every row
///
/// Source    keep: derived, as all-gathered context parallelism whose gathered part stays; queries: Yang et al.
///           (arXiv:2411.01783); ring: ring attention (arXiv:2310.01889)
enum class exchange : std::uint8_t { keep, queries, ring };

[[nodiscard]] constexpr std::string_view name_of(exchange e) noexcept {
  return e == exchange::keep ? "keep" : e == exchange::queries ? "queries" : "ring";
}

/// The exchanges that a plan may use.
struct exchange_set {
  bool keep{true};
  bool queries{false};
  bool ring{false};

  [[nodiscard]] static constexpr exchange_set all() noexcept { return {true, true, true}; }
  [[nodiscard]] static constexpr exchange_set only(exchange e) noexcept {
    return {e == exchange::keep, e == exchange::queries, e == exchange::ring};
  }
  [[nodiscard]] constexpr bool contains(exchange e) const noexcept {
    return e == exchange::keep ? keep : e == exchange::queries ? queries : ring;
  }
  /// Those that keep nothing of the others.
  [[nodiscard]] constexpr exchange_set without_keeping() const noexcept { return {false, queries, ring}; }
  [[nodiscard]] constexpr bool empty() const noexcept { return !keep && !queries && !ring; }

  /// The one that sends the fewest bytes for a sequence of so many rows in the pass that has more. A ring among those is
  /// for one row; with no other, more rows have none, which the solver refuses.
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
