#ifndef SLIMPACK_COSTS_WITH_VOCABULARY_HPP
#define SLIMPACK_COSTS_WITH_VOCABULARY_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/costs/vocabulary_rates.hpp>

#include <concepts>
#include <utility>
#include <vector>

namespace slimpack::costs {

/// A cost model of layers, with rates for a vocabulary that is spread over the stages: for models that do not price
/// one, such as costs::quadratic.
///
///   using cost = costs::with_vocabulary<costs::quadratic>;
///   cost{costs::quadratic{...}, {.output = {.call = 1e-5, .token = 2e-7}, .output_weights = {.token = 1e-7}, .hidden =
///   {2e-5}}};
///
/// Stages that have unequal shares of the words (shape::words) may have rates of their own, one per stage.
///
/// It answers everything else as the model does. Where the model offers `memory`, its rates should have logit_token and
/// turned_token (core/memory_rates.hpp).
/// Errors    none            Complexity  that of the model; O(1)
template <class Cost>
class with_vocabulary : public Cost {
 public:
  with_vocabulary() = default;
  with_vocabulary(Cost layers, const vocabulary_rates& ends) : Cost(std::move(layers)), ends_(1, ends) {}
  /// A template, so that {} and {.output = ...} are rates of all stages.
  template <std::same_as<std::vector<vocabulary_rates>> Rates>
  with_vocabulary(Cost layers, Rates of_stages) : Cost(std::move(layers)), ends_(std::move(of_stages)) {}

  [[nodiscard]] seconds vocabulary_time(tokens size, instruction_kind call, int stage) const noexcept {
    return rates_on(ends_, stage).of(call)(size);
  }
  [[nodiscard]] seconds vocabulary_message(tokens size, message_kind rows, int stage) const noexcept {
    return rates_on(ends_, stage).of(rows)(size);
  }

 private:
  std::vector<vocabulary_rates> ends_ = std::vector<vocabulary_rates>(1);  // of all stages, or of each
};

}  // namespace slimpack::costs

#endif
