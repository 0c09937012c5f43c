#ifndef SLIMPACK_SHAPES_SEARCH_PROGRESS_HPP
#define SLIMPACK_SHAPES_SEARCH_PROGRESS_HPP

#include <slimpack/core/units.hpp>

#include <cstddef>
#include <functional>

namespace slimpack::shapes {

/// How far a search of layouts is.
struct search_progress {
  /// What is done with one layout after the other.
  enum class round : unsigned char {
    bounds,  ///< its lower bound is computed
    probes,  ///< it is planned with a small part of the effort
    plans,   ///< one of the best is planned with more of it
  };

  round now{round::bounds};
  std::size_t done{};  ///< layouts of this round
  std::size_t left{};  ///< of this round, at most: bounds may rule some out
  seconds best{};      ///< the shortest step so far; 0 where there is none
};

/// Who is told, by one thread at a time, after each layout.
using progress_listener = std::function<void(const search_progress&)>;

}  // namespace slimpack::shapes

#endif
