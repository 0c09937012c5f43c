#include <slimpack/executors/step_report.hpp>
