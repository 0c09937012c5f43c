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
#include <slimpack/profiling/pack_rates.hpp>
#include <slimpack/profiling/pack_sums.hpp>
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
/// Format    "slimpack-stage-profile/2", times in seconds:
///             "forward", "backward": by part [pack, slice, token, pair, own, prefix] (profiling::pack_rates)
///             "forward_spread", "backward_spread": by part, or empty: [noise, then the lower triangle of the
///               covariance of these rates, row by row] (profiling::rate_spread)
///             "weight_token": by part, or empty; "message", "message_token", "reduce"
///             "check": {"kinds": n, "median": x, "worst": x, "sums": [["F" | "B", part, "few" | "many" slices, packs,
///               measured, priced], ...]}
///             "samples": [["F" | "B", part, queries, keys, seconds], ...]
///           "slimpack-stage-profile/1" is read, too: rates are [pack, slice, token, pair] with n b + n (n + 1) / 2
///           pairs of n queries behind b tokens, so that own is half of pair and token has the rest, pair / 2; nothing
///           is known of spreads and sums.
namespace slimpack::io {

inline constexpr const char* stage_profile_format = "slimpack-stage-profile/2";
inline constexpr const char* stage_profile_format_1 = "slimpack-stage-profile/1";

namespace detail {

[[nodiscard]] inline std::vector<seconds> seconds_in(const json_place& list) {
  std::vector<seconds> all;
  for (std::size_t i = 0; i < list.size(); ++i) all.push_back({list.at(i).number(0)});
  return all;
}

/// Seconds of a rate, as costs::profiled takes them.
[[nodiscard]] inline double rate_in(const json_place& rate) {
  const double x = rate.number(0);
  if (x > 1e12) rate.expected("a number of at most 1e12");
  return x;
}

[[nodiscard]] inline std::vector<profiling::pack_rates> rates_in(const json_place& list) {
  std::vector<profiling::pack_rates> all;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const json_place one = list.at(i);
    one.must_have(profiling::rate_count, "pack, slice, token, pair, own and prefix");
    profiling::rate_row x{};
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = rate_in(one.at(k));
    all.push_back(profiling::pack_rates::of(x));
  }
  return all;
}

/// Of format 1.
[[nodiscard]] inline std::vector<profiling::pack_rates> old_rates_in(const json_place& list) {
  std::vector<profiling::pack_rates> all;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const json_place one = list.at(i);
    one.must_have(4, "pack, slice, token and pair");
    const double pair = rate_in(one.at(3));
    all.push_back(
        {{rate_in(one.at(0))}, {rate_in(one.at(1))}, {rate_in(one.at(2)) + pair / 2}, {pair}, {pair / 2}, {}});
  }
  return all;
}

[[nodiscard]] inline std::vector<profiling::rate_spread> spreads_in(const json_place& list) {
  constexpr std::size_t n = profiling::rate_count;
  std::vector<profiling::rate_spread> all;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const json_place one = list.at(i);
    one.must_have(1 + n * (n + 1) / 2, "the noise and the lower triangle of a covariance");
    profiling::rate_spread& spread = all.emplace_back();
    spread.noise = one.at(0).number(0);
    for (std::size_t k = 0, at = 1; k < n; ++k)
      for (std::size_t j = 0; j <= k; ++j, ++at) {
        const json_place number = one.at(at);
        spread.covariance[k][j] = spread.covariance[j][k] = j == k ? number.number(0) : number.number();
      }
  }
  return all;
}

[[nodiscard]] inline pass pass_in(const json_place& way) {
  if (way.text() != "F" && way.text() != "B") way.expected("\"F\" or \"B\"");
  return way.text() == "F" ? pass::forward : pass::backward;
}

[[nodiscard]] inline std::vector<profiling::pack_sum> sums_in(const json_place& list, std::size_t parts) {
  std::vector<profiling::pack_sum> all;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const json_place one = list.at(i);
    one.must_have(6, "pass, part, few or many, packs, measured and priced seconds");
    const json_place way = one.at(0), slices = one.at(2);
    if (slices.text() != "few" && slices.text() != "many") slices.expected("\"few\" or \"many\"");
    all.push_back({pass_in(way),
                   one.at(1).integer<int>(0, static_cast<std::int64_t>(parts) - 1),
                   slices.text() == "many",
                   one.at(3).integer<std::size_t>(1, std::numeric_limits<std::int64_t>::max()),
                   {one.at(4).number(0)},
                   {one.at(5).number(0)}});
  }
  return all;
}

[[nodiscard]] inline profiling::stage_profile stage_profile_in(const json_place& file) {
  const json_place format = file["format"];
  const bool old = format.text() == stage_profile_format_1;
  if (!old && format.text() != stage_profile_format)
    format.expected("\"" + std::string(stage_profile_format) + "\", or /1");
  if (old)
    file.must_only_have(
        {"format", "forward", "backward", "weight_token", "message", "message_token", "reduce", "check", "samples"});
  else
    file.must_only_have({"format", "forward", "backward", "forward_spread", "backward_spread", "weight_token",
                         "message", "message_token", "reduce", "check", "samples"});
  profiling::stage_profile p;
  const json_place forward = file["forward"], backward = file["backward"], weights = file["weight_token"];
  p.forward = old ? old_rates_in(forward) : rates_in(forward);
  p.backward = old ? old_rates_in(backward) : rates_in(backward);
  p.weight_token = seconds_in(weights);
  if (p.forward.empty()) forward.expected("the rates of a part");
  backward.must_have(p.forward.size(), "one per part, as of forward");
  if (!p.weight_token.empty()) weights.must_have(p.forward.size(), "one per part, or none");
  if (!old)
    for (const pass way : both_passes) {
      const json_place spread = file[way == pass::forward ? "forward_spread" : "backward_spread"];
      p.spread[way] = spreads_in(spread);
      if (!p.spread[way].empty()) spread.must_have(p.forward.size(), "one per part, or none");
    }
  p.message = {file["message"].number(0)}, p.message_token = {file["message_token"].number(0)};
  p.reduce = {file["reduce"].number(0)};
  const json_place check = file["check"];
  if (old)
    check.must_only_have({"kinds", "median", "worst"});
  else
    check.must_only_have({"kinds", "median", "worst", "sums"});
  p.check = {check["kinds"].integer<std::size_t>(0, std::numeric_limits<std::int64_t>::max()),
             check["median"].number(0),
             check["worst"].number(0),
             {}};
  if (!old) {
    const json_place sums = check["sums"];
    p.check.sums = sums_in(sums, p.forward.size());
  }
  const json_place samples = file["samples"];
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const json_place one = samples.at(i);
    one.must_have(5, "pass, part, queries, keys and seconds");
    const json_place way = one.at(0);
    p.samples.push_back({pass_in(way),
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
        for (const double t : r.row()) json.value(t);
        json.close(']');
      }
      json.close(']').line();
    };
    const auto spreads = [&](const char* name, std::span<const profiling::rate_spread> all) {
      json.key(name).open('[');
      for (const profiling::rate_spread& s : all) {
        json.open('[').value(s.noise);
        for (std::size_t k = 0; k < profiling::rate_count; ++k)
          for (std::size_t j = 0; j <= k; ++j) json.value(s.covariance[k][j]);
        json.close(']');
      }
      json.close(']').line();
    };
    const auto name_of_pass = [](pass way) { return way == pass::forward ? "F" : "B"; };
    json.open('{').field("format", stage_profile_format).line();
    rates("forward", p.forward);
    rates("backward", p.backward);
    spreads("forward_spread", p.spread.forward);
    spreads("backward_spread", p.spread.backward);
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
        .key("sums")
        .open('[');
    for (const profiling::pack_sum& one : p.check.sums)
      json.open('[')
          .value(name_of_pass(one.pass))
          .value(one.part)
          .value(one.many ? "many" : "few")
          .value(one.packs)
          .value(one.measured.value)
          .value(one.priced.value)
          .close(']');
    json.close(']').close('}').line();
    json.key("samples").open('[').line();
    for (const costs::profiled::sample& s : p.samples) {
      json.open('[')
          .value(name_of_pass(s.pass))
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
