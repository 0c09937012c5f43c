#include "exact_step.hpp"

#include <slimpack/core/sequence.hpp>
#include <slimpack/executors/lending/lending.hpp>
#include <slimpack/executors/step_outline.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/stage_compute_laws.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace slimpack::lending_laws_test {
namespace {

/// A handle over which a helper answers nothing: zeros in place of what it has computed.
class no_answers final : public lending {
 public:
  explicit no_answers(lending& with) : with_(with) {}

  [[nodiscard]] std::span<const loan> lent() const override { return with_.lent(); }
  [[nodiscard]] std::span<const loan> helped() const override { return with_.helped(); }
  [[nodiscard]] result<void> offer(int layer, std::size_t i, rows messages) override {
    return with_.offer(layer, i, messages);
  }
  [[nodiscard]] result<void> ask(int layer, std::size_t i, rows messages) override {
    return with_.ask(layer, i, messages);
  }
  [[nodiscard]] result<rows> collect(int layer, std::size_t i) override { return with_.collect(layer, i); }
  [[nodiscard]] result<rows> take(int layer, std::size_t i) override { return with_.take(layer, i); }
  [[nodiscard]] result<void> answer(int layer, std::size_t i, rows messages) override {
    std::vector<std::vector<std::byte>> zeros;
    for (const std::span<const std::byte> one : messages) zeros.emplace_back(one.size());
    const std::vector<std::span<const std::byte>> sent(zeros.begin(), zeros.end());
    return with_.answer(layer, i, sent);
  }

 private:
  lending& with_;
};

/// A stage that forgets in one pass what it has computed for others.
template <pass Forgets>
class forgetful : public train::model_stage<double> {
 public:
  using model_stage::backward;
  using model_stage::forward;
  using model_stage::model_stage;

  result<void> forward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out, lending& with) {
    no_answers none(with);
    return model_stage::forward(pack, in, out, Forgets == pass::forward ? static_cast<lending&>(none) : with);
  }
  result<void> backward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out, lending& with) {
    no_answers none(with);
    return model_stage::backward(pack, in, out, Forgets == pass::backward ? static_cast<lending&>(none) : with);
  }
};

struct texts {
  std::vector<std::vector<std::uint8_t>> own;    // of each sequence
  std::vector<std::vector<std::uint8_t>> paths;  // down to its end
};
template <class Stage>
struct tried : texts, Stage {
  tried(int stage, int stages)
      : Stage(
            tests::small_model, {.stages = stages, .quantum = {4}}, stage,
            [own = static_cast<const texts*>(this)](sequence_id s) {
              return std::span<const std::uint8_t>(own->paths[s.value]);
            },
            7) {}

  void begin_step(const step_outline& o) {
    paths = own;
    for (const sequence& s : o.sequences) {  // parents before their children
      if (s.is_root()) continue;
      std::vector<std::uint8_t>& path = paths[s.id.value];
      path.insert(path.begin(), paths[s.parent.value].begin(), paths[s.parent.value].end());
    }
    Stage::begin_step(o);
  }
};

/// Four layers, and texts that are made of keys.
template <class Stage>
struct transformer {
  using stage_type = tried<Stage>;

  [[nodiscard]] std::unique_ptr<stage_type> make(int stage, int stages) const {
    return std::make_unique<stage_type>(stage, stages);
  }
  void load(stage_type& s, std::span<const testing::document> batch) const {
    std::vector<std::vector<testing::document>> parts;
    for (const testing::document& d : batch) parts.push_back({d});
    load_parts(s, parts);
  }
  void load_parts(stage_type& s, std::span<const std::vector<testing::document>> batch) const {
    s.own.clear();
    for (const std::vector<testing::document>& parts : batch) {
      std::vector<std::uint8_t>& text = s.own.emplace_back();
      for (const testing::document& d : parts) {
        testing::generator random(d.key);
        for (std::int64_t i = 0; i < d.length.value; ++i)
          text.push_back(static_cast<std::uint8_t>(random.between(0, 15)));
      }
    }
    s.paths = s.own;
  }
  [[nodiscard]] std::vector<double> gradients(stage_type& s) const {
    const std::span<const double> all = s.weights().gradients();
    return {all.begin(), all.end()};
  }
  void zero(stage_type& s) const { s.weights().zero_gradients(); }
};

template <class Stage>
testing::report laws() {
  return testing::stage_compute_laws(transformer<Stage>{}, {.cases = 2, .longest = {48}, .quantum = {4}, .stages = 4});
}

TEST(LendingLaws, HoldForTheTransformer) {
  const testing::report right = laws<train::model_stage<double>>();
  EXPECT_TRUE(right) << right;
  EXPECT_GT(right.checks(8), 0) << "its log-probabilities are tried";
}

TEST(LendingLaws, FindWhatIsNotAnswered) {
  const testing::report forward = laws<forgetful<pass::forward>>();
  ASSERT_FALSE(forward);
  EXPECT_NE(forward.failures()[0].line.find("the loss where stages lend each other attention"), std::string::npos)
      << forward;
  const testing::report backward = laws<forgetful<pass::backward>>();
  ASSERT_FALSE(backward);
  EXPECT_NE(backward.failures()[0].line.find("gradients where stages lend each other attention"), std::string::npos)
      << backward;
}

}  // namespace
}  // namespace slimpack::lending_laws_test
