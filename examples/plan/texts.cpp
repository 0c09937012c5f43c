#include "texts.hpp"

#include "terminal.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iomanip>
#include <map>
#include <optional>
#include <ostream>
#include <string_view>
#include <system_error>
#include <utility>

namespace cli {
namespace {

/// A whole text as a finite number that is not negative, or nothing.
std::optional<double> number_of(std::string_view text) {
  double value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = status == std::errc{} && end == text.data() + text.size();
  return whole && value >= 0 && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> cells(1);
  for (const char c : text) {
    if (c == at)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

std::vector<double> numbers_of(const std::string& text) {
  std::vector<double> values;
  for (const std::string& cell : split(text, ',')) {
    const std::optional<double> value = number_of(cell);
    if (!value) return {};
    values.push_back(*value);
  }
  return values;
}

std::string seed_fault(const std::string& text) {
  std::uint64_t value{};
  const char* const last = text.data() + text.size();
  const auto [end, failed] = std::from_chars(text.data(), last, value);
  const bool sound = failed == std::errc{} && end == last;
  return sound ? std::string{} : text + " is no whole number from 0 to 18446744073709551615";
}

std::string number_range::text() const {
  char words[80];
  std::snprintf(words, sizeof words, "%s %g%s to %g", above ? "above" : "from", low, above ? ", up" : "", high);
  return words;
}

std::string number_range::operator()(const std::string& typed) const {
  char* end{};
  const double value = std::strtod(typed.c_str(), &end);
  const bool is_whole = !typed.empty() && end == typed.c_str() + typed.size();
  const bool is_in = value <= high && (above ? value > low : value >= low);  // NaN is in none
  return is_whole && is_in ? std::string{} : shown_value(typed) + " is no number " + text();
}

std::string too_imbalanced(const std::string& factor, int ranks) {
  const std::string most = std::to_string(ranks);
  return factor + " is more than the busiest of --ep " + most + " ranks can have, " + most +
         " times the mean: give a factor from 1 to " + most;
}

std::string compare_fault(const std::string& planner, const std::vector<std::string>& compare) {
  for (auto name = compare.begin(); name != compare.end(); ++name) {
    if (*name == planner) return "--compare " + planner + " is --planner itself: leave it out";
    if (std::find(compare.begin(), name, *name) != name)
      return "--compare names " + *name + " twice: leave out one of them";
  }
  return {};
}

slimpack::costs::quadratic quadratic_of(std::span<const double, 5> of_stage, slimpack::seconds call,
                                        slimpack::seconds hop, int chunks) {
  constexpr number_range taken;
  for (const double number : of_stage)
    if (number > taken.high) {
      char text[32];
      std::snprintf(text, sizeof text, "%g", number);
      throw bad_usage{std::string("--cost quadratic takes numbers ") + taken.text() + ", and " + text +
                      " is more: times are in seconds"};
    }
  return {.linear = of_stage[0] / chunks,
          .attention = of_stage[1] / chunks,
          .backward_linear = of_stage[2],
          .backward_attention = of_stage[3],
          .per_pack = {of_stage[4]},
          .hop = hop,
          .per_call = call};
}

slimpack::memory_limit memory_of(const std::string& text) {
  static const std::map<std::string, double> units{{"kib", 1024.0}, {"mib", 1048576.0}, {"gib", 1073741824.0},
                                                   {"kb", 1e3},     {"mb", 1e6},        {"gb", 1e9}};
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::optional<double> amount = number_of(std::string_view(text).substr(0, end));
  std::string unit = text.substr(std::min(text.find_first_not_of(' ', end), text.size()));
  for (char& c : unit)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (amount && *amount > 0) {
    if (unit == "tokens" && *amount == std::floor(*amount)) return {slimpack::memory_unit::token, *amount};
    if (const auto known = units.find(unit); known != units.end())
      return {slimpack::memory_unit::byte, *amount * known->second};
  }
  throw bad_usage{"--memory " + shown_value(text) +
                  " is not an amount: write bytes, such as 64MiB or 80GiB (KiB MiB GiB KB MB GB), or 8192tokens"};
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string percent(double ratio, int digits) { return fixed(100 * ratio, digits) + " %"; }

std::string gain_text(double efficiency) { return percent(1 - efficiency, 2); }

std::string mfu_text(const std::optional<double>& mfu) { return mfu ? percent(*mfu, 1) : "-"; }

std::string time_of(slimpack::seconds s) {
  if (s.value >= 1) return fixed(s.value, 3) + " s";
  return s.value >= 1e-3 ? fixed(1e3 * s.value, 2) + " ms" : fixed(1e6 * s.value, 1) + " us";
}

namespace {

template <class Count>
std::string counts_text(const std::vector<Count>& counts) {
  std::string text;
  for (const Count count : counts) text += (text.empty() ? "" : ",") + std::to_string(count);
  return text;
}

}  // namespace

std::string layers_text(const std::vector<int>& layers) { return counts_text(layers); }

std::string words_text(const std::vector<std::int64_t>& words) { return counts_text(words); }

std::string options_of(const slimpack::shapes::layout& on, const slimpack::shapes::layout& from) {
  using of = slimpack::shape;
  std::string text;
  for (const auto& [name, degree] : {std::pair{"--dp ", &of::replicas},
                                     {"--pp ", &of::stages},
                                     {"--tp ", &of::tensor},
                                     {"--cp ", &of::context},
                                     {"--ep ", &of::expert},
                                     {"--vpp ", &of::chunks}})
    if (on.shape.*degree != from.shape.*degree)
      text += (text.empty() ? "" : " ") + (name + std::to_string(on.shape.*degree));
  if (on.shape.vocabulary != from.shape.vocabulary)
    text +=
        std::string(text.empty() ? "" : " ") + "--vocabulary " + std::string(slimpack::name_of(on.shape.vocabulary));
  if (on.shape.words != from.shape.words)
    text += (text.empty() ? "--words " : " --words ") +
            (on.shape.words.empty() ? std::string("even") : words_text(on.shape.words));
  if (on.recompute != from.recompute)
    text += std::string(text.empty() ? "" : " ") + "--recompute " + name_of(on.recompute);
  if (on.layers != from.layers)
    text += (text.empty() ? "--layers " : " --layers ") +
            (on.layers.empty() ? std::string("even") : layers_text(on.layers));
  return text;
}

std::string options_of(const slimpack::shapes::layout& on) {
  const std::string text = options_of(on, {});
  return text.empty() ? "--dp 1" : text;
}

void print_table(std::ostream& out, const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> width(lines.front().size(), 0);
  for (const auto& line : lines)
    for (std::size_t c = 0; c < line.size(); ++c) width[c] = std::max(width[c], line[c].size());
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < line.size(); ++c)
      out << (c ? "  " : "") << (c ? std::right : std::left) << std::setw(static_cast<int>(width[c])) << line[c];
    out << "\n";
  }
}

}  // namespace cli
