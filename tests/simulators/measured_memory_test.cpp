#include <slimpack/planner.hpp>
#include <slimpack/pricing/refine.hpp>

#include "../solvers/batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace slimpack::measured_memory_test {
namespace {

/// A stage of a trainer with dense attention: floats for each token, and all scores of a piece. It counts what it
/// allocates; nobody tells the planner its formula.
class stage {
 public:
  explicit stage(std::size_t width) : width_(width) {}

  void forward(const slice& piece) {
    const auto q = static_cast<std::size_t>(piece.length.value);
    const auto k = static_cast<std::size_t>(piece.end().value);
    kept_[{piece.sequence, piece.begin}] = {std::vector<float>(q * width_), std::vector<float>(q * k)};
    peak_ = std::max(peak_, allocated());
  }
  void backward(const slice& piece) { kept_.erase({piece.sequence, piece.begin}); }

  [[nodiscard]] double allocated() const {
    std::size_t floats = 0;
    for (const auto& [where, what] : kept_) floats += what.first.size() + what.second.size();
    return static_cast<double>(floats * sizeof(float));
  }
  [[nodiscard]] double peak() const { return peak_; }

 private:
  std::size_t width_;
  std::map<std::pair<sequence_id, tokens>, std::pair<std::vector<float>, std::vector<float>>> kept_;
  double peak_{};
};

constexpr std::size_t widths[] = {96, 64};

/// Bytes as two pieces of each stage were measured to take: n tokens without a prefix keep x n + y n^2.
struct measured : costs::quadratic {
  measured() {
    for (std::size_t r = 0; r < 2; ++r) {
      const auto bytes_of = [&](std::int64_t n) {
        stage probe(widths[r]);
        probe.forward({{0}, {0}, {n}});
        return probe.allocated();
      };
      const double once = bytes_of(64);
      const double twice = bytes_of(128);
      per_score[r] = (twice - 2 * once) / (2 * 64 * 64);  // 2x n + 4y n^2 - 2 (x n + y n^2) = 2y n^2
      per_token[r] = (once - per_score[r] * 64 * 64) / 64;
    }
  }
  [[nodiscard]] std::optional<memory_rates> memory(int r) const {
    return memory_rates{.live_token = per_token[static_cast<std::size_t>(r)]};
  }
  [[nodiscard]] bytes kept(const slice& piece, int r) const {
    return {per_score[static_cast<std::size_t>(r)] * static_cast<double>(piece.length.value * piece.end().value)};
  }
  double per_token[2];
  double per_score[2];
};

/// What a stage of the trainer really holds at most while it runs its program by the piece.
double run(const plan& p, std::size_t r) {
  const partition pieces = common_refinement(p.replicas[0].partition);
  stage compute(widths[r]);
  for (const instruction& i : p.replicas[0].programs[r])
    for (const slice& piece : pieces.of(i.pass())[i.pack.value])
      i.pass() == pass::forward ? compute.forward(piece) : compute.backward(piece);
  EXPECT_EQ(compute.allocated(), 0);
  return compute.peak();
}

TEST(MeasuredMemory, CapsPlansInTheTrainersBytes) {
  const std::vector<tokens> lengths = tests::lengths_of({1024, 300, 900, 500, 128, 700, 1000, 800, 800, 1});
  shape on{.stages = 2};
  const auto planned = [&] { return planner<slicers::equal_cost, measured>{on}(lengths).value(); };
  const plan free = planned();
  const double most = std::max(free.replicas[0].peak_memory[0], free.replicas[0].peak_memory[1]);
  int k = 0;
  for (const double share : {0.8, 0.9, 1.0}) {
    if (!tests::is_tried(k++)) continue;
    on.memory = memory_limit{memory_unit::byte, share * most};
    const plan p = planned();
    for (std::size_t r = 0; r < 2; ++r) {
      EXPECT_EQ(run(p, r), p.replicas[0].peak_memory[r]) << "stage " << r;
      EXPECT_LE(run(p, r), share * most) << "stage " << r;
    }
  }
}

}  // namespace
}  // namespace slimpack::measured_memory_test
