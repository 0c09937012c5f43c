#ifndef SLIMPACK_TESTS_SUPPORT_DRAWN_BATCH_HPP
#define SLIMPACK_TESTS_SUPPORT_DRAWN_BATCH_HPP

#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/testing/generator.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

/// Batches and shapes that are small enough to try every plan.
namespace slimpack::tests {

/// So many quanta of 10 tokens, or a little less of the last of each sequence; in sequences of one or two where they
/// share beginnings.
[[nodiscard]] inline forest drawn_batch(testing::generator& random, std::int64_t quanta, bool forked) {
  forest made;
  std::vector<sequence_id> path;
  while (quanta > 0) {
    const std::int64_t own = random.between(1, forked ? std::min<std::int64_t>(quanta, 2) : quanta);
    for (std::int64_t up = random.between(-2, static_cast<std::int64_t>(path.size())); up > 0; --up) path.pop_back();
    if (forked) made.parents.push_back(path.empty() ? no_parent : path.back());
    path.push_back({static_cast<std::uint32_t>(made.lengths.size())});
    made.lengths.push_back({10 * own - (random.once_in(2) ? random.between(0, 9) : 0)});
    quanta -= own;
  }
  return made;
}

/// Up to three stages, two replicas and two chunks, of no more than four parts; quanta of 10 tokens.
[[nodiscard]] inline shape drawn_shape(testing::generator& random, bool forked) {
  shape on{.stages = static_cast<int>(random.between(1, 3)),
           .replicas = !forked && random.once_in(3) ? 2 : 1,
           .chunks = random.once_in(4) ? 2 : 1,
           .quantum = {10}};
  if (on.parts() > 4) on.stages = 2;
  return on;
}

}  // namespace slimpack::tests

#endif
