#include <slimpack/service/plan_cache.hpp>

#include <span>
#include <stop_token>

// Cannot be asked to stop.
struct unstoppable {
#ifdef SLIMPACK_REPAIRED
  slimpack::result<slimpack::plan> operator()(std::span<const slimpack::tokens>, std::stop_token) const {
    return slimpack::plan{};
  }
#else
  slimpack::result<slimpack::plan> operator()(std::span<const slimpack::tokens>) const { return slimpack::plan{}; }
#endif
};

// own-lines: 24
// expected-diagnostic: a batch planner is called with (span<const tokens> lengths, stop_token)
slimpack::plan_cache<unstoppable> wrong{{}};
