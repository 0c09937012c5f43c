#ifndef SLIMPACK_EXAMPLES_TRAIN_MIXER_OPTIONS_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MIXER_OPTIONS_HPP

#include "model/config.hpp"
#include "options.hpp"

#include <string>

namespace train {

/// Reads --mixers, as full,window:64,linear.            Errors    throws cli::bad_usage
void read_mixers(const std::string& text, config& model);

/// With linear layers, which take the tokens of a sequence one after the other, replicas share none: it sets --sharers
/// to 1 where it is not given.
/// Errors    throws cli::bad_usage: an option that makes replicas or stages share a sequence
void share_as_mixers_can(options& o, bool sharers_are_given);

/// What fits together of mixers, layers and parts. Chunks of a stage keep equally much, as plans take it.
/// Requires  counts of layers that fit            Errors    throws cli::bad_usage
void check_mixers(const options& o);

/// Of layers that are not all full attention: ", mixers full, window:64, linear".
std::string mixers_text(const config& model);

}  // namespace train

#endif
