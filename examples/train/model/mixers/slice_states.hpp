#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_MIXERS_SLICE_STATES_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_MIXERS_SLICE_STATES_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/piece.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace train {

/// States of layers that a slice of a sequence hands to the next, and their gradients, which backward hands back.
///
/// A place is where a piece ends, in tokens of the path: the end of each forward piece, and within it where backward
/// cuts. From its forward on, it has the state behind the token before it. The backward of the piece that begins there
/// reads this, is the last to do so, and writes the state's gradient over it, for the backward of the piece that ends
/// there. So one state for each piece of both passes' cuts is all that is kept. Where samples share beginnings, the
/// piece that ends at a fork has one place for all children: the first of their backwards overwrites the state, others
/// add to it, and make the state again from the place before.
/// Shapes    a state is `size` elements for each layer that has one
/// Units     held() and peak() count the bytes of states; what finds them is not counted
/// Complexity  O(log places), and O(depth) for what lies on a path
template <class T>
class slice_states {
 public:
  using tokens = slimpack::tokens;
  using piece = slimpack::piece;

  /// layers: how many have a state, by chunk
  slice_states(std::vector<std::size_t> layers, std::size_t size) : layers_(std::move(layers)), size_(size) {}

  [[nodiscard]] bool are_on(std::uint32_t chunk) const { return chunk < layers_.size() && layers_[chunk] > 0; }

  /// A step begins, whose backward is called with these pieces.
  void begin_step(std::span<const piece> backward) {
    cuts_.clear();
    if (std::any_of(layers_.begin(), layers_.end(), [](std::size_t count) { return count > 0; }))
      for (const piece& p : backward) cuts_.emplace(p.slice.sequence, p.slice.begin);
  }

  /// Places of a piece in its order, the last at its end.
  [[nodiscard]] std::vector<tokens> places_of(const piece& p) const {
    std::vector<tokens> all;
    for (auto cut = cuts_.upper_bound({p.slice.sequence, p.slice.begin});
         cut != cuts_.end() && cut->first == p.slice.sequence && cut->second < p.slice.end(); ++cut)
      all.push_back(cut->second);
    all.push_back(p.slice.end());
    return all;
  }

  /// Makes room for what a forward piece hands on.
  void append(const piece& p) {
    if (!are_on(p.chunk)) return;
    for (const tokens at : places_of(p)) make({p.chunk, p.slice.sequence, at});
  }

  /// Frees what a backward piece has been handed, after its backward.
  void release(const piece& p) {
    const auto from = held_.upper_bound({p.chunk, p.slice.sequence, p.slice.begin});
    const auto to = held_.upper_bound({p.chunk, p.slice.sequence, p.slice.end()});
    for (auto at = from; at != to; ++at) held_bytes_ -= bytes_of(at->second);
    held_.erase(from, to);
  }
  void discard(slimpack::sequence_id s, std::uint32_t chunk) {
    std::erase_if(held_, [&](const auto& one) {
      const bool is_its = std::get<0>(one.first) == chunk && std::get<1>(one.first) == s;
      if (is_its) held_bytes_ -= bytes_of(one.second);
      return is_its;
    });
  }
  void clear() { held_.clear(), held_bytes_ = 0; }

  /// The room of a layer's state at a place of a forward piece.
  [[nodiscard]] std::span<T> room(const piece& p, tokens at, std::size_t layer) {
    return state_of(held_.at({p.chunk, p.slice.sequence, at}), layer);
  }

  /// The last place of a piece's path, at `until` or before, that has a layer's state; the beginning of the path has
  /// none, it is zero.
  struct found {
    tokens at;
    std::span<const T> state;
  };
  [[nodiscard]] found last_before(const piece& p, tokens until, std::size_t layer) {
    const auto within = [&](slimpack::sequence_id s, tokens begin) -> std::optional<found> {
      auto at = held_.upper_bound({p.chunk, s, until});
      while (at != held_.begin()) {
        --at;
        const auto& [chunk, sequence, where] = at->first;
        if (chunk != p.chunk || sequence != s || where <= begin) break;
        if (!at->second.has_gradient[layer]) return found{where, state_of(at->second, layer)};
      }
      return std::nullopt;
    };
    if (const std::optional<found> own = within(p.slice.sequence, p.sequence_begin)) return *own;
    for (std::size_t above = p.prefix.size(); above-- > 0;)
      if (const std::optional<found> one = within(p.prefix[above].sequence, p.prefix[above].begin)) return *one;
    return {};
  }

  /// The gradient of a layer's state at the end of a backward piece; empty where no token comes after that reads it.
  [[nodiscard]] std::span<const T> gradient_at_end(const piece& p, std::size_t layer) {
    const auto at = held_.find({p.chunk, p.slice.sequence, p.slice.end()});
    if (at == held_.end() || !at->second.has_gradient[layer]) return {};
    return state_of(at->second, layer);
  }

  /// Hands the gradient of the state at the beginning of a backward piece to the piece that ends there.
  void hand_back(const piece& p, std::size_t layer, std::span<const T> gradient) {
    if (p.slice.begin == tokens{}) return;
    kept& to = make({p.chunk, p.is_first() ? p.prefix.back().sequence : p.slice.sequence, p.slice.begin});
    const std::span<T> sum = state_of(to, layer);
    if (std::exchange(to.has_gradient[layer], std::uint8_t{1}) == 0)
      std::ranges::copy(gradient, sum.begin());
    else
      std::transform(sum.begin(), sum.end(), gradient.begin(), sum.begin(), [](T a, T b) { return a + b; });
  }

  [[nodiscard]] std::int64_t held() const noexcept { return held_bytes_; }
  /// The most held since restart_peak(), or ever.
  [[nodiscard]] std::int64_t peak() const noexcept { return peak_; }
  void restart_peak() noexcept { peak_ = held_bytes_; }

 private:
  using place = std::tuple<std::uint32_t, slimpack::sequence_id, tokens>;
  struct kept {
    std::vector<T> states;                   // layer after layer
    std::vector<std::uint8_t> has_gradient;  // of layers: it lies over the state
  };

  kept& make(const place& where) {
    const auto [at, is_new] = held_.try_emplace(where);
    if (is_new) {
      const std::size_t layers = layers_[std::get<0>(where)];
      at->second = {std::vector<T>(layers * size_), std::vector<std::uint8_t>(layers)};
      held_bytes_ += bytes_of(at->second);
      peak_ = std::max(peak_, held_bytes_);
    }
    return at->second;
  }
  [[nodiscard]] std::span<T> state_of(kept& of, std::size_t layer) const {
    return std::span<T>(of.states).subspan(layer * size_, size_);
  }
  [[nodiscard]] static std::int64_t bytes_of(const kept& of) {
    return static_cast<std::int64_t>(of.states.size() * sizeof(T));
  }

  std::vector<std::size_t> layers_;
  std::size_t size_;
  std::set<std::pair<slimpack::sequence_id, tokens>> cuts_;  // of the step's backward
  std::map<place, kept> held_;
  std::int64_t held_bytes_{};
  std::int64_t peak_{};
};

}  // namespace train

#endif
