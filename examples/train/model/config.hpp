#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_CONFIG_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_CONFIG_HPP

#include "mixers/mixer_choice.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/costs/memory/saved_tensors.hpp>

#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace train {

/// The size of a decoder-only transformer: RMSNorm, rotary embedding, grouped-query attention, SwiGLU, untied head.
struct config {
  int layers{4};
  int hidden{128};  ///< width of what flows between layers
  int heads{4};     ///< of queries
  int kv_heads{2};  ///< of keys and values, each shared by heads / kv_heads query heads
  int ffn{384};     ///< width inside the feed-forward layer
  int vocab{256};   ///< words; tokens are bytes, so that those beyond 256 never occur
  double rope_theta{10000};
  double eps{1e-5};  ///< of RMSNorm
  /// What backward computes again: light, norm outputs and gated products; or none, and these are kept. The bits of a
  /// step are the same.
  slimpack::costs::recompute recompute{slimpack::costs::recompute::light};
  /// How many layers each part of the pipeline has, the first and the last perhaps none; empty: as many as any other,
  /// or one less.
  std::vector<int> on_parts{};
  /// What mixes tokens in the layers, from the first on, again and again; empty: full attention in all of them.
  std::vector<mixer_choice> mixers{};
  bool dense{};  ///< attention computes the masked half of a slice's scores, too, in one matrix

  [[nodiscard]] int head_width() const noexcept { return hidden / heads; }
  [[nodiscard]] int kv_width() const noexcept { return kv_heads * head_width(); }
  [[nodiscard]] int queries_per_kv() const noexcept { return heads / kv_heads; }
  [[nodiscard]] mixer_choice mixer_of(int layer) const {
    return mixers.empty() ? mixer_choice{} : mixers[static_cast<std::size_t>(layer) % mixers.size()];
  }
  [[nodiscard]] bool keeps_outputs() const noexcept { return recompute == slimpack::costs::recompute::none; }

  /// Errors    invalid_input: sizes that do not divide; a recomputation that layers lack
  [[nodiscard]] slimpack::result<void> check() const {
    const auto wrong = [](std::string why) { return slimpack::error{slimpack::errc::invalid_input, std::move(why)}; };
    if (!keeps_outputs() && recompute != slimpack::costs::recompute::light)
      return wrong(std::string("the model has no recomputation ") + name_of(recompute) + ", only none and light");
    for (const int size : {layers, hidden, heads, kv_heads, ffn, vocab})
      if (size < 1) return wrong("every size of the model must be at least 1");
    for (std::size_t part = 0; part < on_parts.size(); ++part)
      if (on_parts[part] < (part == 0 || part + 1 == on_parts.size() ? 0 : 1))
        return wrong(
            "part " + std::to_string(part) + " of " + std::to_string(on_parts.size()) +
            " has no layer; only the first and the last, which have the embedding and the head, may have none");
    if (!on_parts.empty() && std::accumulate(on_parts.begin(), on_parts.end(), 0) != layers)
      return wrong("the layers of the parts do not add up to " + std::to_string(layers));
    if (hidden % heads != 0 || head_width() % 2 != 0)
      return wrong("hidden / heads must be an even number, " + std::to_string(hidden) + " / " + std::to_string(heads) +
                   " is not");
    if (heads % kv_heads != 0)
      return wrong(std::to_string(heads) + " query heads are no multiple of " + std::to_string(kv_heads) +
                   " key and value heads");
    for (const mixer_choice& m : mixers)
      if (m.kind == mixer_kind::window && m.window < 1)
        return wrong("a window has at least 1 token, the query's own, not " + std::to_string(m.window));
    if (vocab > 1 << 20) return wrong("a vocabulary has at most 1048576 words");
    return slimpack::success();
  }
};

}  // namespace train

#endif
