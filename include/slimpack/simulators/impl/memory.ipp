#ifndef SLIMPACK_SIMULATORS_IMPL_MEMORY_IPP
#define SLIMPACK_SIMULATORS_IMPL_MEMORY_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/memory.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace slimpack::simulators {

SLIMPACK_DECL std::vector<double> peak_memory(const workload& work, std::span<const program> programs) {
  std::vector<double> peak;
  for (std::size_t r = 0; r < programs.size(); ++r) {
    peak.push_back(work.rates[r].fixed);
    follow_memory(work, programs[r], static_cast<int>(r),
                  [&](const instruction&, double held) { peak.back() = std::max(peak.back(), held); });
  }
  return peak;
}

}  // namespace slimpack::simulators

#endif
