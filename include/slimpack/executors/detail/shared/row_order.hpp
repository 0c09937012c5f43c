#ifndef SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_ORDER_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_ORDER_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/executors/detail/shared/shared_sequences.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace slimpack::detail {

/// The calls that a compute makes with a row, layer by layer: whether each may stand where it does and has the plan's
/// size, and what went wrong first. Errors name sequence and layer.
class row_order {
 public:
  /// Opens a row.            width: bytes that it gives, owes or launches for a token
  void begin(const shared_sequence& s, pass way, std::size_t width, int layers);
  /// A layer of a row of which this rank has no tokens.
  void stand_by(const shared_sequence& s, int layer);

  [[nodiscard]] const std::optional<error>& failed() const noexcept { return failed_; }

  /// A call that begins a layer.            keeps: of exchange::keep; what: it does with the rows of `count` tokens
  result<void> opens(int layer, pass way, bool keeps, const char* what, std::int64_t count, std::size_t given);

  /// A call that ends one, or where rows go round, may.            wrong: where none is open
  result<void> closes(int layer, pass way, bool keeps, const char* wrong);
  /// The last rotation.
  void came_home() noexcept { waiting_ = false; }

  error wrong_size(int layer, const char* what, std::int64_t count, std::size_t width, std::size_t given);

  /// What went wrong with a transfer or memory, which stays. What another rank has told says where.
  template <class T>
  result<T> noted(result<T> done) {
    if (done) return done;
    if (done.error().code != errc::aborted) return fail(std::move(done).error());
    failed_ = done.error();
    return done;
  }

  /// The row is closed. Where the compute returned as if all were well, nothing of it may be left, since others wait
  /// for it.
  [[nodiscard]] result<void> end(bool well) const;

 private:
  [[nodiscard]] int next() const noexcept { return nth_place(way_, done_, layers_); }

  error fail(error e);

  /// Whether the plan's exchange makes such calls.
  result<void> suits(bool keeps, const char* what);

  const shared_sequence* sequence_{};
  pass way_{};
  std::size_t width_{};
  int layers_{};
  int done_{};      // layers given, owed or launched
  int layer_{};     // the last named
  bool waiting_{};  // for what others send of it
  std::optional<error> failed_;
};

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/executors/impl/shared/row_order.ipp>
#endif

#endif
