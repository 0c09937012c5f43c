#ifndef SLIMPACK_TESTS_SUPPORT_KINDS_COST_HPP
#define SLIMPACK_TESTS_SUPPORT_KINDS_COST_HPP

#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/model/mixer.hpp>
#include <slimpack/testing/generator.hpp>

#include "drawn_cost.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace slimpack::tests {

/// A drawn cost, with layers of every kind: windows, chunks and chosen keys, whose indexers look at all keys. Parts are
/// alike or not.
struct kinds_cost : drawn_cost {
  /// Shapes    longest: the most tokens that a layer reaches
  explicit kinds_cost(testing::generator& random, std::int64_t longest = 25) : drawn_cost(random) {
    const bool even = random.once_in(3);
    for (std::size_t part = 0; part < layers.size(); ++part) {
      if (even && part > 0) {
        layers[part] = layers[0];
        continue;
      }
      for (const costs::mixing how : {costs::mixing::window, costs::mixing::chunks, costs::mixing::top_k})
        if (random.once_in(2))
          layers[part].push_back(
              {{how, random.between(1, longest)}, 6 / static_cast<double>(longest) * random.ratio()});
    }
    indexer = 0.1 * random.ratio();
    back = 1 + 2 * random.ratio();
  }
  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    double sum = 0;
    for (const kind_of_layer& l : layers[static_cast<std::size_t>(part)])
      sum += l.pair * (l.kind.pairs(s) + (l.kind.how == costs::mixing::top_k ? indexer * s.pairs() : 0));
    return drawn_cost::time(s, p, part) + seconds{p == pass::forward ? sum : back * sum};
  }
  [[nodiscard]] seconds time(std::span<const slice> pack, pass p, int part) const {
    seconds sum{};
    for (const slice& s : pack) sum += time(s, p, part);
    return overhead(p, part) + std::max(sum, least_of_pack());
  }
  [[nodiscard]] bool has_borders() const {
    return std::any_of(layers.begin(), layers.end(), [](const std::vector<kind_of_layer>& part) {
      return std::any_of(part.begin(), part.end(), [](const kind_of_layer& l) { return l.kind.has_borders(); });
    });
  }

 private:
  struct kind_of_layer {
    costs::attention_span kind;
    double pair;  // seconds
  };
  std::array<std::vector<kind_of_layer>, 4> layers;  // by part
  double indexer, back;
};

/// The same, and each piece but a sequence's first keeps a state, beside the bytes of its tokens and what any piece
/// keeps. Stages differ.
struct state_cost : kinds_cost {
  explicit state_cost(testing::generator& random, std::int64_t longest = 25)
      : kinds_cost(random, longest),
        token(static_cast<double>(random.between(1, 3))),
        state(static_cast<double>(random.between(1, 2 * longest))),
        piece_bytes(static_cast<double>(random.between(0, 10))) {}

  [[nodiscard]] std::optional<memory_rates> memory(int stage) const {
    return memory_rates{.fixed = 5.0 * stage, .live_token = token + stage};
  }
  [[nodiscard]] bytes kept(const slice& piece, int stage) const {
    return {(piece.begin > tokens{} ? state : 0) * (1 + stage) + piece_bytes};
  }

 private:
  double token, state, piece_bytes;
};

}  // namespace slimpack::tests

#endif
