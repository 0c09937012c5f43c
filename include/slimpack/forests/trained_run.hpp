#ifndef SLIMPACK_FORESTS_TRAINED_RUN_HPP
#define SLIMPACK_FORESTS_TRAINED_RUN_HPP

#include <slimpack/core/units.hpp>

#include <cmath>
#include <optional>
#include <span>
#include <string>

namespace slimpack::forests {

/// Tokens of a sample that it is trained on: its targets, each predicted by the token before it.
struct trained_run {
  tokens begin;      ///< in the sample; at least 1, as nothing predicts its first token
  tokens length;     ///< at least 1
  double weight{1};  ///< what their loss is multiplied by: any finite number
  friend constexpr bool operator==(const trained_run&, const trained_run&) = default;
};

/// What is wrong with the runs of a sample of so many tokens, if anything: "[90, 102), and it has 100 tokens".
[[nodiscard]] inline std::optional<std::string> runs_fault(std::span<const trained_run> runs, tokens length) {
  tokens before{};
  for (const trained_run& run : runs) {
    const tokens end = run.begin + run.length;
    const auto name = [&] {
      std::string text(1, '[');
      return text.append(std::to_string(run.begin.value)).append(", ").append(std::to_string(end.value)).append("), ");
    };
    if (run.length < tokens{1}) return name() + "which has no token";
    if (run.begin < tokens{1}) return name() + "and nothing predicts the first token";
    if (end > length) return name() + "and it has " + std::to_string(length.value) + " tokens";
    if (run.begin < before)
      return name() + "which begins before " + std::to_string(before.value) + ", where another ends";
    if (!std::isfinite(run.weight)) return name() + "with the weight " + std::to_string(run.weight);
    before = end;
  }
  return std::nullopt;
}

}  // namespace slimpack::forests

#endif
