#ifndef SLIMPACK_TESTS_SUPPORT_DRAWN_COST_HPP
#define SLIMPACK_TESTS_SUPPORT_DRAWN_COST_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/testing/generator.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace slimpack::tests {

/// A cost model drawn at random: parts alike or not, with or without attention, overhead, floor and messages.
struct drawn_cost {
  explicit drawn_cost(testing::generator& random) {
    const bool even = random.once_in(2);
    const double attention = random.once_in(2) ? 0.05 * random.ratio() : 0;
    const double overhead = random.once_in(3) ? 0 : 3 * random.ratio();
    const double forward = random.ratio();
    for (const std::size_t d : {std::size_t{0}, std::size_t{1}}) {
      const double ratio = d == 0 ? 1 : 0.5 + 3 * random.ratio();
      for (std::size_t part = 0; part < 4; ++part) {
        const double speed = even ? 1 : 0.3 + 1.4 * random.ratio();
        linear[d][part] = forward * ratio * speed;
        pair[d][part] = attention * ratio * speed;
        per_pack[d][part] = even ? overhead : overhead * random.ratio();
      }
    }
    floor = random.once_in(4) ? 8 * random.ratio() : 0;
    weights = random.once_in(2) ? 0.5 : random.ratio();
    hop = random.once_in(2) ? 0 : 3 * random.ratio();
    hop_token = random.once_in(2) ? 0 : 0.2 * random.ratio();
  }
  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    return {of(linear, p, part) * static_cast<double>(s.length.value) + of(pair, p, part) * s.pairs()};
  }
  [[nodiscard]] seconds time(std::span<const slice> pack, pass p, int part) const {
    seconds sum{};
    for (const slice& s : pack) sum += time(s, p, part);
    return overhead(p, part) + std::max(sum, seconds{floor});
  }
  [[nodiscard]] seconds overhead(pass p, int part) const { return {of(per_pack, p, part)}; }
  [[nodiscard]] seconds weight_time(const slice& s, int part) const {
    return {weights * of(linear, pass::backward, part) * static_cast<double>(s.length.value)};
  }
  [[nodiscard]] seconds message(tokens n, pass, int) const { return {hop + hop_token * static_cast<double>(n.value)}; }

 protected:
  [[nodiscard]] seconds least_of_pack() const { return {floor}; }

 private:
  static double of(const double (&values)[2][4], pass p, int part) {
    return values[p == pass::backward][static_cast<std::size_t>(part)];
  }
  double linear[2][4], pair[2][4], per_pack[2][4], floor, weights, hop, hop_token;
};

}  // namespace slimpack::tests

#endif
