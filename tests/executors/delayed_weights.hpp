#ifndef SLIMPACK_TESTS_EXECUTORS_DELAYED_WEIGHTS_HPP
#define SLIMPACK_TESTS_EXECUTORS_DELAYED_WEIGHTS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace slimpack::tests {

/// 1F1B with each W a few backwards later than its B: the last ones come when all backwards have run. A share of the
/// packs, the first ones, run whole.
struct delayed_weights {
  static constexpr bool splits_weight_gradients = true;
  std::size_t delay{};
  double whole{};

  result<std::vector<program>> programs(const workload& work) const {
    result<std::vector<program>> made = schedules::one_f_one_b{}.programs(work);
    if (!made) return made;
    const double from = whole * static_cast<double>(work.times.packs(pass::backward));
    for (program& code : made.value()) {
      program with;
      std::vector<instruction> waiting;
      const auto run = [&](std::size_t left) {
        const auto end = waiting.end() - static_cast<std::ptrdiff_t>(std::min(left, waiting.size()));
        with.insert(with.end(), waiting.begin(), end);
        waiting.erase(waiting.begin(), end);
      };
      for (const instruction& i : code) {
        with.push_back(i);
        if (i.pass() == pass::backward && i.pack.value >= from)
          waiting.push_back({instruction_kind::weights, i.pack, i.chunk});
        run(delay);
      }
      run(0);
      code = std::move(with);
    }
    return made;
  }
};

}  // namespace slimpack::tests

#endif
