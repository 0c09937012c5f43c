#ifndef SLIMPACK_IO_DETAIL_MODEL_FURTHER_LAYERS_HPP
#define SLIMPACK_IO_DETAIL_MODEL_FURTHER_LAYERS_HPP

#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/model/model_keys.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace slimpack::io::detail {

/// Keys of layers that predict tokens beyond the next one.
inline constexpr model_keys::names further_tokens_names{"num_nextn_predict_layers", "mtp_num_hidden_layers",
                                                        "num_mtp_layers", "num_mtp_modules", "mtp_num_layers"};

/// How many there are; 0 where no key tells of any.
[[nodiscard]] inline int further_layers_of(const model_keys& keys) {
  const std::optional<json_place> at = keys.telling(further_tokens_names);
  return at ? at->integer<int>(0, 64) : 0;
}

/// Errors    malformed: a list of another length than there are layers. It may have those that predict further tokens,
///           behind the others
inline void need_for_each_layer(const model_keys& keys, const json_place& at, int layers, const std::string& meaning) {
  const std::size_t count = at.size(), all = static_cast<std::size_t>(layers);
  if (count != all && count != all + static_cast<std::size_t>(further_layers_of(keys)))
    at.must_have(all, meaning.c_str());
}

}  // namespace slimpack::io::detail

#endif
