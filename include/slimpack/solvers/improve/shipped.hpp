#ifndef SLIMPACK_SOLVERS_IMPROVE_SHIPPED_HPP
#define SLIMPACK_SOLVERS_IMPROVE_SHIPPED_HPP

#include <slimpack/solvers/improve/give.hpp>
#include <slimpack/solvers/improve/join.hpp>
#include <slimpack/solvers/improve/merge.hpp>
#include <slimpack/solvers/improve/move.hpp>
#include <slimpack/solvers/improve/reorder.hpp>
#include <slimpack/solvers/improve/shift.hpp>
#include <slimpack/solvers/improve/split.hpp>
#include <slimpack/solvers/improve/swap.hpp>
#include <slimpack/solvers/improve/take.hpp>

namespace slimpack::solvers::improve {

/// The moves of two_phase; move.hpp says what each does.
using shipped = moves<swap, shift, merge, split, join, take, give, reorder>;

}  // namespace slimpack::solvers::improve

#endif
