#ifndef SLIMPACK_EXECUTORS_DETAIL_MESSAGE_OWNER_HPP
#define SLIMPACK_EXECUTORS_DETAIL_MESSAGE_OWNER_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/executors/hooks.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace slimpack::detail {

/// Posts the transfers with a row of which this rank has no tokens: the script's transfers.absent[index].
template <class Compute, class Exchange>
result<void> stand_by(Compute& compute, Exchange& exchange, const stage_script& script, std::size_t index) {
  if constexpr (shares_rows<Compute>) {
    const transfer_script::absent_row& one = script.transfers.absent[index];
    return exchange.stand_by(*script.shared.find(one.sequence), one.way, one.row, one.chunk, compute.rows(one.chunk));
  }
  return success();
}

/// What the messages of a stage ask of its compute, behind virtual calls: they are compiled once for all computes whose
/// tensors are alike.
template <class Tensor>
class message_owner {
 public:
  /// make_tensor of executors/hooks.hpp.
  [[nodiscard]] virtual Tensor make(tokens size) = 0;
  /// copy_rows of it.
  [[nodiscard]] virtual result<void> copy(std::span<const std::byte> from, std::span<std::byte> to) = 0;
  [[nodiscard]] virtual result<void> stand_by(std::size_t index) = 0;

 protected:
  message_owner() = default;
  message_owner(const message_owner&) = default;
  message_owner& operator=(const message_owner&) = default;
  ~message_owner() = default;
};

template <class Compute>
using tensor_of = decltype(make_tensor(std::declval<Compute&>(), tokens{}));

template <class Compute, class Exchange>
class messages_of final : public message_owner<tensor_of<Compute>> {
 public:
  /// Requires  all outlive it
  messages_of(Compute& compute, Exchange& exchange, const stage_script& script) noexcept
      : compute_(compute), exchange_(exchange), script_(script) {}

  [[nodiscard]] tensor_of<Compute> make(tokens size) override { return make_tensor(compute_, size); }
  [[nodiscard]] result<void> copy(std::span<const std::byte> from, std::span<std::byte> to) override { return copy_rows(compute_, from, to); }
  [[nodiscard]] result<void> stand_by(std::size_t index) override {
    return detail::stand_by(compute_, exchange_, script_, index);
  }

 private:
  Compute& compute_;
  Exchange& exchange_;
  const stage_script& script_;
};

}  // namespace slimpack::detail

#endif
