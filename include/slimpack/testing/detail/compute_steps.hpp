#ifndef SLIMPACK_TESTING_DETAIL_COMPUTE_STEPS_HPP
#define SLIMPACK_TESTING_DETAIL_COMPUTE_STEPS_HPP

#include <slimpack/basic_planner.hpp>
#include <slimpack/concepts/running.hpp>
#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/costs/with_vocabulary.hpp>
#include <slimpack/detail/thrown.hpp>
#include <slimpack/executors/hooks.hpp>
#include <slimpack/executors/message_format.hpp>
#include <slimpack/executors/packflow.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/transports/hooks.hpp>
#include <slimpack/transports/threads.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
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

/// Gradients of a model that belong together, in the order in which it gives them.
struct parameter {
  std::string name;
  std::size_t count{};  ///< elements
};

/// What sums in another order may differ by in the gradients of a batch, norm-wise: some hundred times the rounding of
/// an element, and well below what a missing term makes.
[[nodiscard]] constexpr double tolerance_of(element_type element) noexcept {
  switch (element) {
    case element_type::float64:
      return 1e-10;
    case element_type::float32:
      return 1e-4;
    case element_type::float16:
      return 2e-2;
    case element_type::bfloat16:
      return 1e-1;
    case element_type::int8:
      return 2e-1;
  }
  return 0;
}

/// How hard a stage compute is tried.
struct compute_options {
  std::uint64_t seed{1};
  int cases{8};          ///< batches, each under random cuts
  tokens longest{48};    ///< no sequence is longer
  tokens quantum{4};     ///< cuts fall on its multiples
  int stages{2};         ///< the most stages that the model is cut into; with 1, no message is tried
  bool one_model{true};  ///< it has the same layers on any number of stages
  bool evaluates{};      ///< law 8 is tried: its forward computes the loss, so that it can evaluate; of one that offers
                         ///< log_probabilities it is tried in any case
  /// Of losses and gradients (norm-wise), relative to those of uncut sequences; 0: tolerance_of the messages' elements.
  double tolerance{};
  seconds time_out{20};  ///< until a rank that waits for another gives up
};

}  // namespace slimpack::testing

namespace slimpack::testing::detail {

/// An answer that is known, whatever is asked.
struct solution_as_given {
  static constexpr bool plans_prefixes = true;
  const solution* given;

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem&, const Slicer&, const Cost&, const Schedule&) const {
    return *given;
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

template <class M>
concept names_parameters = requires(const M& model) {
  { model.parameters(*model.make(0, 1)) } -> std::convertible_to<std::vector<parameter>>;
};

/// Makes the stages of a model, and runs steps of it over threads.
template <class Model>
class compute_steps {
 public:
  using made = decltype(std::declval<const Model&>().make(0, 1));
  using compute = std::remove_cvref_t<decltype(*std::declval<made&>())>;
  static constexpr bool reduces = requires(compute & c, executors::replica_group<transports::threads::port>& g) {
    c.reduce(g);
  }
  || slimpack::detail::reduces_parts<compute, executors::gradient_sums<transports::threads::port>>;

  /// Of a step, or of several that are added up.
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

  compute_steps(const Model& model, const compute_options& o)
      : model_(model),
        o_(o),
        tolerance_(o.tolerance > 0 ? o.tolerance : tolerance_of(std::as_const(*model.make(0, 1)).format().element)) {}

  /// Of losses and gradients.
  [[nodiscard]] double tolerance() const noexcept { return tolerance_; }

  [[nodiscard]] ranks fresh(int stages, int replicas = 1) const {
    ranks all{{}, transports::threads{stages * replicas, {.time_out = o_.time_out}}};
    for (int rank = 0; rank < stages * replicas; ++rank) all.computes.push_back(model_.make(rank % stages, stages));
    return all;
  }

  /// Runs a step; `fails` is the rank whose transport does, at its n-th message. as(rank, compute): what runs in its
  /// place; load(compute): gives it the batch
  template <class As, class Load>
  [[nodiscard]] std::vector<result<step_report>> loaded_step(ranks& all, const plan& p, int fails, std::int64_t message,
                                                             const As& as, const Load& load) const {
    return on_all(all, [&](std::size_t rank) {
      const auto number = static_cast<int>(rank);
      failing_port transport{all.world.endpoint(number), number == fails ? message : -1};
      load(*all.computes[rank]);
      return told(
          [&](const executors::packflow& run) { return run.execute(p, as(rank, *all.computes[rank]), transport); });
    });
  }
  template <class As>
  [[nodiscard]] std::vector<result<step_report>> step(ranks& all, const plan& p, std::span<const document> batch,
                                                      int fails, std::int64_t message, const As& as) const {
    return loaded_step(all, p, fails, message, as, [&](compute& c) { model_.load(c, batch); });
  }
  [[nodiscard]] std::vector<result<step_report>> step(ranks& all, const plan& p, std::span<const document> batch,
                                                      int fails = -1, std::int64_t message = 0) const {
    return step(all, p, batch, fails, message, [](std::size_t, compute& c) -> compute& { return c; });
  }
  /// The same of sequences that are put together.
  [[nodiscard]] std::vector<result<step_report>> step_of_parts(ranks& all, const plan& p,
                                                               std::span<const std::vector<document>> batch,
                                                               int fails = -1, std::int64_t message = 0) const {
    return loaded_step(
        all, p, fails, message, [](std::size_t, compute& c) -> compute& { return c; },
        [&](compute& c) { model_.load_parts(c, batch); });
  }

  /// Runs the forwards of a step alone.
  [[nodiscard]] std::vector<result<step_report>> evaluation(ranks& all, const plan& p,
                                                            std::span<const document> batch) const {
    return on_all(all, [&](std::size_t rank) {
      failing_port transport{all.world.endpoint(static_cast<int>(rank)), -1};
      model_.load(*all.computes[rank], batch);
      return told([&](const executors::packflow& run) { return run.evaluate(p, *all.computes[rank], transport); });
    });
  }

  /// Of layers: plans have the vocabulary where the stages have it.
  [[nodiscard]] shape shape_of(int stages, int replicas) const {
    return {.stages = stages, .replicas = replicas, .quantum = o_.quantum};
  }
  [[nodiscard]] static std::vector<tokens> lengths_of(std::span<const document> batch) {
    std::vector<tokens> lengths;
    for (const document& d : batch) lengths.push_back(d.length);
    return lengths;
  }
  [[nodiscard]] plan planned(std::span<const document> batch, int stages, int replicas, const solution& given) const {
    const std::vector<tokens> lengths = lengths_of(batch);
    return planned(batch_view(lengths), stages, replicas, given);
  }
  [[nodiscard]] plan planned(const batch_view& batch, int stages, int replicas, const solution& given) const {
    shape on = shape_of(stages, replicas);
    if (vocabulary_format_of(std::as_const(*model_.make(0, stages))).partial.width > 0)
      on.vocabulary = vocabulary::spread;
    const costs::with_vocabulary<costs::quadratic> cost{{},
                                                        {.output = {.token = 1e-7}, .output_weights = {.token = 1e-7}}};
    const basic_planner make{
        on, slicers::equal_cost{}, cost, solution_as_given{&given}, schedules::list{}, simulators::sweep{}};
    return make(batch).value();
  }

  /// Gradients over the stages of one copy of the model: those of layers, then those of a vocabulary that can be
  /// spread.
  [[nodiscard]] std::vector<double> gradients(ranks& all, int stages, int replica = 0) const {
    std::vector<double> sum;
    const auto add = [&](const auto& gradients_of) {
      for (int stage = 0; stage < stages; ++stage) {
        const std::vector<double> own = gradients_of(*all.computes[static_cast<std::size_t>(replica * stages + stage)]);
        sum.insert(sum.end(), own.begin(), own.end());
      }
    };
    add([&](compute& c) { return std::vector<double>(model_.gradients(c)); });
    if constexpr (requires(compute & c) {
                    { model_.vocabulary_gradients(c) } -> std::convertible_to<std::vector<double>>;
                  })
      add([&](compute& c) { return std::vector<double>(model_.vocabulary_gradients(c)); });
    return sum;
  }

  /// The same of all copies together: as each has them, where they reduce, and their sum, where not.
  [[nodiscard]] std::vector<double> gradients_of_all(ranks& all, int stages, int replicas) const {
    std::vector<double> sum = gradients(all, stages);
    for (int replica = 1; replica < replicas && !reduces; ++replica) {
      const std::vector<double> own = gradients(all, stages, replica);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += own[i];
    }
    return sum;
  }

  [[nodiscard]] bool alike(double found, double expected) const {
    return std::abs(found - expected) <= tolerance_ * std::abs(expected);
  }

  /// Norms of the difference and of what is expected.
  struct distance {
    double difference{};
    double norm{};
  };
  [[nodiscard]] static distance between(const std::vector<double>& found, const std::vector<double>& expected) {
    distance d{found.size() == expected.size() ? 0 : std::numeric_limits<double>::infinity(), 0};
    for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
      d.difference += (found[i] - expected[i]) * (found[i] - expected[i]);
      d.norm += expected[i] * expected[i];
    }
    return {std::sqrt(d.difference), std::sqrt(d.norm)};
  }
  [[nodiscard]] bool alike(const std::vector<double>& found, const std::vector<double>& expected) const {
    const distance d = between(found, expected);
    return d.difference <= tolerance_ * d.norm;
  }

  /// Where gradients of one copy of the model differ most, as the model names its parameters; else by number.
  [[nodiscard]] std::string worst(const ranks& all, int stages, const std::vector<double>& found,
                                  const std::vector<double>& expected) const {
    const auto off = [&](std::size_t i) { return std::abs(found[i] - expected[i]); };
    if (found.size() != expected.size())
      return "there are " + std::to_string(found.size()) + " for " + std::to_string(expected.size());
    std::size_t most = 0;
    for (std::size_t i = 1; i < found.size(); ++i)
      if (!(off(i) <= off(most))) most = i;
    if (found.empty()) return {};
    std::size_t first = 0;
    if constexpr (names_parameters<Model>) {
      for (int stage = 0; stage < stages; ++stage) {
        for (const parameter& p : model_.parameters(*all.computes[static_cast<std::size_t>(stage)])) {
          if (most < first + p.count)
            return "most in " + p.name + " of stage " + std::to_string(stage) + ", element " +
                   std::to_string(most - first);
          first += p.count;
        }
      }
    }
    return "most in element " + std::to_string(most - first) + (first > 0 ? " of those without a name" : "");
  }

 private:
  /// What a step comes to. What its compute throws, a check of its own perhaps, is the line that packflow tells of it,
  /// which says where.
  template <class Run>
  [[nodiscard]] static result<step_report> told(const Run& run) {
    std::string line;
    result<step_report> report = error{};
    const executors::packflow on{.sink = [&](std::string_view text) { line = text; }};
    if (slimpack::detail::thrown_by([&] { report = run(on); })) return error{errc::compute_failed, line};
    return report;
  }

  /// What each rank makes, on a thread of its own. What a member of the model throws passes through.
  template <class Run>
  [[nodiscard]] static std::vector<result<step_report>> on_all(const ranks& all, const Run& run) {
    const result<step_report> none = error{};
    std::vector<result<step_report>> reports(all.computes.size(), none);
    std::vector<std::exception_ptr> thrown(all.computes.size());
    {
      std::vector<std::jthread> others;
      for (std::size_t rank = 1; rank < all.computes.size(); ++rank)
        others.emplace_back([&, rank] {
#ifdef __cpp_exceptions
          try {
            reports[rank] = run(rank);
          } catch (...) {
            thrown[rank] = std::current_exception();
          }
#else
          reports[rank] = run(rank);
#endif
        });
      reports[0] = run(0);
    }
#ifdef __cpp_exceptions
    for (const std::exception_ptr& e : thrown)
      if (e) std::rethrow_exception(e);
#endif
    return reports;
  }

  const Model& model_;
  const compute_options& o_;
  double tolerance_;
};

}  // namespace slimpack::testing::detail

#endif
