#include <slimpack/planner_for.hpp>

// It says nothing of sharing, so nobody knows whether it lets replicas share sequences.
struct own_solver {
#ifdef SLIMPACK_REPAIRED
  void share_by(slimpack::exchange_set) {}
#endif
  template <class Slicer, class Cost, class Schedule>
  slimpack::result<slimpack::solution> solve(const slimpack::problem&, const Slicer&, const Cost&,
                                             const Schedule&) const;
};

struct layers {
  slimpack::message_format format() const;
  slimpack::result<void> forward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
  slimpack::result<void> backward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
  void discard(const slimpack::piece&);
};

// expected-diagnostic: this stage compute shares no rows, or keeps none, so its solver offers void
// share_by(exchange_set)
using wrong = decltype(slimpack::planner_for<layers>(slimpack::shape{}, {}, {}, own_solver{}));
