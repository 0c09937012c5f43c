// Run by mpirun on three ranks, replicas of one stage that share a sequence: rank 1 goes wrong within an exchange, in
// the way that the first argument names, where rows are kept or, with "queries" behind it, go round. Every rank must
// stop in time with a message that names where, sequence and peer, hold nothing, and run the next step over the same
// transport exactly. Status 0 when all was so.
#include <slimpack/executors/packflow.hpp>
#include <slimpack/transports/mpi.hpp>

#include "../executors/planned.hpp"
#include "../executors/shared_prefix_model.hpp"

#include <slimpack/schedules/list.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/two_phase.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace slimpack;

constexpr double time_out = 2;
const std::vector<tokens> lengths{{160}, {12}, {7}, {9}};

plan shared_plan(exchange how) {
  return tests::planned(
             {.stages = 1, .replicas = 3, .quantum = {4}}, lengths, slicers::equal_cost{},
             solvers::two_phase{
                 .effort = solvers::search_budget::fast(), .most_sharers = 3, .exchanges = exchange_set::only(how)},
             schedules::list{})
      .value();
}

/// Goes wrong in its first shared row of forward, after it has sent what others need of the first layer, or before.
class faulty : public shared_prefix_stage<backward_cuts::any> {
 public:
  using base = shared_prefix_stage<backward_cuts::any>;
  using base::base;
  using base::forward;
  std::string fault;

  result<void> forward(std::span<const piece> row, std::span<const std::byte> in, outgoing& out, sharing& with) {
    if (fault.empty() || rows_seen_++ > 0) return base::forward(row, in, out, with);
    std::int64_t own = 0;
    for (const slice& s : with.own()) own += s.length.value;
    const std::vector<double> some(static_cast<std::size_t>(own), 1.0);
    if (fault == "short")
      return with.exchange() == exchange::keep ? with.give(0, as_span(some).first(8))
                                               : with.launch(0, as_span(some).first(8));
    if (result<void> sent =
            with.exchange() == exchange::keep ? with.give(0, as_span(some)) : with.launch(0, as_span(some));
        !sent)
      return sent;
    if (fault == "throws") throw std::runtime_error("layer 7 is on fire");
    if (fault == "killed") std::raise(SIGKILL);
    std::this_thread::sleep_for(std::chrono::duration<double>(1.5 * time_out));  // "hangs"
    return error{errc::compute_failed, "too late"};
  }

 private:
  int rows_seen_{};
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

int run(const std::string& fault, exchange how) {
  transports::mpi transport{MPI_COMM_WORLD, transports::mpi::options{.time_out = {time_out}}};
  const plan p = shared_plan(how);
  if (p.merges.empty() || p.merges[0].replicas.size() != 3) return 3;
  faulty stage(0, 1, 1);
  if (transport.rank() == 1) stage.fault = fault;
  std::string message;
  bool stepped = false;
  const executors::packflow packflow{.sink = [&](std::string_view line) { message = line; }};
  const auto begin = std::chrono::steady_clock::now();
  try {
    stepped = static_cast<bool>(packflow.execute(p, stage, transport));
  } catch (const std::runtime_error&) {
  }
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("rank %d after %.2f s: %s\n", transport.rank(), took, message.c_str());
  const bool is_late = fault == "hangs" && transport.rank() == 1;
  const bool named = is_late ? contains(message, "rank 1 (replica 1, stage 0), F") && contains(message, "too late")
                     : fault == "hangs" ? contains(message, "sequence 0, layer ") && contains(message, "from rank ")
                                        : contains(message, "rank 1 (replica 1, stage 0), F") &&
                                              contains(message, fault == "short" ? "sequence 0, layer 0, rows "
                                                                                 : "layer 7 is on fire");
  const bool holds_nothing = stage.held() == bytes{0};

  shared_prefix_stage<backward_cuts::any> again(0, 1, 1);
  const result<step_report> step = executors::packflow{}.execute(p, again, transport);
  const bool exact = step && step.value().loss_sum == prefix_model::whole(lengths, 2).loss;
  const bool fine = !stepped && named && holds_nothing && exact && took < 2.5 * time_out;
  if (!fine)
    std::printf("rank %d: stepped %d, message names its cause %d, holds nothing %d, next step exact %d, in time %d\n",
                transport.rank(), stepped, named, holds_nothing, exact, took < 2.5 * time_out);
  return fine ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status =
      argc < 2 ? 2
               : run(argv[1], argc > 2 && std::string_view(argv[2]) == "queries" ? exchange::queries : exchange::keep);
  MPI_Finalize();
  return status;
}
