#ifndef SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_ORDER_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_ORDER_HPP

#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/executors/detail/shared/shared_sequences.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace slimpack::detail {

/// The calls that a compute makes with a row, layer by layer: whether each may stand where it does and has the plan's size, and what
/// went wrong first. Errors name sequence and layer.
class row_order {
 public:
  /// Opens a row.            width: bytes that it gives, owes or launches for a token
  void begin(const shared_sequence& s, pass way, std::size_t width, int layers) {
    sequence_ = &s;
    way_ = way;
    width_ = width;
    layers_ = layers;
    done_ = 0;
    waiting_ = false;
    failed_.reset();
  }
  /// A layer of a row of which this rank has no tokens.
  void stand_by(const shared_sequence& s, int layer) {
    sequence_ = &s;
    layer_ = layer;
  }

  [[nodiscard]] const std::optional<error>& failed() const noexcept { return failed_; }

  /// A call that begins a layer.            keeps: of exchange::keep; what: it does with the rows of `count` tokens
  result<void> opens(int layer, pass way, bool keeps, const char* what, std::int64_t count, std::size_t given) {
    if (failed_) return *failed_;
    layer_ = layer;
    if (result<void> suited = suits(keeps, what); !suited) return suited;
    if (way_ != way || waiting_ || done_ == layers_ || layer != next())
      return fail({errc::out_of_order,
                   std::string("rows ") + what +
                       (way_ != way ? " in the other pass"
                        : waiting_  ? " before the layer before was done with"
                        : done_ == layers_ ? " after the last layer"
                                           : " where layer " + std::to_string(next()) + " comes next")});
    if (given != static_cast<std::size_t>(count) * width_) return wrong_size(layer, what, count, width_, given);
    ++done_;
    waiting_ = true;
    return success();
  }

  /// A call that ends one, or where rows go round, may.            wrong: where none is open
  result<void> closes(int layer, pass way, bool keeps, const char* wrong) {
    if (failed_) return *failed_;
    if (result<void> suited = suits(keeps, wrong); !suited) return suited;
    if (way_ != way || !waiting_ || layer != layer_) {
      layer_ = layer;
      return fail({errc::out_of_order, std::string("rows ") + wrong});
    }
    waiting_ = !keeps;
    return success();
  }
  /// The last rotation.
  void came_home() noexcept { waiting_ = false; }

  error wrong_size(int layer, const char* what, std::int64_t count, std::size_t width, std::size_t given) {
    layer_ = layer;
    return fail({errc::wrong_message, std::string("rows ") + what + ": " + std::to_string(given) + " bytes, where the plan has " +
                                          std::to_string(count) + " tokens x " + std::to_string(width) + " bytes = " +
                                          std::to_string(static_cast<std::size_t>(count) * width)});
  }

  /// What went wrong with a transfer or memory, which stays. What another rank has told says where.
  template <class T>
  result<T> noted(result<T> done) {
    if (done) return done;
    if (done.error().code != errc::aborted) return fail(std::move(done).error());
    failed_ = done.error();
    return done;
  }

  /// The row is closed. Where the compute returned as if all were well, nothing of it may be left, since others wait for it.
  [[nodiscard]] result<void> end(bool well) const {
    if (failed_) return *failed_;
    if (!well) return success();
    if (done_ < layers_ || waiting_)
      return error{errc::compute_failed,
                   "the compute returned before layer " + std::to_string(waiting_ ? layer_ : next()) + " of sequence " +
                       std::to_string(sequence_->id.value) + " was " +
                       (sequence_->exchange != exchange::keep ? "sent round and came home"
                        : way_ == pass::forward               ? "given and taken"
                                                              : "owed and due") +
                       ", which others wait for"};
    return success();
  }

 private:
  [[nodiscard]] int next() const noexcept { return nth_place(way_, done_, layers_); }

  error fail(error e) {
    e.detail = "sequence " + std::to_string(sequence_->id.value) + ", layer " + std::to_string(layer_) + ", " + e.detail;
    failed_ = e;
    return e;
  }

  /// Whether the plan's exchange makes such calls.
  result<void> suits(bool keeps, const char* what) {
    if (keeps == (sequence_->exchange == exchange::keep)) return success();
    return fail({errc::out_of_order, std::string("rows ") + what + ", where the plan's exchange is " +
                                         std::string(name_of(sequence_->exchange)) +
                                         (keeps ? ": launch and rotate" : ": give and take, owe and due")});
  }

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

#endif
