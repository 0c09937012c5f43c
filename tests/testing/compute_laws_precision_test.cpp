#include <slimpack/testing/stage_compute_laws.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slimpack::compute_laws_precision_test {
namespace {

enum class fault { none, last_bias, one_tenth_too_much, no_message };

/// y_t = scale * (the mean of x_s, s <= t) + bias, in any precision. The loss is half the square of the last stage's y.
template <class T>
struct means {
  static constexpr backward_cuts cuts = backward_cuts::any;
  struct row {
    T x, mean, y;
  };
  fault wrong{};
  std::vector<std::uint64_t> keys{};
  T scale{T(0.75)}, bias{T(0.25)}, dscale{}, dbias{};
  double sum{};
  std::map<sequence_id, std::vector<row>> rows{};
  std::map<sequence_id, T> later{};  // of tokens that have run backward: their gradient of each x before, in sum

  message_format format() const { return {1, element_of<T>}; }
  double loss() const { return sum; }
  void abort_step() { rows.clear(), later.clear(), dscale = dbias = 0, sum = 0; }

  result<void> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    std::vector<row>& r = rows[p.slice.sequence];
    std::vector<T> result;
    for (std::int64_t i = 0; i < p.slice.length.value; ++i) {
      const auto t = static_cast<double>(p.slice.begin.value + i);
      const T x = in.empty() ? static_cast<T>(std::sin(t + static_cast<double>(keys[p.slice.sequence.value] % 100)))
                             : as<T>(in)[static_cast<std::size_t>(i)];
      T total = x;
      for (const row& k : r) total += k.x;
      const T mean = total / static_cast<T>(r.size() + 1);
      r.push_back({x, mean, scale * mean + bias});
      result.push_back(r.back().y);
      if (!out.wanted())
        sum += p.loss_weight / static_cast<double>(p.slice.length.value) * static_cast<double>(r.back().y) *
               r.back().y / 2;
    }
    return out.put(result);
  }
  result<void> backward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    std::vector<row>& r = rows[p.slice.sequence];
    T& after = later[p.slice.sequence];
    std::vector<T> result(static_cast<std::size_t>(p.slice.length.value));
    if (wrong == fault::last_bias) dbias = 0;
    for (std::size_t i = result.size(); i-- > 0;) {
      const row q = r.back();
      const auto weight = static_cast<T>(p.loss_weight / static_cast<double>(p.slice.length.value));
      const T dy = in.empty() ? weight * q.y : as<T>(in)[i];
      dscale += dy * q.mean * (wrong == fault::one_tenth_too_much && p.slice.begin > tokens{0} ? T(1.1) : T(1));
      dbias += dy;
      after += dy * scale / static_cast<T>(r.size());
      result[i] = after;
      r.pop_back();
    }
    if (r.empty()) later.erase(p.slice.sequence), rows.erase(p.slice.sequence);
    if (wrong == fault::no_message && out.wanted()) return success();
    return out.put(result);
  }
  void discard(const piece& p) { rows.erase(p.slice.sequence), later.erase(p.slice.sequence); }
};

template <class T>
struct model {
  fault wrong{};
  std::unique_ptr<means<T>> make(int stage, int) const {
    auto made = std::make_unique<means<T>>();
    made->wrong = wrong, made->scale += static_cast<T>(stage) / 8;
    return made;
  }
  void load(means<T>& s, std::span<const testing::document> batch) const {
    s.keys.clear(), s.sum = 0;
    for (const testing::document& d : batch) s.keys.push_back(d.key);
  }
  std::vector<double> gradients(const means<T>& s) const { return {s.dscale, s.dbias}; }
  void zero(means<T>& s) const { s.dscale = s.dbias = 0; }
};

template <class T>
struct named_model : model<T> {
  std::vector<testing::parameter> parameters(const means<T>&) const { return {{"scale", 1}, {"bias", 1}}; }
};

/// The first line, where all others are of the same sentence.
std::string only_sentence(const testing::report& r) {
  if (r.failures().empty()) return "nothing is broken";
  const auto sentence = [](const std::string& line) { return line.substr(0, line.find(':')); };
  for (const testing::failure& f : r.failures()) EXPECT_EQ(sentence(f.line), sentence(r.failures()[0].line));
  return r.failures()[0].line;
}
bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

TEST(ComputeLawsPrecision, SinglePrecisionIsNoFault) {
  const testing::report single = testing::stage_compute_laws(named_model<float>{}, {.one_model = false});
  EXPECT_TRUE(single) << single;
  const testing::report twice = testing::stage_compute_laws(named_model<double>{}, {.one_model = false});
  EXPECT_TRUE(twice) << twice;
}

TEST(ComputeLawsPrecision, SinglePrecisionIsNotDouble) {
  EXPECT_FALSE(testing::stage_compute_laws(named_model<float>{}, {.one_model = false, .tolerance = 1e-10}));
  EXPECT_LT(testing::tolerance_of(element_type::float64), testing::tolerance_of(element_type::float32));
  EXPECT_LT(testing::tolerance_of(element_type::float32), testing::tolerance_of(element_type::float16));
  EXPECT_LT(testing::tolerance_of(element_type::float16), testing::tolerance_of(element_type::bfloat16));
}

TEST(ComputeLawsPrecision, AFaultIsNamedByTheLawThatItBreaksFirst) {
  const std::string line =
      only_sentence(testing::stage_compute_laws(named_model<float>{{fault::last_bias}}, {.one_model = false}));
  EXPECT_TRUE(contains(line, "law 2, gradients of cut sequences are those of whole ones")) << line;
}

TEST(ComputeLawsPrecision, AFaultIsNamedByItsParameter) {
  const std::string bias =
      only_sentence(testing::stage_compute_laws(named_model<float>{{fault::last_bias}}, {.one_model = false}));
  EXPECT_TRUE(contains(bias, "most in bias of stage 0, element 0")) << bias;
  const testing::report scale =
      testing::stage_compute_laws(named_model<float>{{fault::one_tenth_too_much}}, {.one_model = false});
  ASSERT_FALSE(scale.failures().empty());
  for (const testing::failure& f : scale.failures()) EXPECT_TRUE(contains(f.line, "most in scale of stage ")) << f.line;
  const std::string number =
      only_sentence(testing::stage_compute_laws(model<float>{fault::last_bias}, {.one_model = false}));
  EXPECT_TRUE(contains(number, "most in element 1")) << number;
}

TEST(ComputeLawsPrecision, MessagesAreTriedUnasked) {
  const testing::report r = testing::stage_compute_laws(named_model<float>{{fault::no_message}}, {.one_model = false});
  EXPECT_TRUE(contains(only_sentence(r), "nothing was written, although a peer waits")) << r;
}

}  // namespace
}  // namespace slimpack::compute_laws_precision_test
