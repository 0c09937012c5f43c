#ifndef SLIMPACK_COSTS_MEMORY_EVALUATION_KEEPS_HPP
#define SLIMPACK_COSTS_MEMORY_EVALUATION_KEEPS_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/mixer.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::costs {

/// What a stage keeps of a sequence while it evaluates, but for what grows with all of its tokens
/// (memory_rates::live_token): keys and values that windows and chunks can still see, and states.
/// Formula   of n tokens a layer with a window or chunks of W tokens keeps the keys and values of min(n, W), and a
///           layer with a state the state. So a piece of the tokens [a, b), counted from the first of its sequence,
///           adds min(b, W) - min(a, W), and the piece at a = 0 the states
/// Source    derived. Of chunks a sequence that has just gone over a border keeps less
/// Units     bytes, on one GPU of the stage            Complexity  O(different W)
struct evaluation_keeps {
  /// Keys and values of all layers that see at most so many tokens.
  struct near_keys {
    std::int64_t reach{};
    double token{};  ///< bytes of a token
    friend bool operator==(const near_keys&, const near_keys&) = default;
  };

  std::vector<near_keys> near{};
  double states{};  ///< of one sequence

  /// Whether the keys and values of a layer are counted here.
  [[nodiscard]] static bool counts(const layer& l) noexcept {
    return l.span.how == mixing::window || l.span.how == mixing::chunks;
  }

  /// Of a stage's layers; keys and values in 2 B an element, over context-parallel ranks.
  [[nodiscard]] static evaluation_keeps of(std::span<const layer> layers, int context) {
    evaluation_keeps made;
    for (const layer& l : layers) {
      made.states += l.state_bytes;
      if (!counts(l)) continue;
      const auto same = std::find_if(made.near.begin(), made.near.end(),
                                     [&](const near_keys& one) { return one.reach == l.span.reach; });
      near_keys& one = same != made.near.end() ? *same : made.near.emplace_back(near_keys{l.span.reach});
      one.token += 2 * l.kv_elements / context;
    }
    return made;
  }

  /// `first`: where the sequence's tokens begin.
  [[nodiscard]] bytes operator()(const slice& piece, tokens first) const noexcept {
    const std::int64_t begin = (piece.begin - first).value, end = (piece.end() - first).value;
    double sum = begin == 0 ? states : 0;
    for (const near_keys& one : near)
      sum += one.token * static_cast<double>(std::min(end, one.reach) - std::min(begin, one.reach));
    return {sum};
  }

  friend bool operator==(const evaluation_keeps&, const evaluation_keeps&) = default;
};

}  // namespace slimpack::costs

#endif
