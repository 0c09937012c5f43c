#ifndef SLIMPACK_IO_MODEL_READING_HPP
#define SLIMPACK_IO_MODEL_READING_HPP

#include <slimpack/costs/model/attention_kinds.hpp>
#include <slimpack/costs/model/model_shape.hpp>

#include <string>
#include <vector>

namespace slimpack::io {

/// What a config.json says of a model (read_model_config).
struct model_reading {
  costs::model_shape shape{};
  costs::attention_kinds attention{};
  std::string unpriced{};            ///< the key, its value and its meaning, where cost models count a layer as full attention
                                     ///< that is not; empty where they price all
  std::vector<std::string> notes{};  ///< what was left out or taken for granted, a sentence each
};

}  // namespace slimpack::io

#endif
