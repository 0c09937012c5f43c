#ifndef SLIMPACK_TESTS_IO_READ_CONFIGS_HPP
#define SLIMPACK_TESTS_IO_READ_CONFIGS_HPP

#include <slimpack/io/model_config.hpp>

#include <slimpack/costs/model/mixer.hpp>

#include "scratch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

/// Configurations of models, with changes, and what is read of them.
namespace read_configs {

using namespace slimpack;
using costs::attention_span;
using io::model_reading;
using nlohmann::json;

inline std::filesystem::path file_of(const std::string& name) {
  return data("../../tests/io/models/" + name + ".json");
}
inline json config(const std::string& name) { return json::parse(content_of(file_of(name))); }

inline model_reading reading(const std::string& name) { return io::read_model_config(file_of(name)).value(); }

inline model_reading read(const json& config) {
  const scratch s;
  return io::read_model_config(s.file("config.json", config.dump())).value();
}
/// One of the models that were counted.
inline model_reading counted(const std::string& name) {
  static const json others = json::parse(content_of(file_of("other_models")));
  return others.contains(name) ? read(others[name]) : reading(name);
}
inline std::string refusal(const json& config) {
  const scratch s;
  const auto file = s.file("config.json", config.dump());
  return complaint(io::read_model_config(file), file, errc::invalid_input);
}
inline json changed(json config, const json& changes) {
  config.update(changes);
  return config;
}
inline json without(json config, const char* key) {
  config.erase(key);
  return config;
}
inline json llama() { return json::parse(content_of(data("models/llama-3.1-8b.json"))); }
inline json mixtral() { return json::parse(content_of(data("models/mixtral-8x7b.json"))); }

inline costs::mixer mixer_of(const model_reading& r, int layer) { return r.shape.mixer(r.shape.kind(layer)); }

/// How many layers attend so.
inline int count(const model_reading& r, attention_span span) {
  int found = 0;
  for (int i = 0; i < r.shape.layers; ++i) found += mixer_of(r, i).span == span;
  return found;
}
/// "full 4, dual 36", by the kinds of layers in order of appearance, with what they reach.
inline std::string kinds(const model_reading& r) {
  static constexpr const char* names[]{"full",      "window", "chunks", "top",       "sampled",
                                       "selective", "dual",   "delta",  "lightning", "none"};
  std::vector<std::pair<std::string, int>> counts;
  for (int i = 0; i < r.shape.layers; ++i) {
    const attention_span span = mixer_of(r, i).span;
    const std::string name =
        names[static_cast<std::size_t>(span.how)] + (span.reach > 0 ? ":" + std::to_string(span.reach) : std::string{});
    const auto known = std::find_if(counts.begin(), counts.end(), [&](const auto& one) { return one.first == name; });
    if (known == counts.end())
      counts.emplace_back(name, 1);
    else
      ++known->second;
  }
  std::string all;
  for (const auto& [name, number] : counts) all += (all.empty() ? "" : ", ") + name + " " + std::to_string(number);
  return all;
}
inline std::string said(const model_reading& r) {
  std::string all = r.left_out.empty() ? std::string{} : r.left_out + "\n";
  for (const std::string& note : r.notes) all += note + "\n";
  return all;
}

}  // namespace read_configs

#endif
