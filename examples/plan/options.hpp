#ifndef SLIMPACK_EXAMPLES_PLAN_OPTIONS_HPP
#define SLIMPACK_EXAMPLES_PLAN_OPTIONS_HPP

#include "baseline_options.hpp"
#include "trainer.hpp"

#include <slimpack/core/lending/loans_of.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/costs/stage_options.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/io/lengths/lengths_list.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/shapes/layout.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/search_options.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace cli {

enum class over_long { reject, truncate, drop };

/// What --cost names. Without it prices are measured where tables of the GPU are shipped, and else the analytic ones.
enum class prices { automatic, measured, transformer, sheet, profiled, quadratic };

/// Whether a plan is of samples that may share beginnings.
inline bool is_forest(const slimpack::plan& p) { return !p.samples.empty() || !p.parents.empty(); }

/// The command line, read and checked for what can be checked without opening files.
struct options {
  std::filesystem::path lengths;             ///< a list, or the plan file whose batch is planned again
  bool takes_list{true};                     ///< whether it is a list
  slimpack::io::lengths_options how_listed;  ///< how the list is read
  bool is_tree{};                            ///< its lines are nodes of a forest of samples
  bool shares_prefixes{};                    ///< its samples have token ids, of which equal beginnings are run once
  std::optional<std::size_t> batch;
  std::optional<slimpack::tokens> token_budget;  ///< of a batch, instead of its size
  std::size_t batches{1};
  std::optional<std::uint64_t> seed;
  std::optional<slimpack::tokens> max_context;
  cli::over_long over_long{cli::over_long::reject};
  std::optional<slimpack::tokens> pad_to;   ///< lengths are rounded up to a multiple of it
  std::optional<slimpack::tokens> quantum;  ///< as given; none: default_quantum of each layout

  std::optional<std::filesystem::path> model;
  bool further_tokens{};     ///< plan the model's layers that predict tokens beyond the next one
  double attended_share{1};  ///< of the pairs of full attention
  std::optional<std::string> gpu;
  bool limits_memory{};             ///< --memory is given
  bool force{};                     ///< let --memory exceed the GPU's
  slimpack::shapes::layout layout;  ///< as given; a degree that is not is 1
  /// Under --auto, what is chosen for: so many GPUs. What is given stays.
  struct choice {
    int gpus{};
    bool replicas{}, stages{}, tensor{}, context{}, expert{}, chunks{}, recompute{}, vocabulary{};  ///< given
  };
  std::optional<choice> automatic;
  bool even_stages{};                                 ///< choose the layers of each stage
  bool shares_words{};                                ///< choose each stage's share of a spread vocabulary
  std::optional<std::filesystem::path> memory_table;  ///< of tensors that a training stack saves
  slimpack::costs::routing routing;                   ///< of tokens to experts that ranks divide
  std::optional<std::filesystem::path> imbalances;    ///< of each layer with experts
  std::string of_experts;                             ///< an option about experts beside --ep that is typed, or none
  std::optional<slimpack::seconds> hop;
  slimpack::seconds call{};  ///< of each piece besides, where the trainer is called piece by piece
  std::string cost_text;     ///< as typed, empty where it is not
  cli::prices prices{cli::prices::automatic};
  std::optional<slimpack::costs::quadratic> quadratic;  ///< when the cost is quadratic
  std::optional<std::filesystem::path> profile;         ///< when it is profiled: the tables, a folder or one file

  cli::trainer trainer{};  ///< that is to run the plan
  std::string planner{"slimpack"};
  std::vector<std::string> compare;
  std::vector<baseline_setting> baselines;                  ///< what is not tuned of those
  std::optional<slimpack::shapes::layout> baseline_layout;  ///< on which those of `compare` are planned, whatever
                                                            ///< slimpack's is
  int slices{0};                                            ///< of a row of slimpipe; 0: as many as there are stages
  slimpack::attention_lending lending{slimpack::attention_lending::none};  ///< of slimpipe
  std::uint32_t relay{0};  ///< segments in which proxies relay rows between nodes; 0: none do
  slimpack::solvers::search_budget effort{slimpack::solvers::search_budget::normal()};
  std::string effort_text;
  slimpack::weight_gradients weights{slimpack::weight_gradients::with_inputs};
  slimpack::backward_cuts cuts{slimpack::backward_cuts::any};
  std::uint32_t sharers{65536};        ///< replicas that may share a sequence
  slimpack::exchange_set exchanges{};  ///< that those may use
  slimpack::costs::reduction reduction{};
  bool joins_rows{};       ///< attention covers exchanges of shared sequences in the same pack
  bool by_estimates{};     ///< divide the batch by estimates
  bool zones{};            ///< sharing_zones limit slimpack's own division
  bool forward_only{};     ///< plan the forward alone, to evaluate
  std::size_t threads{0};  ///< 0: one per core
  bool search_report{};    ///< print what slimpack's search did
  bool verbose{};          ///< print a line for each shared sequence
  bool explain{};          ///< print where the time of the stages goes
  bool summary{};          ///< print one table of all batches, and write one page
  std::optional<std::int64_t> time_limit_ms;

  /// A plan file that is made again: options that it was made with stand where none are typed.
  struct repeat {
    std::filesystem::path file;
    std::shared_ptr<const slimpack::plan> made;
    std::set<std::string> replaced;    ///< options that are typed
    std::vector<std::string> changes;  ///< options that are typed and differ from it, a text each

    /// What it was made with instead of the file that this option names; none where the option is typed.
    [[nodiscard]] const slimpack::plan_origin::input* input(const std::string& option) const;
    /// Whether the plan was made with this option, without dashes, and nothing is typed instead.
    [[nodiscard]] bool brings(const std::string& option) const;
  };
  std::optional<repeat> from;
  slimpack::plan_origin::options given;  ///< every option that counts when planning, and its text

  /// Whether samples may share beginnings.
  [[nodiscard]] bool has_forest() const {
    return is_tree || shares_prefixes || (!takes_list && is_forest(*from->made));
  }

  /// Whether an option, without dashes, is among these.
  [[nodiscard]] bool has(const std::string& option) const;
  /// Whether it is, and no plan file alone brings it.
  [[nodiscard]] bool has_typed(const std::string& option) const {
    return has(option) && !(from && from->brings(option));
  }

  std::optional<std::filesystem::path> config;  ///< that options were read from, too
  std::optional<std::filesystem::path> json;
  std::optional<std::filesystem::path> trace;
  std::optional<std::filesystem::path> timeline;
  std::optional<std::filesystem::path> graph;
};

/// Says one line on stderr, whatever characters it has, and returns the exit status.
int complain(std::string_view line, int status);

/// The options, or the exit status when there is nothing to plan (--help, or an error already said on stderr).
std::variant<options, int> parse(int argc, char** argv);

}  // namespace cli

#endif
