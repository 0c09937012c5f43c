// One step on two stages, over threads and over sockets, in a translation unit of a kind that trainers have: where
// another library's logging macros are defined before slimpack's headers (SLIMPACK_LOGGING_BEFORE), where they come
// after (SLIMPACK_LOGGING_AFTER), where nothing throws (-fno-exceptions), and where all headers come first, whose names
// could hide each other's (SLIMPACK_EVERY_HEADER). Macros are gone before a template is
// instantiated, so the default planner, which the compiler takes longest for, is asked for in full runs only
// (SLIMPACK_DEFAULT_PLANNER).
#ifdef SLIMPACK_LOGGING_BEFORE
#include "logging_macros.hpp"
#endif
#ifdef SLIMPACK_EVERY_HEADER
#include <slimpack/slimpack.hpp>
#endif
#include <slimpack/executors/activation_store.hpp>
#include <slimpack/executors/packflow.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/refined.hpp>
#include <slimpack/transports/blocking.hpp>
#include <slimpack/transports/threads.hpp>
#ifdef SLIMPACK_LOGGING_AFTER
#include "logging_macros.hpp"
#endif

#include <sys/socket.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <span>
#include <thread>
#include <vector>

namespace {

/// Multiplies each token by a number: token t is t + 1 at first, and in the end its own loss.
struct factor {
  using state = std::vector<double>;
  double number{};
  double gradient{};
  double sum{};

  slimpack::message_format format() const { return {1, slimpack::element_of<double>}; }
  double loss() const { return sum; }
  slimpack::result<state> forward(const slimpack::piece& p, std::span<const std::byte> in, slimpack::outgoing& out) {
    state x(static_cast<std::size_t>(p.slice.length.value));
    state y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::int64_t t = p.slice.begin.value + static_cast<std::int64_t>(i);
      x[i] = in.empty() ? static_cast<double>(t + 1) : slimpack::as<double>(in)[i];
      y[i] = number * x[i];
      if (!out.wanted()) sum += p.loss_weight / static_cast<double>(x.size()) * y[i];
    }
    if (slimpack::result<void> sent = out.put(y); !sent) return std::move(sent).error();
    return x;
  }
  slimpack::result<void> backward(const slimpack::piece& p, state x, std::span<const std::byte> in,
                                  slimpack::outgoing& out) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double dy = in.empty() ? p.loss_weight / static_cast<double>(x.size()) : slimpack::as<double>(in)[i];
      gradient += dy * x[i];
      x[i] = dy * number;
    }
    return out.put(x);
  }
  void discard(const slimpack::piece&, const state&) {}
};

struct socket_link {
  int socket;
  bool send(int, std::span<const std::byte> bytes) {
    return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  bool receive(int, std::span<std::byte> bytes) {
    return ::recv(socket, bytes.data(), bytes.size(), MSG_WAITALL) == static_cast<ssize_t>(bytes.size());
  }
};

/// Sequences of 5 and 3 tokens; the tokens' mean is (15 + 6) / 8 = 2.625.
///   loss = 2 x 3 x 2.625 = 15.75; its derivatives by the factors are 3 x 2.625 = 7.875 and 2 x 2.625 = 5.25
template <class Transport>
bool steps(int rank, const slimpack::plan& plan, Transport& transport) {
  factor stage{rank == 0 ? 2.0 : 3.0};
  const slimpack::result<slimpack::step_report> done = slimpack::executors::packflow{}.execute(plan, stage, transport);
  if (!done) return std::printf("rank %d: %s\n", rank, done.error().detail.c_str()), false;
  return std::abs(done.value().loss_sum - 15.75) < 1e-12 &&
         std::abs(stage.gradient - (rank == 0 ? 7.875 : 5.25)) < 1e-12;
}

}  // namespace

int main() {
  const std::vector<slimpack::tokens> lengths{{5}, {3}};
  const slimpack::shape on{.stages = 2, .quantum = {2}};
#ifdef SLIMPACK_DEFAULT_PLANNER
  const slimpack::planner plan_batch{on};
#else
  const slimpack::basic_planner plan_batch{on,
                                           slimpack::slicers::equal_cost{},
                                           slimpack::costs::quadratic{},
                                           slimpack::solvers::chunked{},
                                           slimpack::schedules::list{},
                                           slimpack::simulators::sweep{}};
#endif
  const slimpack::result<slimpack::plan> plan = plan_batch(lengths);
  int pair[2];
  if (!plan || ::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return 2;
  slimpack::transports::threads world{2};
  bool fine[4]{};
  const auto rank = [&](int r) {
    auto port = world.endpoint(r);
    fine[r] = steps(r, plan.value(), port);
    slimpack::transports::blocking transport{socket_link{pair[r]}, r, 2};
    fine[2 + r] = steps(r, plan.value(), transport);
  };
  std::thread other(rank, 1);
  rank(0);
  other.join();
  std::printf("over threads %d %d, over sockets %d %d\n", fine[0], fine[1], fine[2], fine[3]);
  return fine[0] && fine[1] && fine[2] && fine[3] ? 0 : 1;
}
