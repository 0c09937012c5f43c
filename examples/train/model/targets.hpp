#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_TARGETS_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_TARGETS_HPP

#include "documents.hpp"
#include "matrix.hpp"

#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/edge_values.hpp>
#include <slimpack/executors/piece.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace train {

/// What a token's logits are compared with: a token that follows.
struct target {
  Index token{};
  double weight{};                 ///< of its loss in the batch's
  slimpack::sequence_id sequence;  ///< of the target
  slimpack::tokens at;             ///< its place on the path

  /// What its loss, in nats, adds to that of a batch; to edges, its log-probability.
  [[nodiscard]] double weighted(double loss, slimpack::edge_values& edges) const {
    edges.add(sequence, at, -loss);
    return weight * loss;
  }
};

/// Targets of a token. Where samples part there are several, and none where nothing is trained on. What they add up to
/// is scale() times the sum of factor() times what each has: one target alone has the factor 1.
class targets_of_token {
 public:
  explicit targets_of_token(std::span<const target> all) : all_(all) {}

  [[nodiscard]] auto begin() const { return all_.begin(); }
  [[nodiscard]] auto end() const { return all_.end(); }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  [[nodiscard]] double weight() const {
    double sum = 0;
    for (const target& one : all_) sum += one.weight;
    return sum;
  }
  [[nodiscard]] double scale() const { return all_.size() == 1 ? all_.front().weight : 1; }
  [[nodiscard]] double factor(const target& one) const { return all_.size() == 1 ? 1 : one.weight; }
  [[nodiscard]] double factors() const { return all_.size() == 1 ? 1 : weight(); }

 private:
  std::span<const target> all_;
};

/// Targets of the tokens of a pack, piece after piece.
class targets_of_rows {
 public:
  targets_of_rows(std::span<const slimpack::piece> pack, const documents& texts) {
    for (const slimpack::piece& p : pack) p.edges.empty() ? add_next(p, texts) : add_edges(p, texts);
  }

  [[nodiscard]] targets_of_token operator[](Index row) const {
    const auto at = static_cast<std::size_t>(row);
    return targets_of_token(std::span(all_).subspan(first_[at], first_[at + 1] - first_[at]));
  }

 private:
  /// Each token but a text's last is compared with the next one.
  void add_next(const slimpack::piece& p, const documents& texts) {
    const auto text = texts(p.slice.sequence);
    const std::int64_t valid = p.slice.length.value - (p.is_last() ? 1 : 0);
    const double weight = valid > 0 ? p.loss_weight / static_cast<double>(valid) : 0;
    for (slimpack::tokens next = p.slice.begin + slimpack::tokens{1}; next <= p.slice.end(); ++next.value) {
      if (weight > 0 && next < p.sequence_end())
        all_.push_back({text[static_cast<std::size_t>(next.value)], weight, p.slice.sequence, next});
      first_.push_back(all_.size());
    }
  }

  /// The batch says what is trained on.
  void add_edges(const slimpack::piece& p, const documents& texts) {
    std::int64_t count = 0;
    for (const slimpack::target_run& run : p.edges) count += run.length.value * std::int64_t{run.count};
    const double each = p.loss_weight / static_cast<double>(count);
    for (slimpack::tokens next = p.slice.begin + slimpack::tokens{1}; next <= p.slice.end(); ++next.value) {
      for (const slimpack::target_run& run : p.edges)
        if (next >= run.begin && next < run.begin + run.length)
          all_.push_back(
              {texts(run.sequence)[static_cast<std::size_t>(next.value)], run.weight * each, run.sequence, next});
      first_.push_back(all_.size());
    }
  }

  std::vector<target> all_;
  std::vector<std::size_t> first_{0};  // by row, and the end
};

}  // namespace train

#endif
