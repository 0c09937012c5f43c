#ifndef SLIMPACK_EXAMPLES_PLAN_PRICES_HPP
#define SLIMPACK_EXAMPLES_PLAN_PRICES_HPP

#include "planners.hpp"
#include "setting.hpp"

#include <iosfwd>

namespace cli {

/// Which prices a setting has: what of the time was measured, and how far they were off on published trainings, which the
/// fidelity benchmark scores (examples/data/price_errors.csv). With tables of one's own, or --verbose, what each table is
/// used for, and what is wrong with it.
void print_prices(std::ostream& out, const setting& s, const any_cost& cost);

}  // namespace cli

#endif
