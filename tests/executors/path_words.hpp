#ifndef SLIMPACK_TESTS_EXECUTORS_PATH_WORDS_HPP
#define SLIMPACK_TESTS_EXECUTORS_PATH_WORDS_HPP

#include "path_stage.hpp"

#include <slimpack/executors/message_format.hpp>
#include <slimpack/executors/outgoing.hpp>
#include <slimpack/executors/piece.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::tests {

/// A stage of path_model that also has its share of the words: those whose number is its own, in steps of the stages. A
/// token may have several targets, one for each child of its sequence: its partial row has their weighted sums.
class path_words : public path_packs<backward_cuts::any> {
 public:
  using base = path_packs<backward_cuts::any>;
  path_words(int stage, int stages, int chunks, tokens quantum) : base(stage, stages, chunks, quantum) {
    has_words_ = false;  // of all
  }

  [[nodiscard]] vocabulary_format vocabulary_rows() const {
    return {{static_cast<std::int64_t>(partial_width), element_type::float64}, {1, element_type::float64}};
  }

  void embed(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
    const std::span<const row> before = rows_of(in);
    const std::span<row> sums = rows_of(out.bytes());
    each_token(pack, [&](std::size_t at, const piece& p, std::size_t t) {
      sums[at] = before.empty() ? row{} : before[at];
      if (is_own(word(p, t))) path_model::add(1, embedded(p, t), sums[at]);
    });
  }
  void embed_gradients(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
    const std::span<const row> dx = rows_of(in);
    const std::span<row> on = rows_of(out.bytes());
    each_token(pack, [&](std::size_t at, const piece& p, std::size_t t) {
      if (is_own(word(p, t))) path_model::add(1, dx[at], dwords_[word(p, t)]);
      if (!on.empty()) on[at] = dx[at];
    });
  }

  void output(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
    const std::span<const row> y = rows_of(in);
    const std::span<partial> parts = as<partial>(out.bytes());
    kept_[key_of(pack)] = {y.begin(), y.end()};
    each_token(pack, [&](std::size_t at, const piece&, std::size_t) {
      parts[at] = {};
      for (std::size_t w = 0; w < path_model::words; ++w) {
        if (!is_own(w)) continue;
        const double e = std::exp(path_model::dot(path_model::output()[w], y[at]));
        parts[at][0] += e;
        for (std::size_t i = 0; i < path_model::width; ++i) parts[at][2 + i] += e * path_model::output()[w][i];
      }
    });
    each_target(pack, [&](std::size_t at, double f, std::size_t next) {
      if (!is_own(next)) return;
      parts[at][1] += f * path_model::dot(path_model::output()[next], y[at]);
      for (std::size_t i = 0; i < path_model::width; ++i)
        parts[at][2 + path_model::width + i] += f * path_model::output()[next][i];
    });
  }
  void gather_output(std::span<const piece> pack, std::span<const std::span<const std::byte>> partials, outgoing& rows,
                     outgoing& statistics) {
    const std::vector<double> factors = factors_of(pack);
    const std::span<row> dy = rows_of(rows.bytes());
    const std::span<double> logs = as<double>(statistics.bytes());
    each_token(pack, [&](std::size_t at, const piece&, std::size_t) {
      partial sum{};
      for (const std::span<const std::byte> one : partials)
        for (std::size_t i = 0; i < partial_width; ++i) sum[i] += as<const partial>(one)[at][i];
      logs[at] = std::log(sum[0]);
      loss_ += factors[at] * logs[at] - sum[1];
      for (std::size_t i = 0; i < path_model::width; ++i)
        dy[at][i] = factors[at] * sum[2 + i] / sum[0] - sum[2 + path_model::width + i];
    });
  }
  void output_weights(std::span<const piece> pack, std::span<const std::byte> in) {
    const std::vector<double> factors = factors_of(pack);
    const std::span<const double> logs = as<const double>(in);
    const std::vector<row> y = std::move(kept_.extract(key_of(pack)).mapped());
    each_token(pack, [&](std::size_t at, const piece&, std::size_t) {
      for (std::size_t w = 0; w < path_model::words; ++w)
        if (is_own(w))
          path_model::add(factors[at] * std::exp(path_model::dot(path_model::output()[w], y[at]) - logs[at]), y[at],
                          dlogits_[w]);
    });
    each_target(pack, [&](std::size_t at, double f, std::size_t next) {
      if (is_own(next)) path_model::add(-f, y[at], dlogits_[next]);
    });
  }

 private:
  /// Sum of exponentials; of the targets' weighted logits; weighted rows of all words and of the targets.
  static constexpr std::size_t partial_width = 2 + 2 * path_model::width;
  using partial = std::array<double, partial_width>;

  template <class T, class Byte>
  [[nodiscard]] static std::span<T> as(std::span<Byte> bytes) {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  [[nodiscard]] static std::pair<sequence_id, tokens> key_of(std::span<const piece> pack) {
    return {pack.front().slice.sequence, pack.front().slice.begin};
  }
  [[nodiscard]] bool is_own(std::size_t w) const {
    return w % static_cast<std::size_t>(stages_) == static_cast<std::size_t>(stage_);
  }

  /// Calls visit(token of the pack, piece, token of the piece).
  template <class Visit>
  static void each_token(std::span<const piece> pack, const Visit& visit) {
    std::size_t at = 0;
    for (const piece& p : pack)
      for (std::size_t t = 0; t < static_cast<std::size_t>(p.slice.length.value); ++t) visit(at++, p, t);
  }
  /// Calls visit(token of the pack, factor, next word) for each edge.
  template <class Visit>
  void each_target(std::span<const piece> pack, const Visit& visit) const {
    std::size_t first = 0;
    for (const piece& p : pack) {
      each_edge(p, [&](std::size_t t, double f, sequence_id s, std::int64_t at) { visit(first + t, f, word(s, at)); });
      first += static_cast<std::size_t>(p.slice.length.value);
    }
  }
  /// By token of the pack: those of all its targets.
  [[nodiscard]] std::vector<double> factors_of(std::span<const piece> pack) const {
    std::size_t size = 0;
    for (const piece& p : pack) size += static_cast<std::size_t>(p.slice.length.value);
    std::vector<double> factors(size);
    each_target(pack, [&](std::size_t at, double f, std::size_t) { factors[at] += f; });
    return factors;
  }

  std::map<std::pair<sequence_id, tokens>, std::vector<row>> kept_;  // by the pack's first slice
};

}  // namespace slimpack::tests

#endif
