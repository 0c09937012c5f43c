#ifndef SLIMPACK_IO_MODEL_CONFIG_HPP
#define SLIMPACK_IO_MODEL_CONFIG_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/model/further_layers.hpp>
#include <slimpack/io/detail/model/model_keys.hpp>
#include <slimpack/io/detail/model/read_blocks.hpp>
#include <slimpack/io/detail/model/read_dimensions.hpp>
#include <slimpack/io/detail/model/read_experts.hpp>
#include <slimpack/io/detail/model/read_layers.hpp>
#include <slimpack/io/detail/model/read_mixers.hpp>
#include <slimpack/io/detail/model/unpriced_keys.hpp>
#include <slimpack/io/detail/open.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <fstream>
#include <istream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

namespace slimpack::io {

/// What a config.json says of a model (read_model_config).
struct model_reading {
  costs::model_shape shape{};
  int further{};           ///< layers that predict tokens beyond the next one; `shape` is without them (with_further)
  std::string left_out{};  ///< says that it is without them, in a sentence; empty where there are none
  std::vector<std::string> notes{};  ///< what was left out or taken for granted, a sentence each
};

namespace detail {

/// What is taken for granted of a model_type without a row.
inline void take_notes_of_unknown(const text_config& text, const model_keys& keys, std::vector<std::string>& notes) {
  const std::string unread = keys.unread_numbers();
  notes.push_back((keys.type().empty() ? std::string("model_type is left out")
                                       : "model_type " + model_keys::shown(json(keys.type())) + " is not known") +
                  ": the model is read like a llama" +
                  (unread.empty() ? "" : ", and these numbers are not read: " + unread));
  constexpr std::array<std::string_view, 4> usual{"silu", "swish", "swiglu", "geglu"};
  if (const std::optional<json_place> act = keys.telling(activation_names);
      act && act->raw().is_string() && std::find(usual.begin(), usual.end(), act->text()) == usual.end())
    notes.push_back(keys.described(activation_names) +
                    ": each MLP is taken to have a gate, as a llama's with any activation; without one it has two "
                    "matrices instead of three");
  if (!said_of_tying(keys, text.root()))
    notes.push_back(
        "tie_word_embeddings is left out: the output layer is taken to share the matrix of the embedding, as "
        "transformers does in general");
}

inline void take_notes(const text_config& text, const model_keys& keys, std::vector<std::string>& notes) {
  if (!text.others().empty())
    notes.push_back("of the model only the language model is planned, " +
                    (text.way().empty() ? "the keys at the top" : text.way().substr(0, text.way().size() - 1)) +
                    "; left out: " + model_keys::quoted(json(text.others())));
  if (keys.family() == nullptr) take_notes_of_unknown(text, keys, notes);
  if (const std::string taken = keys.taken_dimensions(); !taken.empty())
    notes.push_back("the config leaves out what is usual for " + model_keys::shown(json(keys.type())) + ": " + taken);
}

/// Rule      Nemotron-H has several layers for each further token, each of another kind: these are not read
inline void read_further(const model_keys& keys, model_reading& made) {
  if (!keys.telling(further_tokens_names)) return;
  const std::optional<json_place> parts = keys.telling({"mtp_hybrid_override_pattern", "mtp_layers_block_type"});
  if (!parts) made.further = further_layers_of(keys);
  made.left_out = keys.described(further_tokens_names) +
                  ": layers that predict further tokens are left out; a training with them takes longer";
}

[[nodiscard]] inline model_reading reading_of(const json_place& root) {
  const text_config text(root);
  const model_keys keys(text.place(), text.way());
  model_reading made;
  costs::model_shape& m = made.shape;
  refuse_unpriced(keys, always_unpriced);
  m.layers = layers_of(keys);
  const layer_kinds kinds = layer_kinds_of(keys, m.layers);
  refuse_unpriced(keys, unpriced_keys);
  refuse_unlike_layers(keys);
  if (!kinds.tells_states) refuse_unpriced(keys, keys_of_states);
  m.hidden = model_keys::integer(keys.need(hidden_names), 1, widest);
  m.vocabulary = vocabulary_of(keys);
  if (const std::optional<json_place> positions = keys.find(positions_names))
    m.max_positions = positions->integer(1, most_tokens);
  if (kinds.has_attention()) read_attention(keys, m);
  const std::vector<block> blocks = read_blocks(keys, m.layers, m.heads, m.hidden);
  if (!blocks.empty()) m.kv_heads = std::max(largest_of(blocks).kv_heads, 1);
  read_mixers(keys, kinds, blocks, m);
  read_mlps(keys, kinds, blocks, m);
  m.tied = is_tied(keys, root);
  read_further(keys, made);
  take_notes(text, keys, made.notes);
  return made;
}

}  // namespace detail

/// Reads a model from a Hugging Face config.json: its shape, and what is to be said of it.
/// `name` is the model's, and opens every message.
/// Rule      The language model is read: of a config with text_config, llm_config and the like what is in there. A
///           key that is left out has the default of its family's class (detail::model_families), and a dimension
///           other than num_key_value_heads only inside another config; where no class has a default, absent
///           num_key_value_heads mean as many as heads, and absent head_dim, hidden_size / heads. The family says
///           whether MLPs have a gate. kv_lora_rank marks multi-head latent attention. Layers with windows, chunks,
///           chosen keys, a state or an MLP alone are told by model_shape::mixers
/// Errors    invalid_input: not JSON (with Infinity and NaN, as Python writes it); a key that is missing or out of
///           range; layers that are made of what no cost model knows (detail::unpriced_keys); each named
/// Complexity O(file size)
[[nodiscard]] inline result<model_reading> read_model_config(std::istream& in, const std::string& name) {
  const std::string text = detail::without_python_numbers({std::istreambuf_iterator<char>(in), {}});
  return detail::read_json(text, name, [&](const detail::json_place& config) {
    model_reading made = detail::reading_of(config);
    made.shape.name = name;
    return made;
  });
}

/// Its name is that of the file, without the suffix.
/// Errors    also unreadable: the file
[[nodiscard]] inline result<model_reading> read_model_config(const std::filesystem::path& file) {
  result<std::ifstream> in = detail::open_to_read(file);
  if (!in) return std::move(in).error();
  result<model_reading> made = read_model_config(in.value(), file.string());
  if (made) made.value().shape.name = file.stem().string();
  return made;
}

/// The shape alone. Its notes are those of read_model_config.
[[nodiscard]] inline result<costs::model_shape> read_model(std::istream& in, const std::string& name) {
  result<model_reading> made = read_model_config(in, name);
  if (!made) return std::move(made).error();
  return std::move(made.value().shape);
}

/// Its name is that of the file, without the suffix.
/// Errors    also unreadable: the file
[[nodiscard]] inline result<costs::model_shape> read_model(const std::filesystem::path& file) {
  result<model_reading> made = read_model_config(file);
  if (!made) return std::move(made).error();
  return std::move(made.value().shape);
}

/// The shape with the layers that predict further tokens, each of the kind of the last layer, as DeepSeek-V3 has them
/// (section 2.2 of arXiv:2412.19437).
[[nodiscard]] inline costs::model_shape with_further(const model_reading& of) {
  costs::model_shape m = of.shape;
  const auto repeat_last = [&]<class Each>(std::vector<Each>& each) {
    if (each.empty()) return;
    const Each last = each.back();
    each.insert(each.end(), static_cast<std::size_t>(of.further), last);
  };
  repeat_last(m.expert_layers), repeat_last(m.mixer_of), repeat_last(m.mlp_widths);
  m.layers += of.further;
  m.further = of.further;
  return m;
}

}  // namespace slimpack::io

#endif
