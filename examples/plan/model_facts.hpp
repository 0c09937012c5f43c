#ifndef SLIMPACK_EXAMPLES_PLAN_MODEL_FACTS_HPP
#define SLIMPACK_EXAMPLES_PLAN_MODEL_FACTS_HPP

#include "setting.hpp"

#include <string>

namespace cli {

/// "116.8 B parameters, 5.1 B active, 18 layers full + 18 window 128, experts in all of them": active are those that a
/// token is multiplied with, the head among them.
std::string model_facts(const setting& s);

}  // namespace cli

#endif
