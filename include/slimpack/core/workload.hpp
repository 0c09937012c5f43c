#ifndef SLIMPACK_CORE_WORKLOAD_HPP
#define SLIMPACK_CORE_WORKLOAD_HPP

#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack {

/// What the packs of one pass cost, in run order.
/// Shapes    time, message: [pack * parts + part]; before: packs + 1
struct pass_timing {
  std::vector<seconds> time;          ///< on each part, per-pack overhead included
  std::vector<seconds> message;       ///< from its end on a part to its arrival at the part it flows to
  std::vector<std::int64_t> before;   ///< tokens of the packs run earlier: before[i] sums packs 0..i-1

  [[nodiscard]] std::size_t size() const noexcept { return before.empty() ? 0 : before.size() - 1; }
  friend bool operator==(const pass_timing&, const pass_timing&) = default;
};

/// One replica's packs, priced: all that schedules and the simulator read. They never see the cost model.
struct workload {
  slimpack::shape shape;
  pass_timing forward;
  pass_timing backward;
  std::vector<std::uint32_t> turn;  ///< phi(i): last forward pack that backward packs 0..i need (design rule 5)
  std::vector<std::int64_t> gradient_running;  ///< dK, dV accumulator tokens while backward pack i runs
  std::vector<std::int64_t> gradient_before;   ///< the same between packs i-1 and i; packs + 1
  std::vector<memory_rates> rates;             ///< per stage

  [[nodiscard]] const pass_timing& of(pass p) const noexcept { return p == pass::forward ? forward : backward; }
};

}  // namespace slimpack

#endif
