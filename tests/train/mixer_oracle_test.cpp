#include "../../examples/train/path_texts.hpp"
#include "../executors/planned.hpp"
#include "exact_step.hpp"
#include "oracle_samples.hpp"

#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/two_phase.hpp>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::mixer_oracle_test {
namespace {

using texts_type = std::vector<std::vector<std::uint8_t>>;

/// What PyTorch found of a model of full attention, a window and a linear layer, by whole matrices and token by token;
/// see model_oracle.py.
struct oracle {
  nlohmann::json all, mixed;
  train::config model;

  oracle() {
    std::ifstream file(std::filesystem::path(__FILE__).parent_path() / "oracle.json");
    file >> all;
    mixed = all.at("mixed");
    const auto& c = mixed.at("config");
    model = {c.at("layers"), c.at("hidden"), c.at("heads"),      c.at("kv_heads"),
             c.at("ffn"),    c.at("vocab"),  c.at("rope_theta"), c.at("eps")};
    for (const std::string name : c.at("mixers"))
      model.mixers.push_back(name == "full"     ? train::mixer_choice{}
                             : name == "linear" ? train::mixer_choice{train::mixer_kind::linear}
                                                : train::mixer_choice{train::mixer_kind::window,
                                                                      std::stoi(name.substr(name.find(':') + 1))});
  }
  /// Of the batch.
  [[nodiscard]] tests::exact_answer answer() const {
    tests::exact_answer made(model);
    made.loss = made.size = mixed.at("loss");
    for (const auto& t : mixed.at("tensors"))
      made.gradients[t.at("name")] = t.at("gradient").get<std::vector<double>>();
    return made;
  }
  /// Of samples that share beginnings, each by itself.
  [[nodiscard]] tests::exact_answer answer_of_samples() const {
    tests::exact_answer made(model);
    made.loss = made.size = mixed.at("samples").at("loss");
    for (const auto& [name, gradient] : mixed.at("samples").at("gradients").items())
      made.gradients[name] = gradient.get<std::vector<double>>();
    return made;
  }
};

const oracle& torch() {
  static const oracle read;
  return read;
}

/// A stage that begins with PyTorch's weights.
template <class Stage>
class beginning_alike : public Stage {
 public:
  beginning_alike(const train::config& c, const shape& on, int stage, train::documents texts, std::uint64_t seed)
      : Stage(c, on, stage, std::move(texts), seed) {
    std::map<std::string, std::vector<double>> values;
    for (const auto& t : torch().mixed.at("tensors")) values[t.at("name")] = t.at("value").get<std::vector<double>>();
    train::parameters<double>& own = this->weights();
    for (std::size_t t = 0; t < own.tensors().size(); ++t)
      std::ranges::copy(values.at(own.tensors()[t].name), own.values(t).begin());
  }
};
using any_cuts = beginning_alike<train::model_stage<double>>;
using whole_pieces = beginning_alike<tests::whole_pieces>;

/// The largest error of a gradient over ranks and both kinds of backward cuts, or 100 times that of the loss.
double error_of(const tests::exact_answer& expected, const plan& p, const train::documents& texts) {
  std::vector<double> errors(2 * static_cast<std::size_t>(tests::ranks_of(p)));
  for (const bool whole : {false, true}) {
    transports::threads world{tests::ranks_of(p), {.time_out = {60}}};
    tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
      auto endpoint = world.endpoint(rank);
      errors[2 * static_cast<std::size_t>(rank) + whole] = (whole ? expected.error_by<whole_pieces>(texts, p, endpoint)
                                                                  : expected.error_by<any_cuts>(texts, p, endpoint))
                                                               .value();
    });
  }
  return *std::max_element(errors.begin(), errors.end());
}

TEST(MixerOracle, LossAndEveryGradientAreThoseOfPyTorch) {
  const auto texts = torch().all.at("sequences").get<texts_type>();
  const tests::exact_answer expected = torch().answer();
  std::vector<tokens> lengths;
  for (const auto& text : texts) lengths.push_back({static_cast<std::int64_t>(text.size())});
  double worst = 0;
  int cut = 0;
  for (const shape& on :
       {shape{.quantum = {256}}, shape{.stages = 2, .quantum = {8}}, shape{.stages = 3, .quantum = {4}},
        shape{.stages = 1, .replicas = 2, .quantum = {8}}, shape{.stages = 3, .replicas = 2, .quantum = {8}}})
    for (const bool apart : {false, true}) {
      const solvers::two_phase alone{.most_sharers = 1};
      const plan p = (apart ? tests::planned(on, lengths, slicers::equal_cost{}, alone, schedules::zero_bubble{})
                            : tests::planned(on, lengths, slicers::equal_cost{}, alone, schedules::list{}))
                         .value();
      const double error =
          error_of(expected, p, [&](sequence_id s) { return std::span<const std::uint8_t>(texts[s.value]); });
      EXPECT_LT(error, 1e-9) << on.stages << " stages, " << on.replicas << " replicas";
      worst = std::max(worst, error);
      for (const replica_plan& r : p.replicas) cut += r.partition.forward.slices().size() > r.sequences.size();
    }
  std::printf("10 plans, %d replicas cut sequences, worst error %.2g\n", cut, worst);
  EXPECT_GT(cut, 3);
}

TEST(MixerOracle, WithSamplesThatShareBeginningsLossAndEveryGradientAreThoseOfPyTorch) {
  const tests::exact_answer expected = torch().answer_of_samples();
  const auto [batch, paths] = tests::oracle_samples::of(torch().all);
  double worst = 0;
  int forks = 0, copies = 0;
  for (const int stages : {1, 2, 3})
    for (const int replicas : {1, 2}) {
      const shape on{.stages = stages, .replicas = replicas, .quantum = {4}};
      const plan p =
          tests::planned(on, batch.all, slicers::equal_cost{}, solvers::two_phase{}, schedules::list{}).value();
      const auto of_plan = train::path_texts(p, {paths.begin(), paths.end()});
      const double error =
          error_of(expected, p, [&](sequence_id s) { return std::span<const std::uint8_t>(of_plan[s.value]); });
      EXPECT_LT(error, 1e-9) << stages << " stages, " << replicas << " replicas";
      worst = std::max(worst, error);
      forks += !p.parents.empty(), copies += !p.copies.empty();
    }
  EXPECT_EQ(forks, 6);
  std::printf("%d plans, %d with copied paths, worst error %.2g\n", forks, copies, worst);
}

}  // namespace
}  // namespace slimpack::mixer_oracle_test
