// A job in which rank 1 dies, in the way that the argument says, while the others wait for its message. Its exit status
// is for job_ends.cmake to judge: the launcher ends the job, or the survivors do once their wait has timed out.
#include <slimpack/transports/mpi.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <thread>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string_view how = argc > 1 ? argv[1] : "";
  slimpack::transports::mpi t{MPI_COMM_WORLD, {slimpack::seconds{2}}};
  if (t.rank() == 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the others wait by now
    if (how == "killed") std::raise(SIGKILL);
    if (how == "exits") std::_Exit(3);
    if (how == "leaves") std::_Exit(0);
    std::this_thread::sleep_for(std::chrono::seconds(60));  // "hangs"
  }
  std::byte in[1];
  auto h = t.receive(1, 1, in).value();
  if (t.wait(h)) return EXIT_SUCCESS;
  t.abort("rank 1 is dead");
  const auto later = t.receive(1, 1, in);
  if (later || later.error().code != slimpack::errc::transport_failed) return EXIT_SUCCESS;
  MPI_Abort(MPI_COMM_WORLD, 4);
}
