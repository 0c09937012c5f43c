#ifndef SLIMPACK_TRANSPORTS_DETAIL_MPI_COMMUNICATOR_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_MPI_COMMUNICATOR_HPP

// Where Open MPI's deprecated C++ bindings are not wanted, define OMPI_SKIP_MPICXX=1, as the target slimpack::mpi does:
// they cost 0.6 s to include, and a library to link.
#include <mpi.h>

#include <cstddef>
#include <string>
#include <utility>

namespace slimpack::detail {

[[nodiscard]] inline std::string mpi_message(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return "MPI error " + std::to_string(code);
  return std::string(text, static_cast<std::size_t>(length));
}

/// The largest tag of a communicator. Open MPI 4.1 tells it of the world communicator and its duplicates only, not of
/// what MPI_Comm_split made; MPI 4.0, 9.1.2, has one value for all, 32767 at the least.
[[nodiscard]] inline int largest_tag(MPI_Comm of) {
  for (const MPI_Comm asked : {of, MPI_COMM_WORLD}) {
    int* most = nullptr;
    int known = 0;
    if (MPI_Comm_get_attr(asked, MPI_TAG_UB, &most, &known) == MPI_SUCCESS && known) return *most;
  }
  return 32767;
}

/// A duplicate of a communicator that returns errors, freed with this object unless MPI has ended before.
class mpi_communicator {
 public:
  explicit mpi_communicator(MPI_Comm from) {
    code_ = MPI_Comm_dup(from, &handle_);
    if (code_ == MPI_SUCCESS) code_ = MPI_Comm_set_errhandler(handle_, MPI_ERRORS_RETURN);
  }
  mpi_communicator(mpi_communicator&& other) noexcept
      : handle_(std::exchange(other.handle_, MPI_COMM_NULL)), code_(other.code_) {}
  mpi_communicator& operator=(mpi_communicator&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(code_, other.code_);
    return *this;
  }
  ~mpi_communicator() {
    int ended = 0;
    if (handle_ != MPI_COMM_NULL && MPI_Finalized(&ended) == MPI_SUCCESS && !ended) MPI_Comm_free(&handle_);
  }

  [[nodiscard]] MPI_Comm get() const noexcept { return handle_; }
  [[nodiscard]] int code() const noexcept { return code_; }
  /// Never frees it: messages that nobody can take back are still under way.
  void abandon() noexcept { handle_ = MPI_COMM_NULL; }

 private:
  MPI_Comm handle_{MPI_COMM_NULL};
  int code_{MPI_SUCCESS};
};

}  // namespace slimpack::detail

#endif
