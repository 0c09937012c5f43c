#ifndef SLIMPACK_TESTS_SIMGRID_RANDOM_PROGRAMS_HPP
#define SLIMPACK_TESTS_SIMGRID_RANDOM_PROGRAMS_HPP

#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/testing/generator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::tests {

/// Programs that no schedule would write: again and again, any instruction of any stage whose input is there, with the
/// calls of a vocabulary that is spread over the stages. That one order of all instructions exists means that no stage
/// waits for ever.
[[nodiscard]] inline std::vector<program> random_programs(const workload& work, testing::generator& random) {
  const auto stages = static_cast<std::size_t>(work.shape.stages);
  const auto parts = static_cast<std::size_t>(work.shape.parts());
  struct progress {
    std::size_t forward{};
    std::size_t backward{};
    std::size_t weights{};  // the pack whose weight gradients are next
  };
  std::vector<progress> done(parts, {0, 0, work.times.apart.next(0)});
  const bool spread = work.shape.vocabulary == vocabulary::spread;
  struct calls {
    std::size_t embed{};
    std::size_t output{};
    std::size_t weights{};  // of the output layer
    std::size_t gradients{};
  };
  std::vector<calls> ends(stages);
  std::vector<program> programs(stages);
  struct choice {
    std::size_t part;  // of a call, the stage
    instruction what;
  };
  for (std::vector<choice> ready;; ready.clear()) {
    for (std::size_t stage = 0; spread && stage < stages; ++stage) {
      const calls& own = ends[stage];
      const bool last = stage == stages - 1;
      const auto add = [&](instruction_kind kind, std::size_t pack) {
        ready.push_back({stage, {kind, {static_cast<std::uint32_t>(pack)}}});
      };
      const bool shares_known =
          std::all_of(ends.begin(), ends.end() - 1, [&](const calls& c) { return c.output > own.output; });
      if (own.embed < work.times.packs(pass::forward) && (stage == 0 || ends[stage - 1].embed > own.embed))
        add(instruction_kind::embed, own.embed);
      if (done[parts - 1].forward > own.output && (!last || shares_known)) add(instruction_kind::output, own.output);
      if (own.output > own.weights && ends[stages - 1].output > own.weights)
        add(instruction_kind::output_weights, own.weights);
      if ((last ? done[0].backward : ends[stage + 1].gradients) > own.gradients)
        add(instruction_kind::embed_gradients, own.gradients);
    }
    for (std::size_t part = 0; part < parts; ++part) {
      const progress& own = done[part];
      const bool last = part == parts - 1;
      const auto add = [&](instruction_kind kind, std::size_t pack) {
        ready.push_back({part, {kind, {static_cast<std::uint32_t>(pack)}, static_cast<std::uint32_t>(part / stages)}});
      };
      const std::size_t embedded = spread ? ends[stages - 1].embed : work.times.packs(pass::forward);
      if (own.forward < work.times.packs(pass::forward) &&
          (part == 0 ? embedded : done[part - 1].forward) > own.forward)
        add(instruction_kind::forward, own.forward);
      if (own.backward < work.times.packs(pass::backward) &&
          (last ? (spread ? ends[stages - 1].output : own.forward) > work.turn[own.backward]
                : done[part + 1].backward > own.backward))
        add(instruction_kind::backward, own.backward);
      if (own.weights < own.backward && work.times.apart.splits(own.weights))
        add(instruction_kind::weights, own.weights);
    }
    if (ready.empty()) return programs;
    const choice& next =
        ready[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(ready.size()) - 1))];
    if (!next.what.is_of_part()) {
      calls& own = ends[next.part];
      if (next.what.kind == instruction_kind::output || next.what.kind == instruction_kind::output_weights)
        ++(next.what.kind == instruction_kind::output ? own.output : own.weights);
      else
        ++(next.what.pass() == pass::forward ? own.embed : own.gradients);
      programs[next.part].push_back(next.what);
      continue;
    }
    progress& own = done[next.part];
    if (next.what.is_weights())
      own.weights = work.times.apart.next(own.weights + 1);
    else
      ++(next.what.pass() == pass::forward ? own.forward : own.backward);
    programs[next.part % stages].push_back(next.what);
  }
}

}  // namespace slimpack::tests

#endif
