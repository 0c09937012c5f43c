#ifndef SLIMPACK_IO_DETAIL_PLAN_ORIGIN_JSON_HPP
#define SLIMPACK_IO_DETAIL_PLAN_ORIGIN_JSON_HPP

#include <slimpack/core/plan.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/json_out.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace slimpack::io::detail {

[[nodiscard]] inline std::uint64_t hash_in(const json_place& place) {
  const std::string& digits = place.text();
  std::uint64_t hash{};
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), hash, 16);
  if (failed != std::errc{} || end != digits.data() + digits.size() || digits.size() != 16)
    place.expected("16 hexadecimal digits");
  return hash;
}

[[nodiscard]] inline plan_origin::options options_in(const json_place& place) {
  plan_origin::options all;
  for (const std::string& name : place.names()) {
    const json_place value = place[name.c_str()];
    all.emplace_back(name, value.text());
  }
  return all;
}

[[nodiscard]] inline plan_origin::input input_in(const json_place& place) {
  place.must_only_have({"option", "name", "hash", "content"});
  plan_origin::input made{place["option"].text(), place["name"].text(), hash_in(place["hash"])};
  if (const std::optional<json_place> content = place.find({"content"})) {
    made.content = content->text();
    if (text_hash(*made.content) != made.hash)
      content->expected("a text with the hash " + hash_text(made.hash) + ": it was changed");
  }
  return made;
}

[[nodiscard]] inline plan_origin origin_in(const json_place& place) {
  place.must_only_have({"version", "longest", "options", "batch", "inputs"});
  plan_origin made;
  made.version = place["version"].text();
  made.longest = {place["longest"].integer(1, longest_supported.value)};
  const json_place planning = place["options"];
  const json_place batch = place["batch"];
  const json_place inputs = place["inputs"];
  made.planning = options_in(planning);
  made.batch = options_in(batch);
  for (std::size_t i = 0; i < inputs.size(); ++i) made.inputs.push_back(input_in(inputs.at(i)));
  return made;
}

inline void write_options(json_out& to, std::string_view key, const plan_origin::options& options) {
  to.key(key).open('{');
  for (const auto& [name, value] : options) to.field(name, std::string_view{value});
  to.close('}');
}

inline void write_origin(json_out& to, const plan_origin& made) {
  to.key("made_with").open('{').field("version", std::string_view{made.version}).field("longest", made.longest.value);
  write_options(to, "options", made.planning);
  write_options(to, "batch", made.batch);
  to.key("inputs").open('[');
  for (const plan_origin::input& one : made.inputs) {
    to.line();
    to.open('{').field("option", std::string_view{one.option}).field("name", std::string_view{one.name});
    to.field("hash", hash_text(one.hash));
    if (one.content) to.field("content", std::string_view{*one.content});
    to.close('}');
  }
  to.close(']').close('}');
}

}  // namespace slimpack::io::detail

#endif
