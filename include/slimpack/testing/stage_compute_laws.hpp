#ifndef SLIMPACK_TESTING_STAGE_COMPUTE_LAWS_HPP
#define SLIMPACK_TESTING_STAGE_COMPUTE_LAWS_HPP

#include <slimpack/concepts.hpp>
#include <slimpack/detail/unmet.hpp>
#include <slimpack/executors/hooks.hpp>
#include <slimpack/executors/packflow.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/random_replica.hpp>
#include <slimpack/testing/report.hpp>
#include <slimpack/transports/threads.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace slimpack::testing {

/// A sequence of the batches that a compute is tried with. One key, one content, in whatever batch it comes.
struct document {
  tokens length;
  std::uint64_t key{};
};

/// How hard a stage compute is tried.
struct compute_options {
  std::uint64_t seed{1};
  int cases{8};             ///< batches, each under random cuts
  tokens longest{48};       ///< no sequence is longer
  tokens quantum{4};        ///< cuts fall on its multiples
  int stages{1};            ///< the most stages that the model is cut into
  bool one_model{true};     ///< it has the same layers on any number of stages
  double tolerance{1e-10};  ///< of losses and gradients (norm-wise), relative to those of uncut sequences
  seconds time_out{20};     ///< until a rank that waits for another gives up
};

namespace detail {

template <class M>
concept makes_stages = requires(const M& model, int stage, int stages, std::span<const document> batch) {
  requires stage_compute<std::remove_cvref_t<decltype(*model.make(stage, stages))>>;
  model.load(*model.make(stage, stages), batch);
  { model.gradients(*model.make(stage, stages)) } -> std::convertible_to<std::vector<double>>;
  model.zero(*model.make(stage, stages));
};

/// All packs on the first replica: others have no work.
struct packs_as_given {
  const partition* packs;

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer&, const Cost& cost,
                                       const Schedule& schedule) const {
    solution found{std::vector<replica_solution>(static_cast<std::size_t>(batch.shape.replicas))};
    for (std::uint32_t i = 0; i < batch.lengths.size(); ++i) found.replicas[0].sequences.push_back({i});
    found.replicas[0].partition = *packs;
    const std::vector<memory_rates> rates(static_cast<std::size_t>(batch.shape.stages));
    for (replica_solution& r : found.replicas) {
      result<std::vector<program>> programs = schedule.programs(price(r.partition, cost, batch.shape, rates, weight_gradients_of<Schedule>));
      if (!programs) return std::move(programs).error();
      r.programs = std::move(programs).value();
    }
    return found;
  }
};

/// A transport that fails on request: at the end of the step, or at the n-th message.
class failing_port {
 public:
  using handle = transports::threads::handle;
  failing_port(transports::threads::port port, std::int64_t messages) : port_(std::move(port)), messages_(messages) {}

  [[nodiscard]] int rank() const { return port_.rank(); }
  [[nodiscard]] int size() const { return port_.size(); }
  result<handle> send(int peer, int channel, std::span<const std::byte> data) {
    if (messages_-- == 0) return failure();
    return port_.send(peer, channel, data);
  }
  result<handle> receive(int peer, int channel, std::span<std::byte> data) {
    return port_.receive(peer, channel, data);
  }
  result<bool> test(handle& h) { return port_.test(h); }
  result<void> wait(handle& h) { return port_.wait(h); }
  void abort(std::string_view reason) { port_.abort(reason); }
  result<void> all_gather(std::span<const std::byte> own, std::span<std::byte> all) {
    if (++gathers_ == 2 && messages_ >= 0) return failure();  // ranks part
    return slimpack::all_gather(port_, own, all);
  }

 private:
  [[nodiscard]] static error failure() { return {errc::transport_failed, "a failure that the laws ask for"}; }
  transports::threads::port port_;
  std::int64_t messages_;
  int gathers_{};
};

/// Tries one model.
template <class Model>
class compute_trial {
 public:
  compute_trial(const Model& model, compute_options o)
      : model_(model), o_(o), random_(o.seed), report_("stage compute laws", o.seed) {}

  [[nodiscard]] report run() {
    for (int i = 0; i < o_.cases; ++i) {
      const std::vector<document> batch = any_batch(i);
      const outcome on_one = uncut(batch, 1);
      for (int stages = 1; stages <= o_.stages; ++stages) {
        const outcome expected = stages == 1 ? on_one : uncut(batch, stages);
        if (o_.one_model && stages > 1)
          compare(expected.gradients, on_one.gradients, "gradients over stages are those of one stage", stages);
        sliced(batch, expected, stages);
        in_two_steps(batch, stages);
        without_work(batch, expected, stages);
        after_a_failure(batch, expected, stages);
      }
    }
    return std::move(report_);
  }

 private:
  using made = decltype(std::declval<const Model&>().make(0, 1));
  using compute = std::remove_cvref_t<decltype(*std::declval<made&>())>;
  using port = transports::threads::port;
  static constexpr bool reduces = requires(compute& c, executors::replica_group<port>& g) { c.reduce(g); };
  static constexpr bool drops = requires(compute& c) { c.abort_step(); };

  struct outcome {
    double loss{};
    double valid{};  // tokens
    std::vector<double> gradients{};
  };

  /// The stages of one or more copies of the model, and the threads' transport between them.
  struct ranks {
    std::vector<made> computes;
    transports::threads world;
  };

  [[nodiscard]] ranks fresh(int stages, int replicas = 1) const {
    ranks all{{}, transports::threads{stages * replicas, {.time_out = o_.time_out}}};
    for (int rank = 0; rank < stages * replicas; ++rank) all.computes.push_back(model_.make(rank % stages, stages));
    return all;
  }

  /// Runs a step; `fails` is the rank whose transport does, at its n-th message.
  [[nodiscard]] std::vector<result<step_report>> step(ranks& all, const plan& p, std::span<const document> batch,
                                                      int fails = -1, std::int64_t message = 0) const {
    const result<step_report> none = error{};
    std::vector<result<step_report>> reports(all.computes.size(), none);
    std::vector<std::exception_ptr> thrown(all.computes.size());
    const auto run = [&](std::size_t rank) {
      const auto number = static_cast<int>(rank);
      failing_port transport{all.world.endpoint(number), number == fails ? message : -1};
      model_.load(*all.computes[rank], batch);
      reports[rank] = executors::packflow{}.execute(p, *all.computes[rank], transport);
    };
    {
      std::vector<std::jthread> others;
      for (std::size_t rank = 1; rank < all.computes.size(); ++rank)
        others.emplace_back([&, rank] {
#ifdef __cpp_exceptions
          try {
            run(rank);
          } catch (...) {
            thrown[rank] = std::current_exception();
          }
#else
          run(rank);
#endif
        });
      run(0);
    }
#ifdef __cpp_exceptions
    for (const std::exception_ptr& e : thrown)
      if (e) std::rethrow_exception(e);
#endif
    return reports;
  }

  [[nodiscard]] plan planned(std::span<const document> batch, int stages, int replicas, const partition& packs) const {
    std::vector<tokens> lengths;
    for (const document& d : batch) lengths.push_back(d.length);
    const shape on{.stages = stages, .replicas = replicas, .quantum = o_.quantum};
    const planner make{on, slicers::equal_cost{}, cost_, packs_as_given{&packs}};
    return make(lengths).value();
  }
  [[nodiscard]] plan cut_at_random(std::span<const document> batch, int stages, int replicas = 1) {
    std::vector<tokens> lengths;
    for (const document& d : batch) lengths.push_back(d.length);
    return planned(batch, stages, replicas, random_partition(lengths, o_.quantum, cost_, random_));
  }

  /// Gradients over the stages of one copy of the model.
  [[nodiscard]] std::vector<double> gradients(ranks& all, int stages, int replica = 0) const {
    std::vector<double> sum;
    for (int stage = 0; stage < stages; ++stage) {
      const auto rank = static_cast<std::size_t>(replica * stages + stage);
      const std::vector<double> own = model_.gradients(*all.computes[rank]);
      sum.insert(sum.end(), own.begin(), own.end());
    }
    return sum;
  }

  /// Each sequence whole, in a step of its own, on a compute of its own, weighted by hand.
  [[nodiscard]] outcome uncut(std::span<const document> batch, int stages) {
    outcome sum;
    for (const document& d : batch) {
      partition packs;
      for (micropacks* side : {&packs.forward, &packs.backward}) side->push({{0}, {0}, d.length}), side->close();
      ranks all = fresh(stages);
      const std::span<const document> alone(&d, 1);
      const auto reports = step(all, planned(alone, stages, 1, packs), alone);
      if (!ran(reports, stages)) continue;
      const auto valid = static_cast<double>(reports[0].value().valid_tokens.value);
      const std::vector<double> own = gradients(all, stages);
      sum.gradients.resize(own.size());
      sum.loss += valid * reports[0].value().loss_sum;
      sum.valid += valid;
      for (std::size_t i = 0; i < own.size(); ++i) sum.gradients[i] += valid * own[i];
    }
    if (sum.valid == 0) return sum;
    sum.loss /= sum.valid;
    for (double& g : sum.gradients) g /= sum.valid;
    return sum;
  }

  void sliced(std::vector<document> batch, const outcome& expected, int stages) {
    for (const bool reversed : {false, true}) {
      if (reversed) std::reverse(batch.begin(), batch.end());
      ranks all = fresh(stages);
      const auto reports = step(all, cut_at_random(batch, stages), batch);
      if (!ran(reports, stages)) continue;
      const double loss = reports[0].value().loss_sum;
      report_.check(2, std::abs(loss - expected.loss) <= o_.tolerance * std::abs(expected.loss),
                    "the loss of cut sequences is that of whole ones", loss, "for", expected.loss, "on", stages,
                    "stages");
      compare(gradients(all, stages), expected.gradients, "gradients of cut sequences are those of whole ones", stages);
    }
  }

  void in_two_steps(std::span<const document> batch, int stages) {
    std::span<const document> a = batch.first(batch.size() / 2);
    std::span<const document> b = batch.subspan(batch.size() / 2);
    std::vector<double> expected = uncut(a, stages).gradients;
    const std::vector<double> other = uncut(b, stages).gradients;
    if (expected.size() != other.size()) return;  // a step failed, as reported
    for (std::size_t i = 0; i < other.size(); ++i) expected[i] += other[i];
    for (int order = 0; order < 2; ++order, std::swap(a, b)) {
      ranks all = fresh(stages);
      if (ran(step(all, cut_at_random(a, stages), a), stages) && ran(step(all, cut_at_random(b, stages), b), stages))
        compare(gradients(all, stages), expected, "gradients of two steps add up, in either order", stages);
    }
  }

  void without_work(std::span<const document> batch, const outcome& expected, int stages) {
    ranks all = fresh(stages, 2);
    if (!ran(step(all, cut_at_random(batch, stages, 2), batch), stages)) return;
    compare(gradients(all, stages), expected.gradients, "a replica without work changes nothing for others", stages);
    const std::vector<double> idle = gradients(all, stages, 1);
    compare(idle, reduces ? expected.gradients : std::vector<double>(idle.size()),
            "what has no weight has no gradient, and adds none where replicas are summed", stages);
  }

  void after_a_failure(std::span<const document> batch, const outcome& expected, int stages) {
    ranks all = fresh(stages);
    const plan p = cut_at_random(batch, stages);
    const auto rank = static_cast<int>(random_.between(0, stages - 1));
    const auto messages = static_cast<std::int64_t>(p.replicas[0].programs[static_cast<std::size_t>(rank)].size());
    const auto reports = step(all, p, batch, rank, random_.between(0, messages - 1));
    for (std::size_t r = 0; r < reports.size(); ++r) {
      if (reports[r]) return;  // fewer messages than that: nothing has failed
      report_.check(1, held_by(*all.computes[r]) == bytes{}, "after a step that failed nothing is held",
                    held_by(*all.computes[r]), "bytes on", stages, "stages");
      if (!drops) model_.zero(*all.computes[r]);
    }
    if (!ran(step(all, cut_at_random(batch, stages), batch), stages)) return;
    compare(gradients(all, stages), expected.gradients, "a step that failed leaves nothing to the next", stages, 1);
  }

  bool ran(const std::vector<result<step_report>>& reports, int stages) {
    bool all = true;
    for (const result<step_report>& r : reports) {
      report_.check(2, r.has_value(), "a step runs", r ? std::string() : r.error().detail, "on", stages, "stages");
      all = all && r.has_value();
    }
    return all;
  }

  void compare(const std::vector<double>& found, const std::vector<double>& expected, std::string_view sentence,
               int stages, int law = 2) {
    double difference = found.size() == expected.size() ? 0 : std::numeric_limits<double>::infinity();
    double norm = 0;
    for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
      difference += (found[i] - expected[i]) * (found[i] - expected[i]);
      norm += expected[i] * expected[i];
    }
    report_.check(law, std::sqrt(difference) <= o_.tolerance * std::sqrt(norm), sentence, "difference of norm",
                  std::sqrt(difference), "for", std::sqrt(norm), "on", stages, "stages");
  }

  /// The edge lengths, then random ones.
  [[nodiscard]] std::vector<document> any_batch(int which) {
    std::vector<document> batch;
    const auto add = [&](tokens length) {
      batch.push_back({length, static_cast<std::uint64_t>(random_.between(0, 1 << 30))});
    };
    if (which == 0)
      for (const tokens t : edge_lengths({.longest = o_.longest, .quantum = o_.quantum})) add(t);
    while (batch.size() < 2 || random_.once_in(2)) add(random_.length(o_.longest));
    return batch;
  }

  const Model& model_;
  compute_options o_;
  costs::quadratic cost_;
  generator random_;
  report report_;
};

}  // namespace detail

/// Checks the laws of slimpack::stage_compute that a compute can break: that its gradients are those of uncut sequences
/// and add up, and that nothing is left of a step that failed. Steps are run by executors::packflow over threads.
///
///   struct my_model {
///     std::unique_ptr<my_stage> make(int stage, int stages) const;               // the same weights every time
///     void load(my_stage&, std::span<const slimpack::testing::document>) const;  // sequence i of the next step is [i]
///     std::vector<double> gradients(const my_stage&) const;                      // from the first layer to the last
///     void zero(my_stage&) const;                                                // gradients
///   };
///   std::cout << slimpack::testing::stage_compute_laws(my_model{}, {.stages = 2});
///
/// Every stage takes any sequence of up to `longest` tokens. With more than one stage, the gradients of the stages, one
/// after the other, are compared with those of one stage that has all layers, unless there is no such (one_model).
/// Catches   a layer that overwrites a gradient instead of adding to it; a slice that forgets its prefix, or the
///           gradients that later slices have for it; a weight that is not used; caches that outlive a step
/// Errors    none; what the compute throws passes through
/// Complexity  cases * stages * 8 steps of a few sequences
template <class Model>
  requires(detail::makes_stages<Model> ||
           slimpack::detail::unmet<"a model to try offers make(stage, stages), a pointer to a stage compute, and "
                                   "load(compute, span<const document>), gradients(compute), zero(compute)">())
[[nodiscard]] report stage_compute_laws(const Model& model, compute_options o = {}) {
  return detail::compute_trial<Model>(model, o).run();
}

}  // namespace slimpack::testing

#endif
