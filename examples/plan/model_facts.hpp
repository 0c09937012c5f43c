#ifndef SLIMPACK_EXAMPLES_PLAN_MODEL_FACTS_HPP
#define SLIMPACK_EXAMPLES_PLAN_MODEL_FACTS_HPP

#include "batches.hpp"
#include "setting.hpp"

#include <string>

namespace cli {

/// "116.8 B parameters, 5.1 B active, 18 layers full + 18 window 128 (counted as full)": active are those that a token
/// is multiplied with, the head among them.
std::string model_facts(const setting& s);

/// How much too much is counted for these batches where layers are counted as full attention that are not; empty where
/// none is. Of samples that share beginnings, each counts by itself.
std::string overcount_note(const setting& s, const batches& all);

}  // namespace cli

#endif
