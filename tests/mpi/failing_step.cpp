// Run by mpirun on three ranks, a stage each: a step goes wrong on rank 1 in the way that the argument names. Every
// rank must stop in time with a message that names rank, stage, instruction and cause, none may run its optimizer, and
// the next step over the same transport must be exact. Status 0 when all was so.
#include <slimpack/transports/mpi.hpp>

#include "../executors/diary.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace slimpack;

constexpr double time_out = 2;

class faulty : public tests::diary {
 public:
  using diary::diary;
  std::string fault;

  result<state> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    if (part(0) == 1 && ++calls_ == 4) {
      if (fault == "throws") throw std::runtime_error("layer 7 is on fire");
      if (fault == "fails") return error{errc::compute_failed, "layer 7 is on fire"};
      if (fault == "hangs") std::this_thread::sleep_for(std::chrono::duration<double>(1.5 * time_out));
      if (fault == "killed") std::raise(SIGKILL);
      if (fault == "short") {
        std::vector<std::byte> elsewhere(out.size());
        outgoing lost{elsewhere};
        result<state> made = diary::forward(p, in, lost);
        (void)out.put(std::vector<double>(1));
        return made;
      }
    }
    return diary::forward(p, in, out);
  }

 private:
  int calls_{};
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

int run(const std::string& fault) {
  transports::mpi transport{MPI_COMM_WORLD, transports::mpi::options{.time_out = {time_out}}};
  plan p = tests::small_plan();
  if (fault == "other_plan" && transport.rank() == 1) p.step_time += seconds{1e-9};
  faulty stage(transport.rank(), 3, 1,
               fault == "other_width" && transport.rank() == 1 ? tests::width + 1 : tests::width);
  stage.fault = fault;
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

  const bool late = fault == "hangs";  // its neighbours are who notices
  const std::string where = fault == "other_plan" || fault == "other_width" ? "ranks 0 and 1 hold different"
                            : late                                          ? "stage"
                                                                            : "rank 1 (replica 0, stage 1), F";
  const std::string cause = fault == "other_plan"    ? "plans"
                            : fault == "other_width" ? "widths"
                            : fault == "short"       ? "8 bytes"
                            : late                   ? "no message from rank 1"
                                                     : "layer 7 is on fire";
  const bool named = contains(message, where) && contains(message, cause);
  const bool returned = stage.count->made == stage.count->taken + stage.count->discarded && stage.aborts == 1;

  tests::diary again(transport.rank(), 3, 1, tests::width);
  const plan next = tests::small_plan();
  const result<step_report> step = executors::packflow{}.execute(next, again, transport);
  const prefix_model::gradients expected = prefix_model::whole(next.lengths, 3);
  const bool exact = step && step.value().loss_sum == expected.loss &&
                     again.gradient()[0] == expected.weight[static_cast<std::size_t>(transport.rank())];
  const bool fine = !stepped && named && returned && exact && took < 2.5 * time_out;
  if (!fine)
    std::printf(
        "rank %d: stepped %d, message names its cause %d, states given back %d, next step exact %d, in time %d\n",
        transport.rank(), stepped, named, returned, exact, took < 2.5 * time_out);
  return fine ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = argc == 2 ? run(argv[1]) : 2;
  MPI_Finalize();
  return status;
}
