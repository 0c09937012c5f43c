#ifndef SLIMPACK_TESTS_NETS_NET_STAGE_HPP
#define SLIMPACK_TESTS_NETS_NET_STAGE_HPP

#include "../executors/prefix_model.hpp"
#include "../executors/shared_prefix_model.hpp"
#include "../executors/vocabulary_model.hpp"

#include <slimpack/concepts/running.hpp>
#include <slimpack/executors/hooks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace slimpack::tests {

/// A stage whose numbers are sums, products and quotients, so that they have the same bits wherever doubles are those
/// of IEEE 754. Few of them are exact, so that bits tell in which order sums are made. It can run any plan of its kind
/// of layers: with weight gradients apart, with a reduction beside the work, and with a vocabulary that is spread over
/// the stages. There the loss of a token with hidden row x is y^2 / 2, where y = g x, and g is a sum over all words of
/// small numbers times output rows.
/// Layers: of the prefix model, with or without shared rows
template <class Layers>
class net_stage : public Layers, share_of_words {
  static constexpr bool shares = detail::shares_rows<Layers>;

 public:
  static constexpr bool splits_weight_gradients = true;

  net_stage(int stage, int stages, int chunks, bool spread)
      : Layers(stage, stages, chunks, layers, 0.3),
        share_of_words(stage, stages),
        spread_(spread),
        is_first_(stage == 0),
        embedding_(share()),
        output_layer_(share()) {}

  /// Gradients of layers, embedding and output layer.
  [[nodiscard]] std::vector<double> found() const {
    std::vector<double> all(this->gradient().begin(), this->gradient().end());
    if (spread_)
      for (const std::vector<double>* const each : {&embedding_, &output_layer_})
        all.insert(all.end(), each->begin(), each->end());
    return all;
  }

  [[nodiscard]] vocabulary_format vocabulary_rows() const {
    return {{spread_ ? 2 : 0, element_type::float64}, {1, element_type::float64}};
  }
  [[nodiscard]] tokens valid_tokens(const slice& s) const { return {(s.length.value + 1) / 2}; }
  void begin_step(const step_outline& o) { valid_ = static_cast<double>(o.valid_tokens.value); }
  [[nodiscard]] double loss() const { return spread_ ? loss_ : Layers::loss(); }
  [[nodiscard]] bytes held() const {
    return slimpack::held_by(static_cast<const Layers&>(*this)) +
           bytes{static_cast<double>(kept_.size() + left_.size())};
  }

  template <class Group>
  result<void> reduce(Group&) {
    return success();
  }
  template <class Sums>
  result<void> reduce_part(std::uint32_t chunk, Sums& sums) {
    if (chunk < static_cast<std::uint32_t>(this->chunks())) return sums.start(gradients_of(chunk));
    if (result<void> begun = sums.start(std::span<double>(embedding_)); !begun) return begun;
    return sums.start(std::span<double>(output_layer_));
  }

  using Layers::backward;
  result<void> backward(const piece& p, std::span<const std::byte> in, outgoing& out) requires shares {
    return leaving_weights({&p, 1}, [&] { return Layers::backward(p, in, out); });
  }
  result<void> backward(std::span<const piece> row, std::span<const std::byte> in, outgoing& out,
                        sharing& with) requires shares {
    return leaving_weights(row, [&] { return Layers::backward(row, in, out, with); });
  }
  void weights(const piece& p) {
    if constexpr (shares) {
      const auto left = left_.find(key_of(p));
      if (left == left_.end()) return;  // of a row its first piece has all
      for (std::size_t i = 0; i < left->second.size(); ++i) gradients_of(p.chunk)[i] += left->second[i];
      left_.erase(left);
    } else {
      Layers::weights(p);
    }
  }

  result<void> embed(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
    std::vector<double> rows = is_first_ ? std::vector<double>(size_of(pack)) : copied(in);
    each_token(pack, [&](std::size_t k, const piece& p, std::int64_t t) {
      if (const int w = vocabulary_model::word(p.slice.sequence, t); is_own(w)) rows[k] += 0.1 * (w * w - 30);
    });
    return out.put(rows);
  }
  result<void> output(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
    std::vector<double> rows;
    kept_.push_back(copied(in));
    each_token(pack, [&](std::size_t k, const piece& p, std::int64_t t) {
      double g = 0;
      for (int w = first_; w < end_; ++w) g += factor(p, t, w) * (0.7 * w - 3);
      rows.insert(rows.end(), {g, g * kept_.back()[k]});
    });
    return out.put(rows);
  }
  result<void> gather_output(std::span<const piece> pack, std::span<const std::span<const std::byte>> partials,
                             outgoing& out, outgoing& statistics) {
    std::vector<double> rows, all;
    each_token(pack, [&](std::size_t k, const piece& p, std::int64_t) {
      double g = 0, y = 0;
      for (const std::span<const std::byte> one : partials)
        g += as<double>(one)[2 * k], y += as<double>(one)[2 * k + 1];
      loss_ += weight_of(p) * (0.5 * y) * y;
      rows.push_back(weight_of(p) * y * g);
      all.push_back(y);
    });
    if (result<void> sent = statistics.put(all); !sent) return sent;
    return out.put(rows);
  }
  void output_weights(std::span<const piece> pack, std::span<const std::byte> in) {
    const std::vector<double> x = std::move(kept_.front());
    kept_.pop_front();
    const std::span<const double> y = as<double>(in);
    each_token(pack, [&](std::size_t k, const piece& p, std::int64_t t) {
      for (int w = first_; w < end_; ++w)
        output_layer_[static_cast<std::size_t>(w - first_)] += weight_of(p) * y[k] * x[k] * factor(p, t, w);
    });
  }
  result<void> embed_gradients(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
    const std::vector<double> rows = copied(in);
    each_token(pack, [&](std::size_t k, const piece& p, std::int64_t t) {
      if (const int w = vocabulary_model::word(p.slice.sequence, t); is_own(w))
        embedding_[static_cast<std::size_t>(w - first_)] += rows[k];
    });
    return out.put(rows);
  }

 private:
  static constexpr std::conditional_t<shares, int, std::int64_t> layers =
      shares ? 2 : 1;  // of prefix_stage, the width of a message
  using row_key = std::tuple<std::uint32_t, sequence_id, std::int64_t>;

  static row_key key_of(const piece& p) { return {p.chunk, p.slice.sequence, p.slice.begin.value}; }
  static double factor(const piece& p, std::int64_t t, int w) {
    return static_cast<double>((p.slice.sequence.value + 3 * t + 5 * w) % 7) - 3;
  }
  [[nodiscard]] double weight_of(const piece& p) const { return p.loss_weight > 0 ? 1 / valid_ : 0; }

  [[nodiscard]] std::span<double> gradients_of(std::uint32_t chunk) {
    if constexpr (shares)
      return std::span(this->gradient_).subspan(chunk * std::size_t{layers}, layers);
    else
      return this->gradient_of(chunk);
  }

  /// Runs a backward, and takes what it adds to the gradients of its chunk away until `weights` is called.
  template <class Call>
  result<void> leaving_weights(std::span<const piece> row, const Call& call) {
    const piece& first = row.front();
    if (!first.weights_apart) return call();
    const std::span<double> sums = gradients_of(first.chunk);
    const std::vector<double> before(sums.begin(), sums.end());
    std::fill(sums.begin(), sums.end(), 0.0);
    result<void> done = call();
    left_[key_of(first)].assign(sums.begin(), sums.end());
    std::copy(before.begin(), before.end(), sums.begin());
    return done;
  }

  bool spread_, is_first_;
  double valid_{1};
  double loss_{};
  std::vector<double> embedding_, output_layer_;  // gradients of its words
  std::deque<std::vector<double>> kept_;          // hidden rows, between V and U
  std::map<row_key, std::vector<double>> left_;   // weight gradients whose W is to come
};

}  // namespace slimpack::tests

#endif
