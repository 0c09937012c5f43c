#include "../../examples/train/model/attention.hpp"
#include "../../examples/train/model/mixers/gated_recurrence.hpp"
#include "../../examples/train/model/model_stage.hpp"
#include "exact_step.hpp"

#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace slimpack::mixers_test {
namespace {

using testing::generator;
using train::Index;
using rows = train::matrix<double>;
using stage_type = train::model_stage<double>;

constexpr train::config sizes{.hidden = 24, .heads = 4, .kv_heads = 2};
constexpr Index width = 6;  // of a head

rows random_rows(generator& random, Index count, Index columns) {
  rows made(count, columns);
  for (Index i = 0; i < made.size(); ++i) made.data()[i] = 2 * random.ratio() - 1;
  return made;
}

/// Rows of all heads of one layer, and the gradient of what they make.
struct layer_rows {
  rows q, k, v, a, d_o;

  layer_rows(generator& random, Index tokens)
      : q(random_rows(random, tokens, sizes.hidden)),
        k(random_rows(random, tokens, sizes.kv_width())),
        v(random_rows(random, tokens, sizes.kv_width())),
        a(((random_rows(random, tokens, sizes.heads).array() + 1) / 2).matrix()),
        d_o(random_rows(random, tokens, sizes.hidden)) {}
};

/// Outputs and gradients.
struct made_rows {
  rows o, dq, dk, dv, da;

  explicit made_rows(Index tokens)
      : o(rows::Zero(tokens, sizes.hidden)),
        dq(rows::Zero(tokens, sizes.hidden)),
        dk(rows::Zero(tokens, sizes.kv_width())),
        dv(rows::Zero(tokens, sizes.kv_width())),
        da(rows::Zero(tokens, sizes.heads)) {}
};

double distance(const rows& a, const rows& b) { return (a - b).norm() / std::max(1.0, b.norm()); }

void expect_same(const made_rows& found, const made_rows& expected, const std::string& named) {
  EXPECT_LT(distance(found.o, expected.o), 1e-13) << named;
  EXPECT_LT(distance(found.dq, expected.dq), 1e-13) << named;
  EXPECT_LT(distance(found.dk, expected.dk), 1e-13) << named;
  EXPECT_LT(distance(found.dv, expected.dv), 1e-13) << named;
  EXPECT_LT(distance(found.da, expected.da), 1e-13) << named;
}

/// Slices of a sequence of so many tokens, and of keys and values in blocks.
std::vector<Index> random_cuts(generator& random, Index tokens) {
  std::vector<Index> cuts{0};
  while (cuts.back() < tokens) cuts.push_back(std::min<Index>(tokens, cuts.back() + random.between(1, 70)));
  return cuts;
}

/// What a query head has of the rows.
struct head_rows {
  rows q, k, v, d_o;
};
head_rows head_of(const layer_rows& in, Index h) {
  const Index g = h / sizes.queries_per_kv();
  return {in.q.middleCols(h * width, width), in.k.middleCols(g * width, width), in.v.middleCols(g * width, width),
          in.d_o.middleCols(h * width, width)};
}

/// Attention in a window by whole matrices of all queries and keys.
made_rows window_by_matrices(const layer_rows& in, Index window) {
  const Index tokens = in.q.rows();
  made_rows made(tokens);
  for (Index h = 0; h < sizes.heads; ++h) {
    const Index g = h / sizes.queries_per_kv();
    const auto [q, k, v, d_o] = head_of(in, h);
    const double scale = 1 / std::sqrt(static_cast<double>(width));
    rows p = (scale * q * k.transpose()).array().exp().matrix();
    for (Index t = 0; t < tokens; ++t)
      for (Index s = 0; s < tokens; ++s)
        if (s > t || t - s >= window) p(t, s) = 0;
    for (Index t = 0; t < tokens; ++t) p.row(t) /= p.row(t).sum();
    const rows o = p * v, dp = d_o * v.transpose();
    rows ds = dp;
    for (Index t = 0; t < tokens; ++t) ds.row(t).array() -= o.row(t).dot(d_o.row(t));
    ds = scale * p.cwiseProduct(ds);
    made.o.middleCols(h * width, width) = o;
    made.dq.middleCols(h * width, width) = ds * k;
    made.dk.middleCols(g * width, width) += ds.transpose() * q;
    made.dv.middleCols(g * width, width) += p.transpose() * d_o;
  }
  return made;
}

TEST(Mixers, AWindowIsAttentionByMatricesWithAMask) {
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    generator random(seed);
    const Index tokens = random.between(1, 400);
    const Index window = seed == 1 ? 1 : random.between(1, 2 * tokens);
    const layer_rows in(random, tokens);
    train::config how = sizes;
    how.dense = seed > 8;
    train::attention<double> attention(how, window);
    made_rows found(tokens);
    rows lse(tokens, sizes.heads);
    const std::vector<Index> pages = random_cuts(random, tokens), slices = random_cuts(random, tokens);
    const auto blocks_up_to = [&](Index end) {
      std::vector<train::key_value_block<double>> blocks;
      for (std::size_t i = 0; i + 1 < pages.size() && pages[i] < end; ++i)
        blocks.push_back({pages[i], std::min(pages[i + 1], end) - pages[i], in.k.row(pages[i]).data(),
                          in.v.row(pages[i]).data(), found.dk.row(pages[i]).data(), found.dv.row(pages[i]).data()});
      return blocks;
    };
    for (std::size_t i = 0; i + 1 < slices.size(); ++i) {
      const Index from = slices[i], size = slices[i + 1] - from;
      attention.forward(in.q.middleRows(from, size), from, blocks_up_to(from + size), found.o.middleRows(from, size),
                        lse.middleRows(from, size));
    }
    for (std::size_t i = slices.size() - 1; i-- > 0;) {
      const Index from = slices[i], size = slices[i + 1] - from;
      const rows products = attention.products(found.o.middleRows(from, size), in.d_o.middleRows(from, size));
      attention.backward(in.q.middleRows(from, size), from, blocks_up_to(from + size), lse.middleRows(from, size),
                         products, in.d_o.middleRows(from, size), found.dq.middleRows(from, size));
    }
    expect_same(
        found, window_by_matrices(in, window),
        "seed " + std::to_string(seed) + ", " + std::to_string(tokens) + " tokens, window " + std::to_string(window));
  }
}

/// A linear layer by whole matrices, without a state.
/// Formula   o = (M * q k^T) v with M_ts = a_{s+1} ... a_t for s <= t, else 0. A gate a_u is a factor of
///           M_ts where s < u <= t, so da_u = sum of M_ts (q_t k_s) (do_t v_s) over these, over a_u
made_rows linear_by_matrices(const layer_rows& in) {
  const Index tokens = in.q.rows();
  made_rows made(tokens);
  for (Index h = 0; h < sizes.heads; ++h) {
    const Index g = h / sizes.queries_per_kv();
    const auto [q, k, v, d_o] = head_of(in, h);
    rows m = rows::Zero(tokens, tokens);
    for (Index s = 0; s < tokens; ++s) {
      m(s, s) = 1;
      for (Index t = s + 1; t < tokens; ++t) m(t, s) = m(t - 1, s) * in.a(t, h);
    }
    const rows scores = m.cwiseProduct(q * k.transpose()), slopes = m.cwiseProduct(d_o * v.transpose());
    made.o.middleCols(h * width, width) = scores * v;
    made.dq.middleCols(h * width, width) = slopes * k;
    made.dk.middleCols(g * width, width) += slopes.transpose() * q;
    made.dv.middleCols(g * width, width) += scores.transpose() * d_o;
    const rows both = scores.cwiseProduct(d_o * v.transpose());
    for (Index u = 1; u < tokens; ++u) made.da(u, h) = both.bottomLeftCorner(tokens - u, u).sum() / in.a(u, h);
  }
  return made;
}

TEST(Mixers, AStateIsALinearLayerByMatrices) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    generator random(seed);
    const Index tokens = random.between(1, 120);
    const layer_rows in(random, tokens);
    train::gated_recurrence<double> recurrence(sizes);
    const std::size_t size = train::gated_recurrence<double>::size(sizes);
    made_rows found(tokens);
    const std::vector<Index> slices = random_cuts(random, tokens);
    std::vector<std::vector<double>> states{std::vector<double>(size)};  // before each slice
    for (std::size_t i = 0; i + 1 < slices.size(); ++i) {
      const Index from = slices[i], count = slices[i + 1] - from;
      std::vector<double> run = states.back(), advanced = run;
      recurrence.forward(in.q.middleRows(from, count), in.k.middleRows(from, count), in.v.middleRows(from, count),
                         in.a.middleRows(from, count), run, found.o.middleRows(from, count));
      recurrence.advance(in.k.middleRows(from, count), in.v.middleRows(from, count), in.a.middleRows(from, count),
                         advanced);
      EXPECT_EQ(run, advanced);
      states.push_back(run);
    }
    std::vector<double> d_state(size);
    for (std::size_t i = slices.size() - 1; i-- > 0;) {
      const Index from = slices[i], count = slices[i + 1] - from;
      recurrence.backward(in.q.middleRows(from, count), in.k.middleRows(from, count), in.v.middleRows(from, count),
                          in.a.middleRows(from, count), states[i], in.d_o.middleRows(from, count), d_state,
                          found.dq.middleRows(from, count), found.dk.middleRows(from, count),
                          found.dv.middleRows(from, count), found.da.middleRows(from, count));
    }
    expect_same(found, linear_by_matrices(in),
                "seed " + std::to_string(seed) + ", " + std::to_string(tokens) + " tokens");
  }
}

const train::config mixed = [] {
  train::config c = tests::small_model;
  using enum train::mixer_kind;
  c.layers = 3;
  c.mixers = {{}, {window, 4}, {linear}};
  return c;
}();

piece whole_of(std::uint32_t sequence, tokens length, double weight) {
  return {{{sequence}, {0}, length}, length, 0, weight};
}

/// Loss of a text, and gradients in the stage.
double run_whole(stage_type& stage, tokens length) {
  outgoing nowhere;
  stage.begin_step({});
  const piece whole = whole_of(0, length, 1);
  EXPECT_TRUE(stage.forward({&whole, 1}, {}, nowhere));
  EXPECT_TRUE(stage.backward({&whole, 1}, {}, nowhere));
  return stage.loss();
}

std::vector<std::uint8_t> random_text(generator& random, std::int64_t size) {
  std::vector<std::uint8_t> text;
  for (std::int64_t i = 0; i < size; ++i) text.push_back(static_cast<std::uint8_t>(random.between(0, 15)));
  return text;
}

// Central differences, as of the model with full attention (model_test.cpp); weights of gates, queries, keys and values
// of every layer among them.
TEST(Mixers, GradientsAreFiniteDifferencesOfTheLoss) {
  generator random(5);
  const std::vector<std::uint8_t> text = random_text(random, 13);
  stage_type stage(
      mixed, {}, 0, [&](sequence_id) { return std::span(text); }, 5);
  for (double& w : stage.weights().values()) w += 0.3 * (random.ratio() - 0.5);
  run_whole(stage, {13});
  const std::vector<double> gradients(stage.weights().gradients().begin(), stage.weights().gradients().end());
  constexpr double step = 1e-5;
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < gradients.size(); i += 3) {
    double& w = stage.weights().values()[i];
    const double before = w;
    w = before + step;
    const double above = run_whole(stage, {13});
    w = before - step;
    const double slope = (above - run_whole(stage, {13})) / (2 * step);
    w = before;
    difference += (slope - gradients[i]) * (slope - gradients[i]), norm += slope * slope;
  }
  EXPECT_LT(std::sqrt(difference / norm), 1e-7);
}

TEST(Mixers, OfFullAttentionTheModelIsTheOneThatNamesNone) {
  generator random(8);
  const std::vector<std::uint8_t> text = random_text(random, 30);
  train::config named = tests::small_model;
  named.mixers = {{}};
  const train::documents texts = [&](sequence_id) { return std::span(text); };
  stage_type plain(tests::small_model, {}, 0, texts, 7), full(named, {}, 0, texts, 7), wide(named, {}, 0, texts, 7);
  EXPECT_EQ(run_whole(plain, {30}), run_whole(full, {30}));
  EXPECT_TRUE(std::ranges::equal(plain.weights().gradients(), full.weights().gradients()));
  named.mixers = {{train::mixer_kind::window, 30}};
  stage_type windowed(named, {}, 0, texts, 7);
  EXPECT_EQ(run_whole(plain, {30}), run_whole(windowed, {30})) << "a window as long as the text is no window";
  named.mixers = {{train::mixer_kind::window, 3}};
  stage_type narrow(named, {}, 0, texts, 7);
  EXPECT_NE(run_whole(plain, {30}), run_whole(narrow, {30}));
}

// Other layers begin with the same weights, whatever mixes tokens in them.
TEST(Mixers, BeginWithTheWeightsOfFullAttention) {
  const train::documents texts = [](sequence_id) { return std::span<const std::uint8_t>(); };
  train::config plain = mixed;
  plain.mixers = {};
  stage_type a(plain, {}, 0, texts, 7), b(mixed, {}, 0, texts, 7);
  std::size_t at = 0, more = 0;
  for (std::size_t t = 0; t < b.weights().tensors().size(); ++t) {
    const train::tensor& own = b.weights().tensors()[t];
    if (own.name == "layers.2.state_gate") {
      EXPECT_EQ(own.rows, mixed.heads);
      EXPECT_EQ(own.columns, mixed.hidden);
      ++more;
      continue;
    }
    EXPECT_EQ(own.name, a.weights().tensors()[at].name);
    EXPECT_TRUE(std::ranges::equal(b.weights().values(t), a.weights().values(at++))) << own.name;
  }
  EXPECT_EQ(at, a.weights().tensors().size());
  EXPECT_EQ(more, 1u);
}

/// A text forwards in some slices and backwards in others, which nobody has told.
double untold_error(const train::config& model, std::uint64_t seed) {
  generator random(seed);
  const std::int64_t length = random.between(2, 40);
  const std::vector<std::uint8_t> text = random_text(random, length);
  const train::documents texts = [&](sequence_id) { return std::span(text); };
  stage_type uncut(model, {}, 0, texts, 7), cut(model, {.quantum = {1}}, 0, texts, 7);
  const double loss = run_whole(uncut, {length});
  cut.begin_step({});
  const auto pieces = [&] {
    std::vector<piece> all;
    for (std::int64_t at = 0; at < length;) {
      const std::int64_t end = std::min(length, at + random.between(1, 9));
      const double valid = static_cast<double>(end - at - (end == length));
      all.push_back({{{0}, {at}, {end - at}}, {length}, 0, valid / static_cast<double>(length - 1)});
      at = end;
    }
    return all;
  };
  outgoing nowhere;
  for (const piece& p : pieces()) EXPECT_TRUE(cut.forward({&p, 1}, {}, nowhere));
  std::vector<piece> back = pieces();
  std::ranges::reverse(back);
  for (const piece& p : back) EXPECT_TRUE(cut.backward({&p, 1}, {}, nowhere));
  EXPECT_EQ(cut.held(), bytes{});
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < cut.weights().gradients().size(); ++i) {
    const double expected = uncut.weights().gradients()[i], off = cut.weights().gradients()[i] - expected;
    difference += off * off, norm += expected * expected;
  }
  return std::max(std::sqrt(difference / norm), 100 * std::abs(cut.loss() / loss - 1));
}

// Where no state is kept at the beginning of a backward slice, it is made again.
TEST(Mixers, BackwardSlicesBeginAnywhereEvenIfTheOutlineTellsNone) {
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    train::config model = mixed;
    if (seed % 2 == 0) model.recompute = costs::recompute::none;
    const double error = untold_error(model, seed);
    EXPECT_LT(error, 1e-11) << "seed " << seed;
    worst = std::max(worst, error);
  }
  std::printf("largest relative error %.2g\n", worst);
  EXPECT_GT(worst, 0);
}

TEST(Mixers, AStateIsKeptForEachPieceAndLinearLayer) {
  const shape on{.stages = 2, .chunks = 2, .quantum = {2}};
  train::config model = tests::deep_model;
  model.mixers = {{}, {train::mixer_kind::linear}};
  const double state = 8.0 * model.hidden * model.head_width();
  EXPECT_EQ(stage_type::kept_of_piece(model, on, 0), bytes{2 * state});  // a linear layer on each chunk
  model.mixers = {{}, {}, {}, {train::mixer_kind::linear}};
  EXPECT_EQ(stage_type::kept_of_piece(model, {.stages = 4}, 0), bytes{0});
  EXPECT_EQ(stage_type::kept_of_piece(model, {.stages = 4}, 1), bytes{state});
  EXPECT_EQ(stage_type::rates(model, on, 0).live_token, stage_type::rates(tests::deep_model, on, 0).live_token);
  const double accumulators = stage_type::rates(tests::deep_model, on, 0).gradient_token;
  EXPECT_EQ(stage_type::rates(model, {.stages = 1}, 0).gradient_token, 2 * accumulators * 6 / 8);
}

TEST(Mixers, RefusesAWindowOfNoToken) {
  train::config model = tests::small_model;
  model.mixers = {{}, {train::mixer_kind::window, 0}};
  EXPECT_EQ(model.check().error().detail, "a window has at least 1 token, the query's own, not 0");
}

}  // namespace
}  // namespace slimpack::mixers_test
