#ifndef SLIMPACK_SIMULATORS_BOUNDS_BATCH_QUANTA_HPP
#define SLIMPACK_SIMULATORS_BOUNDS_BATCH_QUANTA_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::simulators {

/// Quanta of neighbouring positions, over all sequences of a batch that reach there.
struct quantum_group {
  slice first;     ///< the cheapest of them, and
  slice last;      ///< the dearest, where time does not fall when a prefix grows (law 3)
  double count{};  ///< how many there are
};

/// The quanta of a batch: its sequences cut at every multiple of the quantum. Every slice of every plan is made of
/// quanta, and its least time is the sum of theirs (hook `least`), so what holds for quanta holds for slices.
/// Beyond `most` positions, neighbours are told apart no more. Quanta below a parent whose path ends between two
/// multiples count as if they began at the lower one, and the dearest at the higher one.
/// Borders   Where time may fall when a prefix grows (hook has_borders), no position tells of another: bounds ask about all
///           of a group. Of quanta between two multiples they know that each takes no less than one without a prefix, and
///           no more than the two quanta from the multiple before it on, which hold it: least times add up
/// Errors    none            Complexity  O(sequences + groups)
class batch_quanta {
 public:
  static constexpr std::int64_t most = 512;

  batch_quanta(std::span<const sequence> batch, tokens quantum);

  [[nodiscard]] tokens quantum() const noexcept { return quantum_; }
  [[nodiscard]] std::int64_t group_size() const noexcept { return size_; }  ///< quanta
  [[nodiscard]] std::span<const quantum_group> groups() const noexcept { return groups_; }
  [[nodiscard]] std::span<const slice> rests() const noexcept { return rests_; }  ///< shorter than a quantum
  /// Whether some begin between two multiples of the quantum.
  [[nodiscard]] bool has_between() const noexcept { return between_; }

  /// Calls visit(slice) for slices of which the cheapest takes no more than any quantum of the group.
  template <class Visit>
  void each_cheap(const quantum_group& g, bool has_borders, Visit&& visit) const {
    if (!has_borders) return visit(g.first);
    if (between_) return visit(slice{{}, {0}, quantum_});
    for (tokens at = g.first.begin; at <= g.last.begin; at += quantum_) visit(slice{{}, at, quantum_});
  }
  /// Calls visit(slice) for slices of which the dearest takes no less than any quantum of the group.
  template <class Visit>
  void each_dear(const quantum_group& g, bool has_borders, Visit&& visit) const {
    if (!has_borders) return visit(g.last);
    const tokens length = quantum_ * (between_ ? 2 : 1);
    for (tokens at = g.first.begin; at + length <= g.last.end(); at += quantum_) visit(slice{{}, at, length});
  }

  /// Of a sequence: its quanta begin with this position, and end before that one.
  [[nodiscard]] std::int64_t first_quantum(const sequence& s) const noexcept { return s.begin.value / quantum_.value; }
  [[nodiscard]] std::int64_t end_quantum(const sequence& s) const noexcept {
    return first_quantum(s) + s.length.value / quantum_.value;
  }
  /// Its tokens behind them, perhaps none.
  [[nodiscard]] slice rest_of(const sequence& s) const noexcept {
    const tokens rest{s.length.value % quantum_.value};
    return {s.id, s.end() - rest, rest};
  }

 private:
  tokens quantum_;
  std::int64_t size_{1};
  bool between_{};
  std::vector<quantum_group> groups_;
  std::vector<slice> rests_;
};

inline batch_quanta::batch_quanta(std::span<const sequence> batch, tokens quantum) : quantum_(quantum) {
  std::int64_t quanta = 0;
  for (const sequence& s : batch) {
    quanta = std::max(quanta, end_quantum(s));
    between_ = between_ || s.begin.value % quantum.value != 0;
  }
  size_ = std::max<std::int64_t>(1, (quanta + most - 1) / most);
  const std::int64_t groups = (quanta + size_ - 1) / size_;
  std::vector<double> filled(static_cast<std::size_t>(groups) + 1);  // by group: sequences that fill from it on, less
                                                                     // those that fill no more
  std::vector<double> some(static_cast<std::size_t>(groups) + 1);    // quanta of those that fill it in part
  for (const sequence& s : batch) {
    const std::int64_t begin = first_quantum(s), end = end_quantum(s);
    const std::int64_t first = (begin + size_ - 1) / size_, last = end / size_;  // filled are [first, last)
    if (first <= last) {
      filled[static_cast<std::size_t>(first)] += 1, filled[static_cast<std::size_t>(last)] -= 1;
      some[static_cast<std::size_t>(begin / size_)] += static_cast<double>(first * size_ - begin);
      some[static_cast<std::size_t>(last)] += static_cast<double>(end - last * size_);
    } else {
      some[static_cast<std::size_t>(last)] += static_cast<double>(end - begin);
    }
    if (s.length.value % quantum.value != 0) rests_.push_back(rest_of(s));
  }
  double full = 0;
  groups_.resize(static_cast<std::size_t>(groups));
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    full += filled[g];
    const auto begin = static_cast<std::int64_t>(g) * size_;
    const std::int64_t last = std::min(begin + size_, quanta) - 1 + (between_ ? 1 : 0);
    groups_[g] = {
        {{}, quantum * begin, quantum}, {{}, quantum * last, quantum}, full * static_cast<double>(size_) + some[g]};
  }
}

}  // namespace slimpack::simulators

#endif
