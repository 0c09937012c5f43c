#ifndef SLIMPACK_EXECUTORS_IMPL_SHARED_ROW_ORDER_IPP
#define SLIMPACK_EXECUTORS_IMPL_SHARED_ROW_ORDER_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/executors/detail/shared/row_order.hpp>

#include <string>

namespace slimpack::detail {

SLIMPACK_DECL void row_order::begin(const shared_sequence& s, pass way, std::size_t width, int layers) {
  sequence_ = &s;
  way_ = way;
  width_ = width;
  layers_ = layers;
  done_ = 0;
  waiting_ = false;
  failed_.reset();
}

SLIMPACK_DECL void row_order::stand_by(const shared_sequence& s, int layer) {
  sequence_ = &s;
  layer_ = layer;
}

SLIMPACK_DECL result<void> row_order::opens(int layer, pass way, bool keeps, const char* what, std::int64_t count,
                                            std::size_t given) {
  if (failed_) return *failed_;
  layer_ = layer;
  if (result<void> suited = suits(keeps, what); !suited) return suited;
  if (way_ != way || waiting_ || done_ == layers_ || layer != next())
    return fail(
        {errc::out_of_order, std::string("rows ") + what +
                                 (way_ != way        ? " in the other pass"
                                  : waiting_         ? " before the layer before was done with"
                                  : done_ == layers_ ? " after the last layer"
                                                     : " where layer " + std::to_string(next()) + " comes next")});
  if (given != static_cast<std::size_t>(count) * width_) return wrong_size(layer, what, count, width_, given);
  ++done_;
  waiting_ = true;
  return success();
}

SLIMPACK_DECL result<void> row_order::closes(int layer, pass way, bool keeps, const char* wrong) {
  if (failed_) return *failed_;
  if (result<void> suited = suits(keeps, wrong); !suited) return suited;
  if (way_ != way || !waiting_ || layer != layer_) {
    layer_ = layer;
    return fail({errc::out_of_order, std::string("rows ") + wrong});
  }
  waiting_ = !keeps;
  return success();
}

SLIMPACK_DECL error row_order::wrong_size(int layer, const char* what, std::int64_t count, std::size_t width,
                                          std::size_t given) {
  layer_ = layer;
  return fail({errc::wrong_message, std::string("rows ") + what + ": " + std::to_string(given) +
                                        " bytes, where the plan has " + std::to_string(count) + " tokens x " +
                                        std::to_string(width) +
                                        " bytes = " + std::to_string(static_cast<std::size_t>(count) * width)});
}

SLIMPACK_DECL result<void> row_order::end(bool well) const {
  if (failed_) return *failed_;
  if (!well) return success();
  if (done_ < layers_ || waiting_)
    return error{errc::compute_failed, "the compute returned before layer " +
                                           std::to_string(waiting_ ? layer_ : next()) + " of sequence " +
                                           std::to_string(sequence_->id.value) + " was " +
                                           (sequence_->exchange != exchange::keep ? "sent round and came home"
                                            : way_ == pass::forward               ? "given and taken"
                                                                                  : "owed and due") +
                                           ", which others wait for"};
  return success();
}

SLIMPACK_DECL error row_order::fail(error e) {
  e.detail = "sequence " + std::to_string(sequence_->id.value) + ", layer " + std::to_string(layer_) + ", " + e.detail;
  failed_ = e;
  return e;
}

SLIMPACK_DECL result<void> row_order::suits(bool keeps, const char* what) {
  if (keeps == (sequence_->exchange == exchange::keep)) return success();
  return fail({errc::out_of_order, std::string("rows ") + what + ", where the plan's exchange is " +
                                       std::string(name_of(sequence_->exchange)) +
                                       (keeps ? ": launch and rotate" : ": give and take, owe and due")});
}

}  // namespace slimpack::detail

#endif
