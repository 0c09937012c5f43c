#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_VOCABULARY_SHARE_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_VOCABULARY_SHARE_HPP

#include "config.hpp"
#include "documents.hpp"
#include "matrix.hpp"
#include "parameters.hpp"
#include "targets.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/executors/edge_values.hpp>
#include <slimpack/executors/message_format.hpp>
#include <slimpack/executors/piece.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace train {

/// A stage's words of embedding and head, where the vocabulary is spread over the stages
/// (slimpack/executors/hooks.hpp). A partial row has, of the words of a stage, h: hidden, the largest logit (1), the
/// sum of exponentials (1), the target's logit (1), the sum of head rows times exponentials (h), and the target's head
/// row (h); of several targets, sums of these by their weights. The last stage makes of those of all stages the loss
/// and the gradient of the hidden row. Hidden rows and logits are kept from V to U.
/// Source    parts of a softmax are put together as in FlashAttention, arXiv:2205.14135, over words instead of keys
template <class T>
class vocabulary_share {
 public:
  using pack = std::span<const slimpack::piece>;

  [[nodiscard]] static slimpack::vocabulary_format format(const config& c) {
    return {{partial_width(c.hidden), slimpack::element_of<T>}, {1, slimpack::element_of<T>}};
  }
  /// What a stage keeps of a token between V and U: hidden row and logits.
  [[nodiscard]] static std::int64_t kept_of_token(const config& c, const slimpack::shape& on, int stage) {
    return (c.hidden + words_of(c, on, stage).size()) * static_cast<std::int64_t>(sizeof(T));
  }

  /// Shapes    its rows of the embedding are tensor `first`, of the head the next
  vocabulary_share(const config& c, const slimpack::shape& on, int stage, parameters<T>& weights, std::size_t first,
                   documents texts)
      : hidden_(c.hidden),
        words_(words_of(c, on, stage)),
        is_first_(stage == 0),
        embedding_(weights[first]),
        head_(weights[first + 1]),
        texts_(std::move(texts)) {}

  /// E: adds the embedded rows of its words to those of the stages before.
  [[nodiscard]] matrix<T> embed(pack of, const_matrix_view<T> in) const {
    matrix<T> x = is_first_ ? matrix<T>(matrix<T>::Zero(size_of(of), hidden_)) : matrix<T>(in);
    each_own_token(of, [&](Index row, Index word) { x.row(row) += embedding_.value.row(word); });
    return x;
  }
  /// G
  void embed_gradients(pack of, const_matrix_view<T> in) {
    each_own_token(of, [&](Index row, Index word) { embedding_.gradient.row(word) += in.row(row); });
  }

  /// V: partial rows, of its own words.
  [[nodiscard]] matrix<T> output(pack of, const_matrix_view<T> in) {
    kept here{{of.begin(), of.end()}, in, {}};
    here.logits.noalias() = here.x * head_.value.transpose();
    matrix<T> exponentials = here.logits;
    matrix<T> partial(in.rows(), partial_width(hidden_));
    const targets_of_rows targets(of, texts_);
    for (Index i = 0; i < partial.rows(); ++i) {
      partial(i, largest()) = exponentials.row(i).maxCoeff();
      exponentials.row(i).array() = (exponentials.row(i).array() - partial(i, largest())).exp();
      partial(i, sum()) = exponentials.row(i).sum();
      partial(i, target_logit()) = 0;
      partial.row(i).segment(target_row(), hidden_).setZero();
      for (const target& next : targets[i]) {
        const Index word = next.token - words_.first;
        if (word < 0 || word >= words_.size()) continue;
        const T factor = static_cast<T>(targets[i].factor(next));
        partial(i, target_logit()) += factor * here.logits(i, word);
        partial.row(i).segment(target_row(), hidden_) += factor * head_.value.row(word);
      }
    }
    partial.middleCols(gradient(), hidden_).noalias() = exponentials * head_.value;
    held_ += here.bytes();
    kept_.push_back(std::move(here));
    return partial;
  }

  /// What V on the last stage makes of all words.
  struct gathered {
    matrix<T> gradients;      ///< of hidden rows
    std::vector<T> log_sums;  ///< statistics: logarithms of sums of exponentials
  };
  /// V on the last stage: puts the partial rows of all stages together, in their order; `loss` and `edges` grow by the
  /// pack's. Of a token with several targets, edges are not to be had.
  [[nodiscard]] gathered gather(pack of, std::span<const const_matrix_view<T>> partials, double& loss,
                                slimpack::edge_values& edges) const {
    const targets_of_rows targets(of, texts_);
    gathered made{matrix<T>(size_of(of), hidden_), {}};
    for (Index i = 0; i < made.gradients.rows(); ++i) {
      T most = -std::numeric_limits<T>::infinity(), logit = 0, total = 0;
      for (const const_matrix_view<T>& one : partials)
        most = std::max(most, one(i, largest())), logit += one(i, target_logit());
      auto gradient_row = made.gradients.row(i);
      gradient_row.setZero();
      for (const const_matrix_view<T>& one : partials) {
        const T share = std::exp(one(i, largest()) - most);
        total += share * one(i, sum());
        gradient_row += share * one.row(i).segment(gradient(), hidden_);
      }
      const targets_of_token next = targets[i];
      gradient_row *= static_cast<T>(next.factors());
      gradient_row /= total;
      for (const const_matrix_view<T>& one : partials) gradient_row -= one.row(i).segment(target_row(), hidden_);
      gradient_row *= static_cast<T>(next.scale());
      made.log_sums.push_back(most + std::log(total));
      if (next.size() == 1)
        loss += next.begin()->weighted(static_cast<double>(made.log_sums.back() - logit), edges);
      else
        loss += next.factors() * static_cast<double>(made.log_sums.back()) - static_cast<double>(logit);
    }
    return made;
  }

  /// U, of the first pack that has had its V and no U; what it keeps of that goes.
  /// log_sums: the statistics            Formula   d logits = weight (exp(logits - log sum) - one at the target)
  /// Errors    out_of_order: another pack
  [[nodiscard]] slimpack::result<void> output_weights(pack of, std::span<const T> log_sums) {
    if (kept_.empty() ||
        !std::equal(of.begin(), of.end(), kept_.front().of.begin(), kept_.front().of.end(),
                    [](const slimpack::piece& a, const slimpack::piece& b) { return a.slice == b.slice; }))
      return slimpack::error{slimpack::errc::out_of_order,
                             "weight gradients of the head, of a pack that is not the next"};
    kept here = std::move(kept_.front());
    kept_.pop_front();
    held_ -= here.bytes();
    const targets_of_rows targets(of, texts_);
    for (Index i = 0; i < here.logits.rows(); ++i) {
      auto row = here.logits.row(i).array();
      row = (row - log_sums[static_cast<std::size_t>(i)]).exp() * static_cast<T>(targets[i].weight());
      for (const target& next : targets[i])
        if (const Index word = next.token - words_.first; word >= 0 && word < words_.size())
          row[word] -= static_cast<T>(next.weight);
    }
    head_.gradient.noalias() += here.logits.transpose() * here.x;
    return slimpack::success();
  }

  /// Bytes that are kept between V and U.
  [[nodiscard]] std::int64_t held() const noexcept { return held_; }
  void clear() { kept_.clear(), held_ = 0; }

 private:
  struct kept {
    std::vector<slimpack::piece> of;
    matrix<T> x;
    matrix<T> logits;

    [[nodiscard]] std::int64_t bytes() const {
      return static_cast<std::int64_t>(static_cast<std::size_t>(x.size() + logits.size()) * sizeof(T));
    }
  };

  [[nodiscard]] static std::int64_t partial_width(std::int64_t hidden) { return 2 * hidden + 3; }
  // Columns of a partial row.
  [[nodiscard]] static Index largest() { return 0; }
  [[nodiscard]] static Index sum() { return 1; }
  [[nodiscard]] static Index target_logit() { return 2; }
  [[nodiscard]] static Index gradient() { return 3; }
  [[nodiscard]] Index target_row() const { return 3 + hidden_; }

  [[nodiscard]] static Index size_of(pack of) {
    Index n = 0;
    for (const slimpack::piece& p : of) n += p.slice.length.value;
    return n;
  }
  /// Calls f(row, word of the share) for the tokens that it has.
  template <class F>
  void each_own_token(pack of, F&& f) const {
    Index row = 0;
    for (const slimpack::piece& p : of) {
      const auto text = texts_(p.slice.sequence);
      for (std::int64_t at = p.slice.begin.value; at < p.slice.end().value; ++at, ++row)
        if (const Index word = text[static_cast<std::size_t>(at)] - words_.first; word >= 0 && word < words_.size())
          f(row, word);
    }
  }

  Index hidden_;
  word_range words_;
  bool is_first_;  // stage
  typename parameters<T>::view embedding_, head_;
  documents texts_;
  std::deque<kept> kept_;
  std::int64_t held_{};
};

}  // namespace train

#endif
