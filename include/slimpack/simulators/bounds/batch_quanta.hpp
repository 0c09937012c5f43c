#ifndef SLIMPACK_SIMULATORS_BOUNDS_BATCH_QUANTA_HPP
#define SLIMPACK_SIMULATORS_BOUNDS_BATCH_QUANTA_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>

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

}  // namespace slimpack::simulators

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/simulators/bounds/impl/batch_quanta.ipp>
#endif

#endif
