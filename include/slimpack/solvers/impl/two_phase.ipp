#ifndef SLIMPACK_SOLVERS_IMPL_TWO_PHASE_IPP
#define SLIMPACK_SOLVERS_IMPL_TWO_PHASE_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/solvers/divide/searched.hpp>
#include <slimpack/solvers/improve/shipped.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/solvers/two_phase/detail/forest_search.hpp>

namespace slimpack::solvers {

SLIMPACK_DECL result<solution> two_phase::search(const problem& batch, const detail::any_slicer& slicer,
                                                 const detail::any_cost& cost,
                                                 const detail::any_schedule& schedule) const {
  return slimpack::detail::forest_search<improve::shipped>(with_less(batch.less), batch, slicer, cost, schedule)
      .solve(divide::searched{});
}

}  // namespace slimpack::solvers

#endif
