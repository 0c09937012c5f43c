#ifndef SLIMPACK_TESTS_SIMGRID_RANDOM_PROGRAMS_HPP
#define SLIMPACK_TESTS_SIMGRID_RANDOM_PROGRAMS_HPP

#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/testing/generator.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::tests {

/// Programs that no schedule would write: again and again, any instruction of any stage whose input is there. That one
/// order of all instructions exists means that no stage waits for ever.
[[nodiscard]] inline std::vector<program> random_programs(const workload& work, testing::generator& random) {
  const auto stages = static_cast<std::size_t>(work.shape.stages);
  const auto parts = static_cast<std::size_t>(work.shape.parts());
  struct progress {
    std::size_t forward{};
    std::size_t backward{};
    std::size_t weights{};  // the pack whose weight gradients are next
  };
  std::vector<progress> done(parts, {0, 0, work.weight.next(0)});
  std::vector<program> programs(stages);
  struct choice {
    std::size_t part;
    instruction what;
  };
  for (std::vector<choice> ready;; ready.clear()) {
    for (std::size_t part = 0; part < parts; ++part) {
      const progress& own = done[part];
      const bool last = part == parts - 1;
      const auto add = [&](pass p, std::size_t pack, bool weights_only) {
        ready.push_back(
            {part, {p, {static_cast<std::uint32_t>(pack)}, static_cast<std::uint32_t>(part / stages), weights_only}});
      };
      if (own.forward < work.forward.size() && (part == 0 || done[part - 1].forward > own.forward))
        add(pass::forward, own.forward, false);
      if (own.backward < work.backward.size() &&
          (last ? own.forward > work.turn[own.backward] : done[part + 1].backward > own.backward))
        add(pass::backward, own.backward, false);
      if (own.weights < own.backward && work.weight.splits(own.weights)) add(pass::backward, own.weights, true);
    }
    if (ready.empty()) return programs;
    const choice& next =
        ready[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(ready.size()) - 1))];
    progress& own = done[next.part];
    if (next.what.weights_only)
      own.weights = work.weight.next(own.weights + 1);
    else
      ++(next.what.pass == pass::forward ? own.forward : own.backward);
    programs[next.part % stages].push_back(next.what);
  }
}

}  // namespace slimpack::tests

#endif
