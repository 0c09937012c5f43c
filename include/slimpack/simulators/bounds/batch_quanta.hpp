#ifndef SLIMPACK_SIMULATORS_BOUNDS_BATCH_QUANTA_HPP
#define SLIMPACK_SIMULATORS_BOUNDS_BATCH_QUANTA_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>

#include <algorithm>
#include <array>
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

/// Indices of what bounds keep for forward and for backward.
inline constexpr std::array<std::size_t, 2> pass_numbers{0, 1};

/// What a slice takes at least on each part, in seconds.
struct quantum_times {
  std::vector<double> forward;
  std::vector<double> backward;  ///< weight gradients included
  std::vector<double> inputs;    ///< backward without them

  template <class Cost>
  void assign(const Cost& cost, const slice& s, int parts) {
    for (std::vector<double>* const each : {&forward, &backward, &inputs})
      each->resize(static_cast<std::size_t>(parts));
    for (int part = 0; part < parts; ++part) {
      const auto at = static_cast<std::size_t>(part);
      forward[at] = least_time(cost, s, pass::forward, part).value;
      backward[at] = least_time(cost, s, pass::backward, part).value;
      inputs[at] = std::max(0.0, backward[at] - least_weight_time(cost, s, part).value);
    }
  }
};

/// Calls visit(times of the cheapest, times of the dearest, count, tokens of one) for all quanta.
template <class Cost, class Visit>
void each_quantum(const batch_quanta& all, const Cost& cost, int parts, Visit&& visit) {
  quantum_times first;
  quantum_times last;
  for (const quantum_group& g : all.groups()) {
    first.assign(cost, g.first, parts);
    const bool alike = g.first == g.last;
    if (!alike) last.assign(cost, g.last, parts);
    visit(first, alike ? first : last, g.count, static_cast<double>(all.quantum().value));
  }
  for (const slice& rest : all.rests()) {
    first.assign(cost, rest, parts);
    visit(first, first, 1.0, static_cast<double>(rest.length.value));
  }
}

}  // namespace slimpack::simulators

#endif
