#ifndef SLIMPACK_TESTS_EXECUTORS_VOCABULARY_MODEL_HPP
#define SLIMPACK_TESTS_EXECUTORS_VOCABULARY_MODEL_HPP

#include "prefix_model.hpp"

#include <slimpack/concepts.hpp>
#include <slimpack/executors/hooks.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace slimpack {

/// The prefix model (prefix_model.hpp) between an embedding and an output layer with softmax and cross entropy, of
/// hidden size 1. Weights are scaled so that values stay near 1 over many layers. Some tokens have no loss.
struct vocabulary_model {
  static constexpr int words = 11;
  static constexpr double scale = 1.0 / 64;
  static int word(sequence_id s, std::int64_t t) { return static_cast<int>((s.value * 7 + t * t + t * 3) % words); }
  static int target(sequence_id s, std::int64_t t) { return word(s, t + 1); }
  static bool is_valid(sequence_id s, std::int64_t t) { return (s.value * 3 + t) % 4 != 0; }
  static double embedded(int w) { return std::sin(1 + 3.7 * w); }
  static double output_weight(int w) { return 1.5 * std::cos(2 + 2.3 * w); }
  static std::int64_t valid_in(const slice& s) {
    std::int64_t n = 0;
    for (std::int64_t t = s.begin.value; t < s.end().value; ++t) n += is_valid(s.sequence, t);
    return n;
  }

  struct gradients {
    double loss{};
    std::vector<double> layers, embedding, output;
  };

  /// Loss and gradients of whole sequences and of a whole vocabulary, without slices, stages or messages.
  static gradients whole(std::span<const tokens> lengths, int layers) {
    gradients g{0, std::vector<double>(static_cast<std::size_t>(layers)), std::vector<double>(words),
                std::vector<double>(words)};
    std::int64_t valid = 0;
    for (std::uint32_t i = 0; i < lengths.size(); ++i) valid += valid_in({{i}, {0}, lengths[i]});
    for (std::uint32_t i = 0; i < lengths.size(); ++i) {
      const sequence_id s{i};
      const auto n = static_cast<std::size_t>(lengths[i].value);
      std::vector<std::vector<double>> sum(static_cast<std::size_t>(layers), std::vector<double>(n));
      std::vector<double> x(n), dy(n);
      for (std::size_t t = 0; t < n; ++t) x[t] = embedded(word(s, static_cast<std::int64_t>(t)));
      for (int k = 0; k < layers; ++k) {
        double running = 0;
        for (std::size_t t = 0; t < n; ++t) {
          sum[static_cast<std::size_t>(k)][t] = running += x[t];
          x[t] += scale * prefix_model::weight(k) * running;
        }
      }
      for (std::size_t t = 0; t < n; ++t) {
        const auto at = static_cast<std::int64_t>(t);
        if (!is_valid(s, at)) continue;
        double exponentials = 0;
        for (int w = 0; w < words; ++w) exponentials += std::exp(output_weight(w) * x[t]);
        g.loss += (std::log(exponentials) - output_weight(target(s, at)) * x[t]) / static_cast<double>(valid);
        for (int w = 0; w < words; ++w) {
          const double d = (std::exp(output_weight(w) * x[t]) / exponentials - (w == target(s, at) ? 1 : 0)) /
                           static_cast<double>(valid);
          g.output[static_cast<std::size_t>(w)] += d * x[t];
          dy[t] += d * output_weight(w);
        }
      }
      for (int k = layers; k-- > 0;) {
        double later = 0;
        for (std::size_t t = n; t-- > 0;) {
          g.layers[static_cast<std::size_t>(k)] += dy[t] * sum[static_cast<std::size_t>(k)][t];
          later += dy[t];
          dy[t] += scale * prefix_model::weight(k) * later;
        }
      }
      for (std::size_t t = 0; t < n; ++t)
        g.embedding[static_cast<std::size_t>(word(s, static_cast<std::int64_t>(t)))] += dy[t];
    }
    return g;
  }
};

/// What stages have of a spread vocabulary, which is as large as that of the model: the words of a stage, and the
/// tokens of a pack.
class share_of_words {
 protected:
  share_of_words(int stage, int stages)
      : first_(vocabulary_model::words * stage / stages), end_(vocabulary_model::words * (stage + 1) / stages) {}

  [[nodiscard]] bool is_own(int word) const { return word >= first_ && word < end_; }
  [[nodiscard]] std::vector<double> share() const {
    return std::vector<double>(static_cast<std::size_t>(end_ - first_));
  }
  static std::size_t size_of(std::span<const piece> pack) {
    std::size_t n = 0;
    for (const piece& p : pack) n += static_cast<std::size_t>(p.slice.length.value);
    return n;
  }
  static std::vector<double> copied(std::span<const std::byte> in) {
    const std::span<const double> from = as<double>(in);
    return {from.begin(), from.end()};
  }
  template <class Visit>
  static void each_token(std::span<const piece> pack, const Visit& visit) {
    std::size_t k = 0;
    for (const piece& p : pack)
      for (std::int64_t t = p.slice.begin.value; t < p.slice.end().value; ++t) visit(k++, p, t);
  }

  int first_, end_;  // words
};

/// What a call of a spread vocabulary does wrong.
enum class vocabulary_fault { none, throws, returns_error, writes_nothing, puts_too_little };

/// A stage of it with its share of the words; Layers: any form of the prefix model, of one layer a part, or with shared
/// rows of two.
template <class Layers>
class vocabulary_stage : public Layers, share_of_words {
 public:
  static constexpr int layers = detail::shares_rows<Layers> ? 2 : 1;

  vocabulary_stage(int stage, int stages, int chunks)
      : Layers(stage, stages, chunks, detail::shares_rows<Layers> ? layers : 1, vocabulary_model::scale),
        share_of_words(stage, stages),
        is_first_(stage == 0),
        is_last_(stage + 1 == stages),
        stages_(stages),
        embedding(share()),
        output_layer(share()) {}

  [[nodiscard]] int first_word() const { return first_; }
  [[nodiscard]] vocabulary_format vocabulary_rows() const {
    return {{std::int64_t{width}, element_type::float64}, {1, element_type::float64}};
  }
  [[nodiscard]] tokens valid_tokens(const slice& s) const { return {vocabulary_model::valid_in(s)}; }
  void begin_step(const step_outline& o) { valid_ = static_cast<double>(o.valid_tokens.value), calls = {}; }
  [[nodiscard]] double loss() const { return loss_; }
  [[nodiscard]] bytes held() const {
    return slimpack::held_by(static_cast<const Layers&>(*this)) + bytes{static_cast<double>(kept_.size())};
  }
  void abort_step() {
    kept_.clear();
    slimpack::abort_step(static_cast<Layers&>(*this));
  }
  void zero() {
    Layers::zero();
    loss_ = 0;
    embedding = output_layer = share();
  }
  template <class Group>
  result<void> reduce(Group& group) {
    for (std::vector<double>* const each : {&embedding, &output_layer})
      if (result<void> done = group.sum(std::span<double>(*each)); !done) return done;
    return Layers::reduce(group);
  }

  result<void> embed(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
    if (result<void> fine = begin('E', pack, in.empty() == is_first_); !fine) return fine;
    std::vector<double> rows = is_first_ ? std::vector<double>(size_of(pack)) : copied(in);
    each_token(pack, [&](std::size_t k, const piece& p, std::int64_t t) {
      if (const int w = vocabulary_model::word(p.slice.sequence, t); is_own(w))
        rows[k] += vocabulary_model::embedded(w);
    });
    return sent(out, rows);
  }

  result<void> output(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
    if (result<void> fine = begin('V', pack, !in.empty()); !fine) return fine;
    kept& here = kept_.emplace_back();
    here.pack.assign(pack.begin(), pack.end());
    here.x = copied(in);
    std::vector<double> rows;
    each_token(pack, [&](std::size_t k, const piece& p, std::int64_t t) {
      partial r;
      for (int w = first_; w < end_; ++w) {
        const double weight = vocabulary_model::output_weight(w), logit = weight * here.x[k];
        r.add({logit, 1, -infinity, weight, 0});
        if (w == vocabulary_model::target(p.slice.sequence, t)) r.target_logit = logit, r.target_row = weight;
        here.logits.push_back(logit);
      }
      rows.insert(rows.end(), {r.largest, r.exponentials, r.target_logit, r.gradient, r.target_row});
    });
    return sent(out, rows);
  }

  result<void> gather_output(std::span<const piece> pack, std::span<const std::span<const std::byte>> partials,
                             outgoing& out, outgoing& statistics) {
    if (result<void> fine = begin('V', pack, is_last_ && partials.size() == static_cast<std::size_t>(stages_), true);
        !fine)
      return fine;
    std::vector<double> rows, log_sums;
    each_token(pack, [&](std::size_t k, const piece& p, std::int64_t t) {
      partial r;
      for (const std::span<const std::byte> one : partials) {
        const std::span<const double> from = as<double>(one).subspan(k * width, width);
        r.add({from[0], from[1], from[2], from[3], from[4]});
      }
      log_sums.push_back(r.largest + std::log(r.exponentials));
      loss_ += weight_of(p, t) * (log_sums.back() - r.target_logit);
      rows.push_back(weight_of(p, t) * (r.gradient / r.exponentials - r.target_row));
    });
    if (result<void> fine = sent(statistics, log_sums); !fine) return fine;
    return sent(out, rows);
  }

  result<void> output_weights(std::span<const piece> pack, std::span<const std::byte> in) {
    if (result<void> fine = begin('U', pack, !in.empty()); !fine) return fine;
    if (kept_.empty() || !std::equal(pack.begin(), pack.end(), kept_.front().pack.begin(), kept_.front().pack.end(),
                                     [](const piece& a, const piece& b) { return a.slice == b.slice; }))
      return error{errc::compute_failed, "U of another pack than the first that has had its V"};
    const kept here = std::move(kept_.front());
    kept_.pop_front();
    const std::span<const double> log_sums = as<double>(in);
    const auto own = static_cast<std::size_t>(end_ - first_);
    each_token(pack, [&](std::size_t k, const piece& p, std::int64_t t) {
      for (std::size_t w = 0; w < own; ++w) {
        const bool is_target = static_cast<int>(w) + first_ == vocabulary_model::target(p.slice.sequence, t);
        output_layer[w] +=
            weight_of(p, t) * (std::exp(here.logits[k * own + w] - log_sums[k]) - (is_target ? 1 : 0)) * here.x[k];
      }
    });
    return success();
  }

  result<void> embed_gradients(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
    if (result<void> fine = begin('G', pack, !in.empty()); !fine) return fine;
    const std::vector<double> rows = copied(in);
    each_token(pack, [&](std::size_t k, const piece& p, std::int64_t t) {
      if (const int w = vocabulary_model::word(p.slice.sequence, t); is_own(w))
        embedding[static_cast<std::size_t>(w - first_)] += rows[k];
    });
    return sent(out, rows);
  }

  /// A call, by its letter, and whether it said that gradients of its chunk are final after it.
  std::vector<std::pair<char, bool>> calls;
  vocabulary_fault fault{};
  char fails{};  // call that does
  int after{};   // as many of them as do not

 private:
  static constexpr std::size_t width = 5;  // of a partial row
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  struct partial {
    double largest{-infinity}, exponentials{}, target_logit{-infinity}, gradient{}, target_row{};

    void add(const partial& other) {
      const double now = std::max(largest, other.largest), before = std::exp(largest - now),
                   with = std::exp(other.largest - now);
      exponentials = exponentials * before + other.exponentials * with;
      gradient = gradient * before + other.gradient * with;
      largest = now;
      target_logit = std::max(target_logit, other.target_logit);
      target_row += other.target_row;
    }
  };
  struct kept {
    std::vector<piece> pack;
    std::vector<double> x, logits;
  };

  [[nodiscard]] double weight_of(const piece& p, std::int64_t t) const {
    return p.loss_weight > 0 && vocabulary_model::is_valid(p.slice.sequence, t) ? 1 / valid_ : 0;
  }

  /// again: the second call of an instruction, which fails as the first would have
  result<void> begin(char call, std::span<const piece> pack, bool has_its_input, bool again = false) {
    if (!again) calls.emplace_back(call, pack.back().last_of_chunk);
    if (!has_its_input)
      return error{errc::compute_failed, std::string(1, call) + " has an input where it has none, or none"};
    for (const piece& p : pack)
      if (p.chunk != static_cast<std::uint32_t>(this->chunks()))
        return error{errc::compute_failed, "a piece of another chunk"};
    if (!again) failing_ = call == fails && after-- == 0;
    if (failing_ && fault == vocabulary_fault::throws) throw std::runtime_error("the vocabulary is on fire");
    if (failing_ && fault == vocabulary_fault::returns_error)
      return error{errc::compute_failed, "the vocabulary is on fire"};
    return success();
  }
  result<void> sent(outgoing& out, const std::vector<double>& rows) {
    if (failing_ && fault == vocabulary_fault::writes_nothing) return success();
    if (failing_ && fault == vocabulary_fault::puts_too_little)
      return (void)out.put(std::span(rows).first(rows.size() - 1)), success();
    return out.put(rows);
  }

  bool is_first_, is_last_;
  int stages_;
  double valid_{1};
  double loss_{};
  bool failing_{};
  std::deque<kept> kept_;  // between V and U

 public:
  std::vector<double> embedding, output_layer;  // gradients of its words
};

}  // namespace slimpack

#endif
