#ifndef SLIMPACK_TESTS_TRAIN_EXACT_STEP_HPP
#define SLIMPACK_TESTS_TRAIN_EXACT_STEP_HPP

#include "../../examples/train/model/model_stage.hpp"
#include "../executors/everywhere.hpp"

#include <slimpack/executors/edge_values.hpp>
#include <slimpack/executors/packflow.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// Whether a step of the transformer gives the loss and the gradients of uncut sequences, over any transport.
namespace slimpack::tests {

inline const train::config small_model{.layers = 4, .hidden = 8, .heads = 2, .kv_heads = 1, .ffn = 12, .vocab = 16};

/// The small model with a layer for each part of 4 stages of 2 chunks; its backward computes nothing again.
inline const train::config deep_model = [] {
  train::config c = small_model;
  c.recompute = slimpack::costs::recompute::none;
  c.layers = 8;
  return c;
}();

/// A stage whose backward takes whole forward pieces, and that is called row after row, though it could do otherwise.
class whole_pieces : public train::model_stage<double> {
 public:
  static constexpr backward_cuts cuts = backward_cuts::forward_cuts;
  static constexpr bool joins_rows = false;
  using model_stage::model_stage;
};

/// What the uncut model makes of a batch.
struct exact_answer {
  train::config model;
  double loss{};
  double size{};  ///< sum of what is added up in the loss, without signs
  std::map<std::string, std::vector<double>> gradients;

  explicit exact_answer(const train::config& of) : model(of) {}

  /// Takes what a stage that has the whole model has added up.
  void take(train::model_stage<double>& uncut) {
    loss = uncut.loss();
    train::parameters<double>& weights = uncut.weights();
    for (std::size_t t = 0; t < weights.tensors().size(); ++t)
      gradients[weights.tensors()[t].name].assign(weights.gradients(t).begin(), weights.gradients(t).end());
  }

  /// Runs this rank's stage of a plan. Returns the largest relative error of a tensor's gradient (norm of the
  /// difference over norm), or 100 times that of the loss: what holds gradients to 1e-11 holds the loss to 1e-13. Then
  /// evaluates by the plan, where that can be: 1 if its loss and log-probabilities have not the step's bits, or it
  /// leaves something.
  template <class Stage, class Transport>
  result<double> error_by(const train::documents& texts, const plan& p, Transport& transport,
                          executors::packflow run = {.rows = executors::row_calls::joined}) const {
    Stage stage(model, p.shape, transport.rank() % p.shape.stages, texts, 7u);
    result<step_report> step = run.execute(p, stage, transport);
    if (!step) return std::move(step).error();
    double worst = 100 * std::abs(step.value().loss_sum - loss) / size;
    for (std::size_t t = 0; t < stage.weights().tensors().size(); ++t) {
      const train::tensor& own = stage.weights().tensors()[t];
      const std::span<const double> got = stage.weights().gradients(t);
      const std::span<const double> expected =
          std::span(gradients.at(own.name)).subspan(static_cast<std::size_t>(own.first * own.columns), got.size());
      double difference = 0;
      double norm = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        difference += (got[i] - expected[i]) * (got[i] - expected[i]);
        norm += expected[i] * expected[i];
      }
      worst = std::max(worst, std::sqrt(difference / norm));
    }
    if (p.shape.vocabulary == vocabulary::spread) return worst;
    run.step = 1;
    const result<step_report> alone = run.evaluate(p, stage, transport);
    if (!alone) return alone.error();
    const std::span<const edge_value> found = alone.value().log_probabilities.all(),
                                      expected = step.value().log_probabilities.all();
    const bool same = alone.value().loss_sum == step.value().loss_sum && stage.held() == bytes{} &&
                      alone.value().reduce == seconds{} &&
                      std::equal(found.begin(), found.end(), expected.begin(), expected.end(),
                                 [](const edge_value& a, const edge_value& b) {
                                   return a.sequence == b.sequence && a.target == b.target && a.value == b.value;
                                 });
    return same ? worst : 1;
  }
};

/// Documents with the lengths where cutting goes wrong first, and what the uncut model makes of them.
struct exact_batch : exact_answer {
  tokens quantum;
  std::vector<std::vector<std::uint8_t>> texts;
  std::vector<tokens> lengths;

  explicit exact_batch(std::uint64_t seed, const train::config& of = small_model) : exact_answer(of) {
    testing::generator random(seed);
    quantum = {random.between(1, 9)};
    lengths = awkward_lengths(random, quantum, static_cast<std::size_t>(random.between(4, 16)));
    make(random);
  }
  /// Of these lengths.
  exact_batch(std::uint64_t seed, const train::config& of, tokens cut_at, std::vector<tokens> long_each)
      : exact_answer(of), quantum(cut_at), lengths(std::move(long_each)) {
    testing::generator random(seed);
    make(random);
  }
  exact_batch(const exact_batch&) = delete;  // documents() refers to it

  [[nodiscard]] train::documents documents() const {
    return [this](sequence_id s) { return std::span<const std::uint8_t>(texts[s.value]); };
  }
  [[nodiscard]] train::documents documents(const plan&) const { return documents(); }
  template <class Stage, class Transport>
  result<double> error_of(const plan& p, Transport& transport,
                          executors::packflow run = {.rows = executors::row_calls::joined}) const {
    return error_by<Stage>(documents(), p, transport, run);
  }

 private:
  void make(testing::generator& random) {
    double valid = 0;
    for (const tokens length : lengths) {
      texts.emplace_back();
      for (std::int64_t i = 0; i < length.value; ++i)
        texts.back().push_back(static_cast<std::uint8_t>(random.between(0, 15)));
      valid += static_cast<double>(length.value - 1);
    }
    train::model_stage<double> uncut(model, {.quantum = quantum}, 0, documents(), 7);
    uncut.begin_step({});
    for (std::uint32_t s = 0; s < texts.size(); ++s) {
      const tokens length = lengths[s];
      const piece whole{{{s}, {0}, length}, length, 0, static_cast<double>(length.value - 1) / valid};
      outgoing nowhere;
      uncut.forward({&whole, 1}, {}, nowhere).value();
      uncut.backward({&whole, 1}, {}, nowhere).value();
    }
    take(uncut);
    size = loss;
  }
};

/// The largest error of any rank, each on a thread.
template <class Stage, class Batch>
double worst_error(const Batch& batch, const plan& p) {
  transports::threads world{ranks_of(p), {.time_out = {60}}};
  std::vector<double> errors(static_cast<std::size_t>(ranks_of(p)));
  on_every_rank(ranks_of(p), [&](int rank) {
    auto endpoint = world.endpoint(rank);
    errors[static_cast<std::size_t>(rank)] = batch.template error_of<Stage>(p, endpoint).value();
  });
  return *std::max_element(errors.begin(), errors.end());
}

/// What a rank has after a step: the loss, and the gradients of its stage one after the other.
template <class Stage, class Batch, class Transport>
result<std::vector<double>> outcome_of(const Batch& batch, const plan& p, Transport& transport,
                                       const executors::packflow& run = {.rows = executors::row_calls::joined}) {
  Stage stage(batch.model, p.shape, transport.rank() % p.shape.stages, batch.documents(p), 7);
  result<step_report> step = run.execute(p, stage, transport);
  if (!step) return std::move(step).error();
  std::vector<double> found{step.value().loss_sum};
  for (std::size_t t = 0; t < stage.weights().tensors().size(); ++t) {
    const std::span<const double> gradient = stage.weights().gradients(t);
    found.insert(found.end(), gradient.begin(), gradient.end());
  }
  return found;
}

/// The same of every rank, each on a thread.
template <class Stage, class Batch, class World>
std::vector<std::vector<double>> outcomes_of(const Batch& batch, const plan& p, World& world,
                                             const executors::packflow& run = {.rows = executors::row_calls::joined}) {
  std::vector<std::vector<double>> all(static_cast<std::size_t>(ranks_of(p)));
  on_every_rank(ranks_of(p), [&](int rank) {
    auto endpoint = world.endpoint(rank);
    all[static_cast<std::size_t>(rank)] = outcome_of<Stage>(batch, p, endpoint, run).value();
  });
  return all;
}

/// The plan with sums of gradients beside its work. They take no time there, since its cost model knows none.
[[nodiscard]] inline plan sums_beside(plan p) {
  p.reduction = gradient_reduction{
      std::vector<std::vector<gradient_bucket>>(static_cast<std::size_t>(p.shape.reduced_parts())), {}};
  return p;
}

/// Whether weight gradients of some packs run apart.
[[nodiscard]] inline bool splits(const plan& p) {
  return std::any_of(p.replicas.begin(), p.replicas.end(),
                     [](const replica_plan& r) { return r.times.apart.count() > 0; });
}

/// Whether the two passes of some replica are cut or packed differently.
[[nodiscard]] inline bool asymmetric(const plan& p) {
  return std::any_of(p.replicas.begin(), p.replicas.end(), [](const replica_plan& r) {
    std::vector<slice> slices[2];
    for (const pass direction : {pass::forward, pass::backward}) {
      std::vector<slice>& all = slices[direction == pass::forward ? 0 : 1];
      all.assign(r.partition.of(direction).slices().begin(), r.partition.of(direction).slices().end());
      std::sort(all.begin(), all.end(), [](const slice& a, const slice& b) {
        return std::pair(a.sequence, a.begin) < std::pair(b.sequence, b.begin);
      });
    }
    return slices[0] != slices[1] || r.partition.forward.size() != r.partition.backward.size();
  });
}

}  // namespace slimpack::tests

#endif
