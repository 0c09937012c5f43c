#ifndef SLIMPACK_PRICING_DETAIL_LONGEST_CHECK_HPP
#define SLIMPACK_PRICING_DETAIL_LONGEST_CHECK_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/detail/cost_answers.hpp>
#include <slimpack/pricing/workload.hpp>

#include <string>

namespace slimpack::detail {

/// Whether the model gives times for the longest sequence, which takes the longest (cost_model law 3), and for sharing
/// it among all replicas that get a quantum of it, the longest exchange: what can be said before any work.
/// And whether each part is like one that there is.
/// Errors    invalid_input            Complexity  O(parts) questions
class longest_check {
 public:
  longest_check(const cost_answers& cost, const shape& on, tokens longest)
      : cost_(cost),
        on_(on),
        whole_{{}, {0}, longest},
        sequence_("a sequence of " + std::to_string(longest.value) + " tokens") {}

  [[nodiscard]] result<void> operator()(weight_gradients split) const;

 private:
  [[nodiscard]] static error wrong(const std::string& what);
  [[nodiscard]] static error no_time(seconds t, const std::string& what);
  [[nodiscard]] result<void> packs(pass p, int part) const;
  /// With all replicas that get a quantum of it.
  [[nodiscard]] seconds longest_exchange(pass p, int part) const;
  [[nodiscard]] result<void> weights(int part) const;
  [[nodiscard]] result<void> buckets(int part) const;
  [[nodiscard]] result<void> ends_of_model() const;
  [[nodiscard]] error no_end(seconds t, int stage) const;

  const cost_answers& cost_;
  const shape& on_;
  slice whole_;
  std::string sequence_;
};

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/pricing/impl/longest_check.ipp>
#endif

#endif
