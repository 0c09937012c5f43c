#ifndef SLIMPACK_IO_STAGE_PROFILE_HPP
#define SLIMPACK_IO_STAGE_PROFILE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/profiled.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/json_out.hpp>
#include <slimpack/io/detail/open.hpp>
#include <slimpack/profiling/stage_profile.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <istream>
#include <limits>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// Files of stage profiles, so that a trainer measures once.
///
/// Format    "slimpack-stage-profile/1", times in seconds:
///             "forward", "backward": by part [pack, slice, token, pair]
///             "weight_token": by part, or empty; "message", "message_token", "reduce"
///             "check": {"kinds": n, "median": x, "worst": x}
///             "samples": [["F" | "B", part, queries, keys, seconds], ...]
namespace slimpack::io {

inline constexpr const char* stage_profile_format = "slimpack-stage-profile/1";

namespace detail {

[[nodiscard]] inline std::vector<seconds> seconds_in(const json_place& list) {
  std::vector<seconds> all;
  for (std::size_t i = 0; i < list.size(); ++i) all.push_back({list.at(i).number(0)});
  return all;
}

[[nodiscard]] inline std::vector<profiling::pack_rates> rates_in(const json_place& list) {
  std::vector<profiling::pack_rates> all;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const json_place one = list.at(i);
    one.must_have(4, "pack, slice, token and pair");
    all.push_back({{one.at(0).number(0)}, {one.at(1).number(0)}, {one.at(2).number(0)}, {one.at(3).number(0)}});
  }
  return all;
}

[[nodiscard]] inline profiling::stage_profile stage_profile_in(const json_place& file) {
  const json_place format = file["format"];
  if (format.text() != stage_profile_format) format.expected("\"" + std::string(stage_profile_format) + "\"");
  file.must_only_have(
      {"format", "forward", "backward", "weight_token", "message", "message_token", "reduce", "check", "samples"});
  profiling::stage_profile p;
  const json_place forward = file["forward"], backward = file["backward"], weights = file["weight_token"];
  p.forward = rates_in(forward), p.backward = rates_in(backward);
  p.weight_token = seconds_in(weights);
  if (p.forward.empty()) forward.expected("the rates of a part");
  backward.must_have(p.forward.size(), "one per part, as of forward");
  if (!p.weight_token.empty()) weights.must_have(p.forward.size(), "one per part, or none");
  p.message = {file["message"].number(0)}, p.message_token = {file["message_token"].number(0)};
  p.reduce = {file["reduce"].number(0)};
  const json_place check = file["check"];
  check.must_only_have({"kinds", "median", "worst"});
  p.check = {check["kinds"].integer<std::size_t>(0, std::numeric_limits<std::int64_t>::max()),
             check["median"].number(0), check["worst"].number(0)};
  const json_place samples = file["samples"];
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const json_place one = samples.at(i);
    one.must_have(5, "pass, part, queries, keys and seconds");
    const json_place way = one.at(0);
    if (way.text() != "F" && way.text() != "B") way.expected("\"F\" or \"B\"");
    p.samples.push_back({way.text() == "F" ? pass::forward : pass::backward,
                         one.at(1).integer<int>(0, static_cast<std::int64_t>(p.forward.size()) - 1),
                         {one.at(2).integer(1, longest_supported.value)},
                         {one.at(3).integer(1, longest_supported.value)},
                         {one.at(4).number(0)}});
  }
  return p;
}

}  // namespace detail

/// Writes a stage profile as JSON. Numbers read back exactly, so that its cost model plans the same to the bit.
/// Errors    unwritable: the stream has failed            Complexity  O(samples)
[[nodiscard]] inline result<void> write_stage_profile(std::ostream& out, const profiling::stage_profile& p) {
  {
    detail::json_out json(out);
    const auto times = [&](const char* name, std::span<const seconds> all) {
      json.key(name).open('[');
      for (const seconds t : all) json.value(t.value);
      json.close(']').line();
    };
    const auto rates = [&](const char* name, std::span<const profiling::pack_rates> all) {
      json.key(name).open('[');
      for (const profiling::pack_rates& r : all) {
        json.open('[');
        for (const seconds t : {r.pack, r.slice, r.token, r.pair}) json.value(t.value);
        json.close(']');
      }
      json.close(']').line();
    };
    json.open('{').field("format", stage_profile_format).line();
    rates("forward", p.forward);
    rates("backward", p.backward);
    times("weight_token", p.weight_token);
    json.field("message", p.message.value)
        .field("message_token", p.message_token.value)
        .field("reduce", p.reduce.value)
        .line();
    json.key("check")
        .open('{')
        .field("kinds", p.check.kinds)
        .field("median", p.check.median)
        .field("worst", p.check.worst)
        .close('}')
        .line();
    json.key("samples").open('[').line();
    for (const costs::profiled::sample& s : p.samples) {
      json.open('[')
          .value(s.pass == pass::forward ? "F" : "B")
          .value(s.part)
          .value(s.queries.value)
          .value(s.keys.value)
          .value(s.time.value)
          .close(']');
      json.line();
    }
    json.close(']').close('}').line();
  }
  if (!out) return error{errc::unwritable, "the stage profile could not be written: the output stream failed"};
  return success();
}

/// Reads what write_stage_profile wrote; `name` opens every message.
/// Errors    invalid_input: not JSON, or not a stage profile; the place in the file is named
[[nodiscard]] inline result<profiling::stage_profile> read_stage_profile(std::istream& in,
                                                                         const std::string& name = "stage profile") {
  return detail::read_json(in, name, detail::stage_profile_in);
}
/// Errors    also unreadable: the file
[[nodiscard]] inline result<profiling::stage_profile> read_stage_profile(const std::filesystem::path& file) {
  result<std::ifstream> in = detail::open_to_read(file);
  if (!in) return std::move(in).error();
  return read_stage_profile(in.value(), file.string());
}

}  // namespace slimpack::io

#endif
