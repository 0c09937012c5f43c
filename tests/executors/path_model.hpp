#ifndef SLIMPACK_TESTS_EXECUTORS_PATH_MODEL_HPP
#define SLIMPACK_TESTS_EXECUTORS_PATH_MODEL_HPP

#include "forests.hpp"

#include <slimpack/core/sequence.hpp>
#include <slimpack/testing/generator.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::tests {

/// A transformer with nothing left out that samples could be told apart by: words are embedded, each part adds causal
/// attention of one head, and the logits of the next word are linear in the last part's rows. All in doubles.
struct path_model {
  static constexpr std::size_t width = 3;
  static constexpr std::size_t words = 5;
  using row = std::array<double, width>;
  using matrix = std::array<row, width>;
  using table = std::array<row, words>;  // of an embedding, or of the output layer

  /// Weights of a part, or their gradients.
  struct part {
    matrix query{}, key{}, value{}, out{};
  };

  static std::size_t word(sequence_id s, std::int64_t at) {
    return static_cast<std::size_t>((static_cast<std::int64_t>(s.value) * 7 + at * at * 3 + at) % 5);
  }
  /// Whose weights are one's, drawn at random.
  static part weights_of(int number) {
    testing::generator random(static_cast<std::uint64_t>(100 + number));
    part made;
    for (matrix* const m : {&made.query, &made.key, &made.value, &made.out}) draw(*m, random);
    return made;
  }
  static table embedding() { return drawn(1); }
  static table output() { return drawn(2); }

  static row times(const matrix& m, const row& x) {
    row y{};
    for (std::size_t i = 0; i < width; ++i)
      for (std::size_t j = 0; j < width; ++j) y[i] += m[i][j] * x[j];
    return y;
  }
  static void add_transposed(const matrix& m, const row& dy, row& dx) {
    for (std::size_t i = 0; i < width; ++i)
      for (std::size_t j = 0; j < width; ++j) dx[j] += m[i][j] * dy[i];
  }
  static void add_outer(const row& dy, const row& x, matrix& to) {
    for (std::size_t i = 0; i < width; ++i)
      for (std::size_t j = 0; j < width; ++j) to[i][j] += dy[i] * x[j];
  }
  static double dot(const row& a, const row& b) {
    double sum = 0;
    for (std::size_t i = 0; i < width; ++i) sum += a[i] * b[i];
    return sum;
  }
  static void add(double f, const row& x, row& to) {
    for (std::size_t i = 0; i < width; ++i) to[i] += f * x[i];
  }

  /// Attention of one query to keys and values; also the logarithm of its sum, which its gradients need.
  struct attended {
    row sum{};
    double log_sum{};
  };
  static attended attention(const row& query, std::span<const row> keys, std::span<const row> values) {
    double most = -1e300;
    for (const row& k : keys) most = std::max(most, scale() * dot(query, k));
    double all = 0;
    for (const row& k : keys) all += std::exp(scale() * dot(query, k) - most);
    attended a{{}, most + std::log(all)};
    for (std::size_t j = 0; j < keys.size(); ++j)
      add(std::exp(scale() * dot(query, keys[j]) - a.log_sum), values[j], a.sum);
    return a;
  }
  /// da: gradient of its sum; adds to the gradients of keys and values, and gives that of the query.
  static row attention_gradients(const row& query, const attended& a, const row& da, std::span<const row> keys,
                                 std::span<const row> values, std::span<row> dkeys, std::span<row> dvalues) {
    row dquery{};
    for (std::size_t j = 0; j < keys.size(); ++j) {
      const double p = std::exp(scale() * dot(query, keys[j]) - a.log_sum);
      const double ds = scale() * p * (dot(da, values[j]) - dot(da, a.sum));
      add(p, da, dvalues[j]);
      add(ds, query, dkeys[j]);
      add(ds, keys[j], dquery);
    }
    return dquery;
  }

  /// -log of the probability of a word behind a row of the last part.
  static double surprise(const row& y, const table& output, std::size_t next) {
    double all = 0;
    for (const row& of : output) all += std::exp(dot(of, y));
    return std::log(all) - dot(output[next], y);
  }
  /// f times its gradients.
  static void surprise_gradients(double f, const row& y, const table& output, std::size_t next, row& dy, table& to) {
    double all = 0;
    for (const row& of : output) all += std::exp(dot(of, y));
    for (std::size_t w = 0; w < words; ++w) {
      const double d = f * (std::exp(dot(output[w], y)) / all - (w == next ? 1 : 0));
      add(d, output[w], dy);
      add(d, y, to[w]);
    }
  }

  /// What a step comes to: of the parts in order, of the embedding, of the output layer.
  struct gradients {
    double loss{};
    double size{};  ///< sum of what is added up in the loss, without signs
    std::vector<double> all;
  };

  /// Of all samples, each alone and whole. The loss is the mean over targets of -log of their probability, or, where
  /// samples have one loss each, the sum of their weights times the geometric mean of these probabilities.
  enum class loss_of : unsigned char { tokens, samples };
  static gradients flat(const random_forest& f, int parts, loss_of which = loss_of::tokens) {
    const double count = f.count();
    gradients sum;
    std::vector<part> weights, dweights(static_cast<std::size_t>(parts));
    for (int k = 0; k < parts; ++k) weights.push_back(weights_of(k));
    const table words_of = embedding(), logits_of = output();
    table dwords{}, dlogits{};
    for (const one_sample& s : f.samples) {
      const std::vector<sequence_id> path = f.path_of(s);
      const std::size_t n = path.size();
      std::vector<std::size_t> text(n);
      for (std::size_t t = 0; t < n; ++t) text[t] = word(path[t], static_cast<std::int64_t>(t));
      std::vector<std::vector<row>> x(weights.size() + 1, std::vector<row>(n)), q = x, k = x, v = x;
      std::vector<std::vector<attended>> a(weights.size(), std::vector<attended>(n));
      for (std::size_t t = 0; t < n; ++t) x[0][t] = words_of[text[t]];
      for (std::size_t i = 0; i < weights.size(); ++i)
        for (std::size_t t = 0; t < n; ++t) {
          q[i][t] = times(weights[i].query, x[i][t]);
          k[i][t] = times(weights[i].key, x[i][t]);
          v[i][t] = times(weights[i].value, x[i][t]);
          a[i][t] = attention(q[i][t], std::span(k[i]).first(t + 1), std::span(v[i]).first(t + 1));
          x[i + 1][t] = x[i][t];
          add(1, times(weights[i].out, a[i][t].sum), x[i + 1][t]);
        }
      std::vector<row> dx(n);
      double surprises = 0, targets = 0;
      for (std::size_t t = 1; t < n; ++t)
        if (s.is_target[t]) surprises += surprise(x.back()[t - 1], logits_of, text[t]), ++targets;
      if (targets == 0) continue;
      const bool of_tokens = which == loss_of::tokens;
      const double loss = s.weight * (of_tokens ? surprises / count : std::exp(-surprises / targets));
      const double factor = of_tokens ? s.weight / count : -loss / targets;
      sum.loss += loss, sum.size += std::abs(loss);
      for (std::size_t t = 1; t < n; ++t)
        if (s.is_target[t]) surprise_gradients(factor, x.back()[t - 1], logits_of, text[t], dx[t - 1], dlogits);
      for (std::size_t i = weights.size(); i-- > 0;) {
        std::vector<row> dq(n), dk(n), dv(n);
        for (std::size_t t = 0; t < n; ++t) {
          row da{};
          add_transposed(weights[i].out, dx[t], da);
          dq[t] = attention_gradients(q[i][t], a[i][t], da, std::span(k[i]).first(t + 1), std::span(v[i]).first(t + 1),
                                      dk, dv);
        }
        for (std::size_t t = 0; t < n; ++t) {
          add_outer(dx[t], a[i][t].sum, dweights[i].out);
          add_outer(dq[t], x[i][t], dweights[i].query);
          add_outer(dk[t], x[i][t], dweights[i].key);
          add_outer(dv[t], x[i][t], dweights[i].value);
          add_transposed(weights[i].query, dq[t], dx[t]);
          add_transposed(weights[i].key, dk[t], dx[t]);
          add_transposed(weights[i].value, dv[t], dx[t]);
        }
      }
      for (std::size_t t = 0; t < n; ++t) add(1, dx[t], dwords[text[t]]);
    }
    for (const part& d : dweights) append(d, sum.all);
    append(dwords, sum.all), append(dlogits, sum.all);
    return sum;
  }

  static void append(const part& d, std::vector<double>& to) {
    for (const matrix* const m : {&d.query, &d.key, &d.value, &d.out})
      for (const row& r : *m) to.insert(to.end(), r.begin(), r.end());
  }
  static void append(const table& d, std::vector<double>& to) {
    for (const row& r : d) to.insert(to.end(), r.begin(), r.end());
  }

 private:
  static double scale() { return 1 / std::sqrt(static_cast<double>(width)); }
  template <class Rows>
  static void draw(Rows& rows, testing::generator& random) {
    for (row& r : rows)
      for (double& x : r) x = 2 * random.ratio() - 1;
  }
  static table drawn(std::uint64_t seed) {
    testing::generator random(seed);
    table made;
    draw(made, random);
    return made;
  }
};

}  // namespace slimpack::tests

#endif
