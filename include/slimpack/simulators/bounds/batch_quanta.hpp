#ifndef SLIMPACK_SIMULATORS_BOUNDS_BATCH_QUANTA_HPP
#define SLIMPACK_SIMULATORS_BOUNDS_BATCH_QUANTA_HPP

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
  slice last;      ///< the dearest: time does not fall when a prefix grows
  double count{};  ///< how many there are
};

/// The quanta of a batch: its sequences cut at every multiple of the quantum. Every slice of every plan is made of
/// quanta, and its least time is the sum of theirs (hook `least`), so what holds for quanta holds for slices.
/// Beyond `most` positions, neighbours are told apart no more.
/// Errors    none            Complexity  O(sequences + groups)
class batch_quanta {
 public:
  static constexpr std::int64_t most = 512;

  batch_quanta(std::span<const sequence> batch, tokens quantum);

  [[nodiscard]] tokens quantum() const noexcept { return quantum_; }
  [[nodiscard]] std::int64_t group_size() const noexcept { return size_; }  ///< quanta
  [[nodiscard]] std::span<const quantum_group> groups() const noexcept { return groups_; }
  [[nodiscard]] std::span<const slice> rests() const noexcept { return rests_; }  ///< shorter than a quantum

  /// A sequence is so many whole groups, so many quanta of the group after them, and a rest, perhaps of no tokens.
  [[nodiscard]] std::size_t whole_groups(const sequence& s) const noexcept {
    return static_cast<std::size_t>(quanta_of(s) / size_);
  }
  [[nodiscard]] std::int64_t more_quanta(const sequence& s) const noexcept { return quanta_of(s) % size_; }
  [[nodiscard]] slice rest_of(const sequence& s) const noexcept {
    const tokens whole = quantum_ * quanta_of(s);
    return {s.id, whole, s.length - whole};
  }

 private:
  [[nodiscard]] std::int64_t quanta_of(const sequence& s) const noexcept { return s.length.value / quantum_.value; }

  tokens quantum_;
  std::int64_t size_{1};
  std::vector<quantum_group> groups_;
  std::vector<slice> rests_;
};

inline batch_quanta::batch_quanta(std::span<const sequence> batch, tokens quantum) : quantum_(quantum) {
  std::int64_t quanta = 0;
  for (const sequence& s : batch) quanta = std::max(quanta, quanta_of(s));
  size_ = std::max<std::int64_t>(1, (quanta + most - 1) / most);
  const std::int64_t groups = (quanta + size_ - 1) / size_;
  std::vector<double> ends(static_cast<std::size_t>(groups) + 1);  // sequences that fill so many groups
  std::vector<double> some(static_cast<std::size_t>(groups) + 1);  // quanta in the group after those
  for (const sequence& s : batch) {
    ends[whole_groups(s)] += 1;
    some[whole_groups(s)] += static_cast<double>(more_quanta(s));
    if (s.length.value % quantum.value != 0) rests_.push_back(rest_of(s));
  }
  double longer = 0;  // sequences that fill the group
  groups_.resize(static_cast<std::size_t>(groups));
  for (std::size_t g = groups_.size(); g-- > 0;) {
    longer += ends[g + 1];
    const auto begin = static_cast<std::int64_t>(g) * size_;
    const std::int64_t last = std::min(begin + size_, quanta) - 1;
    groups_[g] = {
        {{}, quantum * begin, quantum}, {{}, quantum * last, quantum}, longer * static_cast<double>(size_) + some[g]};
  }
}

}  // namespace slimpack::simulators

#endif
