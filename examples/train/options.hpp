#ifndef SLIMPACK_EXAMPLES_TRAIN_OPTIONS_HPP
#define SLIMPACK_EXAMPLES_TRAIN_OPTIONS_HPP

#include "account.hpp"
#include "ending.hpp"
#include "model/config.hpp"

#include <slimpack/core/lending/loans_of.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/timings.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/costs/stage_options.hpp>
#include <slimpack/executors/joined/joined_row.hpp>
#include <slimpack/solvers/baselines/relaying.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/search_options.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace train {

enum class carrier { threads, mpi };

/// The planner of samples that share beginnings that runs each by itself, with a copy of what it begins with.
inline constexpr const char* flat_copies = "flat";

/// The command line, read and checked for what can be checked without opening documents.
struct options {
  std::filesystem::path documents;
  std::optional<std::filesystem::path> held_out;  ///< texts that the trained model is evaluated on
  std::optional<std::filesystem::path> tree;      ///< samples that share beginnings, all of which are a step
  slimpack::tokens max_context{2048};
  std::size_t batch{8};
  int steps{200};
  std::uint64_t seed{1};

  config model;
  bool in_double{};
  double rate{3e-3};
  double decay{0.1};
  double clip{1};

  slimpack::shape shape;
  carrier transport{carrier::threads};
  slimpack::seconds time_out{60};
  bool checksums{};  ///< of all messages of a step

  std::string planner{"slimpack"};
  std::vector<std::string> compare;
  int slices{0};  ///< of a row of slimpipe; 0: as many as there are stages
  slimpack::attention_lending lending{slimpack::attention_lending::none};  ///< of slimpipe
  slimpack::solvers::relaying relays{};                                    ///< of planners in rings
  std::uint32_t sharers{65536};                                            ///< replicas that may share a sequence
  slimpack::exchange_set exchanges{};                                      ///< that those may use
  slimpack::executors::row_calls rows{};   ///< how packs that hold parts of such sequences are run
  int ranks_per_node{0};                   ///< neighbouring ranks on one node, to which rows go last; 0: all are on one
  slimpack::costs::reduction reduction{};  ///< of gradients over replicas
  bool by_estimates{};                     ///< each rank plans the group of its replica
  slimpack::weight_gradients weights{slimpack::weight_gradients::with_inputs};  ///< of slimpack's own plans
  slimpack::solvers::search_budget effort{slimpack::solvers::search_budget::normal()};
  std::optional<std::filesystem::path> profile;         ///< what was measured, read where it is there, else written
  slimpack::seconds measure_for{3};                     ///< how long a stage is timed before the first step
  int refit{};                                          ///< after so many steps the cost is fitted to them; 0: never
  std::string cost_text{"measured"};                    ///< as typed
  std::optional<slimpack::costs::quadratic> quadratic;  ///< when the cost is not measured

  std::optional<std::filesystem::path> json;
  std::optional<std::filesystem::path> trace;
  std::optional<std::filesystem::path> timeline;
  std::optional<std::filesystem::path> log;

  std::vector<fact> alike;  ///< the options that all ranks of a job must have alike, as they were read

  [[nodiscard]] int ranks() const noexcept { return shape.stages * shape.replicas; }
};

/// The options, or an ending where there is nothing to train: --help, or what is wrong.
std::variant<options, ending> parse(int argc, char** argv);

}  // namespace train

#endif
