#include <slimpack/testing/stage_compute_laws.hpp>

#include "../executors/vocabulary_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What the laws say of a compute whose vocabulary is spread over its stages, and of slips in it.
namespace slimpack::vocabulary_compute_laws_test {
namespace {

enum class slip { none, adds_embedding_twice, forgets_target, has_own_softmax, keeps_logits };

using arena = prefix_in_arena<backward_cuts::any>;
using message = std::span<const std::byte>;

/// The vocabulary model of two layers with sequences by key, on two stages, or on one that has its vocabulary in one
/// place.
class keyed_stage : public vocabulary_stage<arena> {
 public:
  using base = vocabulary_stage<arena>;
  keyed_stage(int stage, int stages, slip wrong)
      : base(stage, stages, 1), is_alone_(stages == 1), is_first_of_two_(stages == 2 && stage == 0), wrong_(wrong) {}

  std::vector<std::uint64_t> keys;

  [[nodiscard]] vocabulary_format vocabulary_rows() const {
    return is_alone_ ? vocabulary_format{} : base::vocabulary_rows();
  }
  [[nodiscard]] tokens valid_tokens(const slice& s) const { return base::valid_tokens(keyed(s)); }
  [[nodiscard]] double loss() const { return base::loss() - loss_before_; }
  void begin_step(const step_outline& o) {
    loss_before_ = base::loss();
    base::begin_step(o);
  }
  void abort_step() {
    base::abort_step();
    zero();
    left_ = wrong_ == slip::keeps_logits;
  }
  template <class Group>
  result<void> reduce(Group& group) {
    result<void> done = base::reduce(group);
    return done && is_alone_ ? second_.reduce(group) : done;
  }
  [[nodiscard]] bytes held() const { return base::held() + bytes{left_ ? 1.0 : 0.0}; }

  result<void> forward(const piece& p, message in, outgoing& out) {
    const piece one = keyed(p);
    if (!is_alone_) return base::forward(one, in, out);
    const piece end = of_vocabulary(one);
    std::vector<double> x(size_of(p)), y(x), z(x), dz(x);
    std::vector<double> part(5 * x.size()), sums(x);
    outgoing embedded = to(x), middle = to(y), hidden = to(z), of_words = to(part), completed = to(dz),
             statistics = to(sums);
    result<void> done = base::embed({&end, 1}, {}, embedded);
    if (done) done = base::forward(one, slimpack::as_span(x), middle);
    if (done) done = second_.forward(one, slimpack::as_span(y), hidden);
    if (done) done = base::output({&end, 1}, slimpack::as_span(z), of_words);
    const message parts = slimpack::as_span(part);
    if (done) done = base::gather_output({&end, 1}, {&parts, 1}, completed, statistics);
    if (done) done = base::output_weights({&end, 1}, slimpack::as_span(sums));
    for (std::size_t k = 0; k < dz.size(); ++k)
      turned_[{one.slice.sequence, p.slice.begin.value + static_cast<std::int64_t>(k)}] = dz[k];
    return done;
  }
  result<void> backward(const piece& p, message in, outgoing& out) {
    const piece one = keyed(p);
    if (!is_alone_) return base::backward(one, in, out);
    const piece end = of_vocabulary(one);
    std::vector<double> dz(size_of(p)), dy(dz), dx(dz);
    for (std::size_t k = 0; k < dz.size(); ++k)
      dz[k] = turned_.at({one.slice.sequence, p.slice.begin.value + static_cast<std::int64_t>(k)});
    outgoing middle = to(dy), inputs = to(dx), nowhere;
    result<void> done = second_.backward(one, slimpack::as_span(dz), middle);
    if (done) done = base::backward(one, slimpack::as_span(dy), inputs);
    if (done) done = base::embed_gradients({&end, 1}, slimpack::as_span(dx), nowhere);
    return done;
  }
  void discard(const piece& p) { base::discard(keyed(p)), second_.discard(keyed(p)); }
  void zero() { base::zero(), second_.zero(); }
  [[nodiscard]] std::vector<double> layer_gradients() const {
    std::vector<double> all(gradient().begin(), gradient().end());
    if (is_alone_) all.insert(all.end(), second_.gradient().begin(), second_.gradient().end());
    return all;
  }

  result<void> embed(std::span<const piece> pack, message in, outgoing& out) {
    return base::embed(keyed(pack), in, out);
  }
  result<void> output(std::span<const piece> pack, message in, outgoing& out) {
    result<void> done = base::output(keyed(pack), in, out);
    if (!done || wrong_ != slip::forgets_target || !is_first_of_two_) return done;
    const std::span<double> rows = out.as<double>();
    for (std::size_t at = 4; at < rows.size(); at += 5) rows[at] = 0;
    return done;
  }
  result<void> gather_output(std::span<const piece> pack, std::span<const message> partials, outgoing& rows,
                             outgoing& statistics) {
    return base::gather_output(keyed(pack), partials, rows, statistics);
  }
  result<void> output_weights(std::span<const piece> pack, message in) {
    std::vector<double> sums(as<double>(in).begin(), as<double>(in).end());
    if (wrong_ == slip::has_own_softmax && is_first_of_two_)
      for (double& one : sums) one += 0.1;
    return base::output_weights(keyed(pack), std::as_bytes(std::span(sums)));
  }
  result<void> embed_gradients(std::span<const piece> pack, message in, outgoing& out) {
    outgoing nowhere;
    if (wrong_ == slip::adds_embedding_twice)
      if (result<void> done = base::embed_gradients(keyed(pack), in, nowhere); !done) return done;
    return base::embed_gradients(keyed(pack), in, out);
  }

 private:
  [[nodiscard]] slice keyed(slice s) const {
    s.sequence = {static_cast<std::uint32_t>(keys[s.sequence.value] % 1000003)};
    return s;
  }
  [[nodiscard]] piece keyed(piece p) const {
    p.slice = keyed(p.slice);
    return p;
  }
  [[nodiscard]] static piece of_vocabulary(piece p) {
    p.chunk = 1;
    return p;
  }
  [[nodiscard]] static std::size_t size_of(const piece& p) { return static_cast<std::size_t>(p.slice.length.value); }
  [[nodiscard]] static outgoing to(std::vector<double>& rows) {
    return outgoing(std::as_writable_bytes(std::span(rows)));
  }
  [[nodiscard]] std::vector<piece> keyed(std::span<const piece> pack) const {
    std::vector<piece> all;
    for (const piece& p : pack) all.push_back(keyed(p));
    return all;
  }

  bool is_alone_, is_first_of_two_;
  arena second_{1, 2, 1, 1, vocabulary_model::scale};  // where it is alone
  slip wrong_;
  bool left_{};
  double loss_before_{};
  std::map<std::pair<sequence_id, std::int64_t>, double> turned_;
};

struct model {
  slip wrong{};
  [[nodiscard]] std::unique_ptr<keyed_stage> make(int stage, int stages) const {
    return std::make_unique<keyed_stage>(stage, stages, wrong);
  }
  void load(keyed_stage& stage, std::span<const testing::document> batch) const {
    stage.keys.clear();
    for (const testing::document& d : batch) stage.keys.push_back(d.key);
  }
  [[nodiscard]] std::vector<double> gradients(const keyed_stage& stage) const { return stage.layer_gradients(); }
  [[nodiscard]] std::vector<double> vocabulary_gradients(const keyed_stage& stage) const {
    std::vector<double> all;
    for (std::size_t w = 0; w < stage.embedding.size(); ++w)
      all.insert(all.end(), {stage.embedding[w], stage.output_layer[w]});
    return all;
  }
  void zero(keyed_stage& stage) const { stage.zero(); }
};

testing::report tried(slip wrong) { return testing::stage_compute_laws(model{wrong}, {.cases = 4, .stages = 2}); }
bool says(const testing::report& r, std::string_view sentence) {
  return std::any_of(r.failures().begin(), r.failures().end(),
                     [&](const testing::failure& f) { return f.line.find(sentence) != std::string::npos; });
}

TEST(VocabularyComputeLaws, AcceptAComputeThatSpreadsItsVocabulary) {
  const testing::report r = tried(slip::none);
  EXPECT_TRUE(r) << r;
  EXPECT_GT(r.checks(2), 40);
}

TEST(VocabularyComputeLaws, FindGradientsThatAreNotThoseOfAllWords) {
  for (const slip wrong : {slip::adds_embedding_twice, slip::forgets_target, slip::has_own_softmax}) {
    const testing::report r = tried(wrong);
    EXPECT_TRUE(says(r, "gradients over stages are those of one stage")) << static_cast<int>(wrong) << r;
  }
}

TEST(VocabularyComputeLaws, FindWhatIsLeftOfAStepThatFailed) {
  const testing::report r = tried(slip::keeps_logits);
  EXPECT_TRUE(says(r, "after a step that failed nothing is held")) << r;
}

}  // namespace
}  // namespace slimpack::vocabulary_compute_laws_test
