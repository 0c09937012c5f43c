#ifndef SLIMPACK_TESTS_IO_READ_CONFIGS_HPP
#define SLIMPACK_TESTS_IO_READ_CONFIGS_HPP

#include <slimpack/io/model_config.hpp>

#include <slimpack/costs/model/attention_kinds.hpp>

#include "scratch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>

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

inline std::int64_t count(const model_reading& r, attention_span span) {
  return std::count(r.attention.layers.begin(), r.attention.layers.end(), span);
}
inline std::string said(const model_reading& r) {
  std::string all;
  for (const std::string& note : r.notes) all += note + "\n";
  return all;
}

}  // namespace read_configs

#endif
