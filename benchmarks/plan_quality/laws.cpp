#include "laws.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

namespace slimpack::plan_quality {
namespace {

/// Normal draws by Box and Muller (1958).
class normal {
 public:
  explicit normal(std::uint64_t seed) : engine_(seed) {}
  double operator()() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 engine_;
};

tokens clamped(double length) {
  return std::clamp(tokens{static_cast<std::int64_t>(std::llround(length))}, shortest, longest);
}

}  // namespace

std::vector<tokens> log_normal(std::size_t sequences, std::uint64_t seed) {
  const double deviation = std::log(24.0) / 2.3263;  // the 99th percentile of a standard normal
  normal draw(seed);
  std::vector<tokens> lengths;
  for (std::size_t i = 0; i < sequences; ++i) lengths.push_back(clamped(3072 * std::exp(deviation * draw())));
  if (!lengths.empty()) *std::max_element(lengths.begin(), lengths.end()) = longest;
  return lengths;
}

std::vector<tokens> bimodal(std::size_t sequences, std::uint64_t seed) {
  normal draw(seed);
  std::vector<tokens> lengths;
  for (std::size_t i = 0; i < sequences; ++i) {
    const bool is_long = draw.uniform() < 0.05;
    lengths.push_back(clamped(is_long ? 50000 * std::exp(draw()) : 1024 * std::exp(0.5 * draw())));
  }
  return lengths;
}

}  // namespace slimpack::plan_quality
