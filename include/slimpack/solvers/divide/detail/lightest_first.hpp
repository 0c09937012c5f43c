#ifndef SLIMPACK_SOLVERS_DIVIDE_DETAIL_LIGHTEST_FIRST_HPP
#define SLIMPACK_SOLVERS_DIVIDE_DETAIL_LIGHTEST_FIRST_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Bins by load, the first of equal ones before the others. A heap over a vector: std::priority_queue would bring
/// <deque> into every program that includes the planner, as std::greater would <functional>.
class lightest_first {
 public:
  using bin = std::pair<double, std::uint32_t>;  // load, number

  explicit lightest_first(std::span<const double> loads) {
    for (std::uint32_t b = 0; b < loads.size(); ++b) heap_.emplace_back(loads[b], b);
    std::make_heap(heap_.begin(), heap_.end(), heavier);
  }
  [[nodiscard]] const bin& top() const noexcept { return heap_.front(); }
  /// Gives the first another load.
  void reload(double load) {
    std::pop_heap(heap_.begin(), heap_.end(), heavier);
    heap_.back().first = load;
    std::push_heap(heap_.begin(), heap_.end(), heavier);
  }

 private:
  static constexpr bool heavier(const bin& a, const bin& b) noexcept { return a > b; }

  std::vector<bin> heap_;
};

}  // namespace slimpack::detail

#endif
