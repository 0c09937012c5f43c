#ifndef SLIMPACK_IO_DETAIL_MODEL_TEXT_CONFIG_HPP
#define SLIMPACK_IO_DETAIL_MODEL_TEXT_CONFIG_HPP

#include <slimpack/io/detail/json_in.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slimpack::io::detail {

/// JSON as Python's json module writes it may have Infinity, -Infinity and NaN for numbers. Puts in their place what
/// JSON has, outside of strings and of the same length, so that places in error messages stay right: the largest
/// numbers, and a text for NaN. None of them is a dimension.
[[nodiscard]] inline std::string without_python_numbers(std::string text) {
  constexpr std::string_view infinity = "Infinity", large = "1.0e+308", nan = "NaN", no_number = "\"?\"";
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      quoted = !quoted;
    else if (!quoted && text.compare(i, infinity.size(), infinity) == 0)
      text.replace(i, large.size(), large);
    else if (!quoted && text.compare(i, nan.size(), nan) == 0)
      text.replace(i, no_number.size(), no_number), i += no_number.size() - 1;
  }
  return text;
}

/// Where a config.json has the language model of what it describes, and what else it describes.
class text_config {
 public:
  explicit text_config(const json_place& root) {
    places_.push_back(root);
    for (int level = 0; level < 3; ++level) {
      const std::optional<json_place> inner = within(places_.back());
      if (!inner) break;
      places_.push_back(*inner);
    }
    find_others();
  }
  text_config(const text_config&) = delete;  // places refer to those before them
  text_config& operator=(const text_config&) = delete;

  [[nodiscard]] const json_place& root() const noexcept { return places_.front(); }
  [[nodiscard]] const json_place& place() const noexcept { return places_.back(); }
  [[nodiscard]] const std::string& way() const noexcept { return way_; }  ///< with a dot behind; empty at the root

  /// "vision_config, audio_config": those of other parts of the model, as towers for images. Empty where there are
  /// none.
  [[nodiscard]] const std::string& others() const noexcept { return others_; }

 private:
  static constexpr std::array names{"text_config", "llm_config", "language_config", "thinker_config",
                                    "language_model_config"};
  /// Of these no layers are made, or the reader looks into them itself.
  static constexpr std::array<std::string_view, 8> no_parts{
      "quantization_config", "compression_config",      "attn_config",       "ffn_config",
      "linear_attn_config",  "sparse_attention_config", "generation_config", "rope_config"};

  std::optional<json_place> within(const json_place& outer) {
    for (const char* const name : names)
      if (const std::optional<json_place> inner = outer.find({name}); inner && inner->is_object()) {
        way_ += std::string(name) + ".";
        chosen_.push_back(name);
        return inner;
      }
    return std::nullopt;
  }
  void find_others() {
    constexpr std::string_view suffix = "_config";
    for (const json_place& place : places_)
      for (const auto& member : place.raw().items()) {
        const std::string& name = member.key();
        const auto is_among = [&](const auto& all) {
          return std::find(all.begin(), all.end(), std::string_view{name}) != all.end();
        };
        const bool is_config =
            name.size() > suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
        if (is_config && member.value().is_object() && !member.value().empty() && !is_among(no_parts) &&
            !is_among(chosen_))
          others_ += (others_.empty() ? "" : ", ") + name;
      }
  }

  std::deque<json_place> places_;  // from the root inwards
  std::vector<std::string_view> chosen_;
  std::string way_;
  std::string others_;
};

}  // namespace slimpack::io::detail

#endif
