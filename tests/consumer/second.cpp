// Includes all that main.cpp does, so that what a header defines is defined twice unless it is inline.
#include <slimpack/slimpack.hpp>

slimpack::seconds step_time_of(const slimpack::plan& made) { return made.step_time; }
