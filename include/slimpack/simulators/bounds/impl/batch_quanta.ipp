#ifndef SLIMPACK_SIMULATORS_BOUNDS_IMPL_BATCH_QUANTA_IPP
#define SLIMPACK_SIMULATORS_BOUNDS_IMPL_BATCH_QUANTA_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/simulators/bounds/batch_quanta.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::simulators {

SLIMPACK_DECL batch_quanta::batch_quanta(std::span<const sequence> batch, tokens quantum) : quantum_(quantum) {
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
