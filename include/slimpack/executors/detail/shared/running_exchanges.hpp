#ifndef SLIMPACK_EXECUTORS_DETAIL_SHARED_RUNNING_EXCHANGES_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SHARED_RUNNING_EXCHANGES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/executors/detail/shared/row_memory.hpp>
#include <slimpack/executors/detail/shared/row_transfers.hpp>
#include <slimpack/executors/detail/shared/running_exchange.hpp>
#include <slimpack/transports/detail/any_transport.hpp>

#include <cstddef>
#include <deque>

namespace slimpack::detail {

/// In place of running_exchanges for a compute that shares no rows: its plans have none (fitted_script), and what would
/// exchange them need not be compiled.
class no_transfers {
 public:
  [[nodiscard]] result<void> complete() const { return success(); }
  [[nodiscard]] std::size_t bytes_sent() const noexcept { return 0; }
};

/// All exchanges of a stage: one for rows that are run one after the other, and as many more as a pack has rows that
/// are open together. They have one memory, and one place for rows that come late.
class running_exchanges {
 public:
  /// Requires  a transport and memory that outlive it
  running_exchanges(any_transport& transport, row_memory& memory, int stage, int stages, int channel)
      : transport_(&transport), pool_(memory), stage_(stage), stages_(stages), channel_(channel) {}
  running_exchanges(const running_exchanges&) = delete;  // its exchanges refer to its memory
  running_exchanges& operator=(const running_exchanges&) = delete;

  /// The exchange of the i-th row that is open; it stays where it is.
  [[nodiscard]] running_exchange& at(std::size_t i) {
    while (all_.size() <= i) all_.emplace_back(*transport_, pool_, late_, stage_, stages_, channel_);
    return all_[i];
  }

  /// What memory they have had in use so far; and what they will have in a step, told before it. Where work is issued
  /// long before it runs all of it is made then, since a device may make its host wait for memory.
  [[nodiscard]] const row_needs& needs() const noexcept { return pool_.needs(); }
  [[nodiscard]] result<void> expect(const row_needs& needs) {
    return pool_.expect(needs, transport_->keeps_plan_order());
  }

  /// Makes a call of the compute with the first `open` of them (running_exchange::guard).
  template <class Call>
  result<void> guard(const Call& call, std::size_t open) {
    return open == 0 ? call() : at(open - 1).guard([&] { return guard(call, open - 1); });
  }

  /// Waits for every send.
  [[nodiscard]] result<void> complete() {
    for (running_exchange& one : all_)
      if (result<void> sent = one.complete(); !sent) return sent;
    return success();
  }

  [[nodiscard]] std::size_t bytes_sent() const noexcept {
    std::size_t sum = 0;
    for (const running_exchange& one : all_) sum += one.bytes_sent();
    return sum;
  }

 private:
  any_transport* transport_;
  row_pool pool_;
  int stage_;
  int stages_;
  int channel_;
  running_exchange::all_late late_;
  std::deque<running_exchange> all_;
};

}  // namespace slimpack::detail

#endif
