#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_MIXERS_ATTENTION_FORMATS_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_MIXERS_ATTENTION_FORMATS_HPP

#include "../config.hpp"

#include <slimpack/executors/lending/loan_format.hpp>
#include <slimpack/executors/message_format.hpp>
#include <slimpack/executors/sharing.hpp>

#include <cstdint>

namespace train {

/// What stages that lend each other attention send in each of so many layers.
template <class T>
[[nodiscard]] slimpack::loan_format loans_of(const config& c, int layers) {
  const auto of = [](std::int64_t width, bool of_keys) {
    return slimpack::loan_message{{width, slimpack::element_of<T>}, of_keys};
  };
  const slimpack::loan_message kv = of(c.kv_width(), true), row = of(c.hidden, false), sum = of(c.heads, false);
  return {layers, {{kv, kv}, {kv, kv, row, row, sum}}, {{row}, {row}}, {{row, sum}, {row, kv, kv}}};
}

/// What replicas that share a sequence send each other in each of so many layers: keys and values, and their gradients;
/// or what goes round.
template <class T>
[[nodiscard]] slimpack::row_format rows_of(const config& c, int layers) {
  const auto of = [](std::int64_t width) { return slimpack::message_format{width, slimpack::element_of<T>}; };
  const std::int64_t kv = 2 * c.kv_width();
  const std::int64_t h = c.hidden;
  const std::int64_t outputs = h + c.heads;
  return {.layers = layers,
          .keys_values = of(kv),
          .gradients = of(kv),
          .queries = {{of(h), of(outputs)}, {of(2 * h + 2 * c.heads), of(h)}},
          .ring = {{of(kv), {}}, {of(kv), of(kv)}}};
}

}  // namespace train

#endif
