#include "baseline_options.hpp"

#include "terminal.hpp"
#include "texts.hpp"

#include <slimpack/core/shape.hpp>
#include <slimpack/solvers/baselines/named.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

namespace cli {
namespace {

using namespace slimpack;

/// A whole text as a number of at least 1, or nothing.
template <class Number>
std::optional<Number> count_of(std::string_view text) {
  Number value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = status == std::errc{} && end == text.data() + text.size();
  return is_whole && value >= 1 ? std::optional(value) : std::nullopt;
}

void check_rival(const std::string& name, const std::vector<std::string>& asked) {
  if (std::find(baselines::names.begin(), baselines::names.end(), name) == baselines::names.end()) {
    std::string known;
    for (const std::string_view one : baselines::names) known += (known.empty() ? "" : ", ") + std::string(one);
    throw bad_usage{"--baseline names " + shown_value(name) + ", which is no baseline; baselines are " + known};
  }
  if (std::find(asked.begin(), asked.end(), name) == asked.end())
    throw bad_usage{"--baseline sets " + name +
                    ", which is not planned with: add it to --compare, or leave the setting out"};
}

fixed_settings setting_of(const std::string& item) {
  const std::size_t equals = item.find('=');
  const std::string name = item.substr(0, equals), value = equals == std::string::npos ? "" : item.substr(equals + 1);
  fixed_settings fixed;
  if (name == "context") {
    const std::optional<std::int64_t> length = count_of<std::int64_t>(value);
    if (!length || *length > 2147483647)
      throw bad_usage{"--baseline context=" + shown_value(value) +
                      " is no number of tokens from 1 to 2147483647, as context=8192"};
    fixed.context = tokens{*length};
  } else if (name == "recompute") {
    for (const costs::recompute what : costs::all_recompute)
      if (value == name_of(what)) fixed.recompute = what;
    if (!fixed.recompute)
      throw bad_usage{"--baseline recompute=" + shown_value(value) +
                      " is not none, light, attention, selective or full"};
  } else {
    throw bad_usage{
        "--baseline has no setting " + shown_value(item) + "; settings are context=TOKENS and recompute=WHAT" +
        (name == "slices" || name == "lending" ? ", and --" + name + " is an option of its own" : std::string{})};
  }
  return fixed;
}

}  // namespace

std::vector<baseline_setting> baselines_of(const std::string& text, const std::vector<std::string>& asked) {
  std::vector<baseline_setting> all;
  for (const std::string& item : split(text, ',')) {
    const std::size_t colon = item.find(':');
    baseline_setting one;
    if (colon != std::string::npos) check_rival(one.rival = item.substr(0, colon), asked);
    one.fixed = setting_of(colon == std::string::npos ? item : item.substr(colon + 1));
    all.push_back(std::move(one));
  }
  return all;
}

fixed_settings fixed_for(const std::string& planner, const std::vector<baseline_setting>& all) {
  fixed_settings found;
  for (const bool by_name : {false, true})
    for (const baseline_setting& one : all) {
      if (one.rival != (by_name ? planner : "")) continue;
      if (one.fixed.context) found.context = one.fixed.context;
      if (one.fixed.recompute) found.recompute = one.fixed.recompute;
    }
  return found;
}

shapes::layout baseline_layout_of(const std::string& text) {
  using of = shape;
  static constexpr std::pair<const char*, int of::*> degrees[]{{"dp", &of::replicas}, {"pp", &of::stages},
                                                               {"tp", &of::tensor},   {"cp", &of::context},
                                                               {"ep", &of::expert},   {"vpp", &of::chunks}};
  shapes::layout on;
  std::vector<std::string> seen;
  for (const std::string& item : split(text, ',')) {
    const std::string name = item.substr(0, std::min(item.find_first_of("0123456789"), item.size()));
    const std::optional<int> degree = count_of<int>(std::string_view(item).substr(name.size()));
    const auto known =
        std::find_if(std::begin(degrees), std::end(degrees), [&](const auto& one) { return name == one.first; });
    if (known == std::end(degrees) || !degree || *degree > 65536)
      throw bad_usage{"--baseline-layout " + shown_value(text) + ": " + shown_value(item) +
                      " is no degree; write dp, pp, tp, cp, ep or vpp and a number from 1 to 65536, as in tp8,pp4,dp8"};
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      throw bad_usage{"--baseline-layout " + shown_value(text) + " gives " + name + " twice: leave out one of them"};
    seen.push_back(name);
    on.shape.*(known->second) = *degree;
  }
  return on;
}

}  // namespace cli
