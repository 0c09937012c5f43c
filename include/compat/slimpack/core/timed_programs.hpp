#include <slimpack/schedules/timed_programs.hpp>
