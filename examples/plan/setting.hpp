#ifndef SLIMPACK_EXAMPLES_PLAN_SETTING_HPP
#define SLIMPACK_EXAMPLES_PLAN_SETTING_HPP

#include "options.hpp"
#include "planners.hpp"
#include "texts.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/costs/kernels/kernel_samples.hpp>
#include <slimpack/costs/kernels/kernel_times.hpp>
#include <slimpack/costs/memory/saved_tensors.hpp>
#include <slimpack/costs/model/gpu.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/network/network.hpp>
#include <slimpack/io/profile_table.hpp>
#include <slimpack/shapes/layout.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cli {

/// What was measured on the GPU, ready to ask.
struct measurements {
  slimpack::costs::kernel_times kernels;
  slimpack::costs::network network;
  std::vector<slimpack::costs::layer_sample> layers;
  std::vector<slimpack::io::profile_table> tables;  ///< all that there are, of other GPUs too
  std::vector<std::string> notes;                   ///< a line each
};

/// Cost models that were made of measurements, by layout: making one takes as long as planning a baseline with it, and
/// each planner of a comparison asks for the same ones.
class made_costs {
 public:
  /// The cost model of a layout, for planners that cut sequences or for those that do not. `make` makes it the first
  /// time: result<profiled>().
  template <class Make>
  slimpack::result<slimpack::costs::profiled> of(const slimpack::shapes::layout& on, bool cuts, const Make& make) {
    const std::string key = options_of(on) + (cuts ? "" : ", whole");
    {
      const std::lock_guard lock(guard_);
      if (const auto known = made_.find(key); known != made_.end()) return known->second;
    }
    slimpack::result<slimpack::costs::profiled> cost = make();
    const std::lock_guard lock(guard_);
    if (cost) made_.emplace(key, cost.value());
    return cost;
  }

 private:
  std::mutex guard_;
  std::map<std::string, slimpack::costs::profiled> made_;
};

/// What every batch is planned with: the options, their --cost resolved, and what their files hold.
struct setting {
  cli::options options;
  std::optional<slimpack::costs::model_shape> model{};
  std::vector<std::string> model_notes{};  ///< what was left out of it or taken for granted, a sentence each
  std::optional<slimpack::costs::gpu> device{};
  slimpack::costs::saved_tensors tensors{slimpack::costs::saved_tensors::flash_attention()};
  slimpack::costs::routing routing{};                  ///< as given, with the factors of a file
  std::optional<measurements> measured{};              ///< under --cost measured and profiled
  slimpack::shapes::layout layout{};                   ///< as given, with the memory limit
  std::vector<slimpack::plan_origin::input> inputs{};  ///< what was read, for whoever makes the plan again
  std::shared_ptr<made_costs> made{};  ///< of the model's layouts, where planners are compared under --auto
  slimpack::tokens longest{1 << 20};   ///< of a sequence: measured prices are tabulated up to there
};

/// What a GPU has less what is kept free (memory_margin.hpp).
/// Errors    out_of_memory: nothing is left
slimpack::result<slimpack::memory_limit> usual_limit(const slimpack::costs::gpu& device);

/// Reads the files that the options name.
slimpack::result<setting> prepare(const options& o);

/// Whether rows of experts can be as unevenly spread over the ranks of a layout as the options say.
bool can_be_imbalanced(const setting& s, const slimpack::shapes::layout& on);

/// What the options ask of a planner on a layout.
request request_of(const setting& s, const std::string& planner, const slimpack::shapes::layout& on);

/// The cost model of the setting on a layout, for plans of a planner; each is for one kind of --cost. Memory has what
/// later slices read of earlier ones where the planner may cut sequences.
slimpack::costs::quadratic quadratic_on(const setting& s, const slimpack::shapes::layout& on);
slimpack::result<slimpack::costs::transformer> transformer_on(const setting& s, const std::string& planner,
                                                              const slimpack::costs::model_shape& model,
                                                              const slimpack::shapes::layout& on);
slimpack::result<slimpack::costs::profiled> profiled_on(const setting& s, const std::string& planner,
                                                        const slimpack::costs::model_shape& model,
                                                        const slimpack::shapes::layout& on);

/// That of the setting's --cost.
slimpack::result<any_cost> cost_on(const setting& s, const std::string& planner, const slimpack::shapes::layout& on);

}  // namespace cli

#endif
