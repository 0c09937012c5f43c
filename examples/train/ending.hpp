#ifndef SLIMPACK_EXAMPLES_TRAIN_ENDING_HPP
#define SLIMPACK_EXAMPLES_TRAIN_ENDING_HPP

#include <slimpack/core/error.hpp>

#include <string>

namespace train {

/// How a rank ended: an exit status, and the line that says why it is not 0, or the help that was asked for.
struct ending {
  int status{};
  std::string line{};
  bool stuck{};  ///< a rank did not answer, so that the ranks can no longer leave together

  /// A step that failed: 1, whatever the reason.
  [[nodiscard]] static ending of_step(const slimpack::error& e) {
    using slimpack::errc;
    return {1, e.detail, e.code == errc::timed_out || e.code == errc::transport_failed};
  }
  /// What stopped training between steps: 3 for memory, 2 for other input.
  [[nodiscard]] static ending of_input(const slimpack::error& e) {
    return {e.code == slimpack::errc::out_of_memory ? 3 : 2, e.detail};
  }
};

/// Says the line on stderr, whatever characters it has, if this is rank 0 of its job or in none: all ranks of a job
/// have the same to say. Returns the exit status.
int complain(const ending& e);

/// Says it on whatever rank, for what the other ranks do not know.
int complain_here(const ending& e);

/// Says help on stdout, and complains of anything else. Returns the exit status.
int finish(const ending& e);

}  // namespace train

#endif
