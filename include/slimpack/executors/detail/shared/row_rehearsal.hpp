#ifndef SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_REHEARSAL_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_REHEARSAL_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/executors/detail/messages/memory_block.hpp>
#include <slimpack/executors/detail/messages/messages.hpp>
#include <slimpack/executors/detail/shared/joined_rows.hpp>
#include <slimpack/executors/detail/shared/row_transfers.hpp>
#include <slimpack/executors/detail/shared/running_exchange.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/executors/sharing.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace slimpack::detail {

/// What a stage exchanges with those that share its rows, run once before a step to find out how much memory it needs
/// at once: no bytes move.
class row_rehearsal {
 public:
  /// chunks: the format of each            Requires  a script that outlives it
  row_rehearsal(const stage_script& script, std::span<const row_format> chunks)
      : script_(&script),
        chunks_(chunks),
        exchanges_(nowhere_, memory_, script.stage, script.on.stages, shared_rows_channel) {}

  [[nodiscard]] result<row_needs> run();

 private:
  /// Which nobody touches.
  struct memory final : row_memory {
    [[nodiscard]] result<memory_block> make(std::size_t size) override {
      const std::shared_ptr<std::byte[]> made(new std::byte[size]);
      return memory_block{made, {made.get(), size}};
    }
    [[nodiscard]] result<void> copy(std::span<const std::byte>, std::span<std::byte>) override { return success(); }
    [[nodiscard]] result<void> add(std::span<const std::byte>, std::span<std::byte>, sharing::adder) override {
      return success();
    }
  };

  result<void> stand_by_until(std::size_t end);
  result<void> stand_by(std::uint32_t index);

  /// What a compute does with a row.
  result<void> call(const instruction& i, const piece_list::row& row);
  result<void> exchange_kept(int layer, const message_format& format);
  result<void> exchange_owed(int layer, const message_format& format);
  result<void> go_round(int layer, const parcel_format& format);

  /// Of the compute: so many, of no content.
  [[nodiscard]] std::span<std::byte> rows(std::span<const slice> of, const message_format& format);

  const stage_script* script_;
  std::span<const row_format> chunks_;
  rehearsal::transport nowhere_;
  memory memory_;
  running_exchanges exchanges_;
  running_exchange& exchange_{exchanges_.at(0)};
  std::size_t next_{};  // of the script's transfers
  std::unique_ptr<std::byte[]> place_;
  std::size_t place_size_{};
};

/// Tells the exchange of a step what memory it will need.
template <class Compute, class Exchange>
result<void> expect_rows(const Compute& compute, Exchange& exchange, const stage_script& script) {
  if constexpr (shares_rows<Compute>) {
    if (script.shared.all().empty()) return success();
    std::vector<row_format> chunks;
    for (std::uint32_t chunk = 0; chunk < static_cast<std::uint32_t>(script.on.chunks); ++chunk)
      chunks.push_back(compute.rows(chunk));
    const result<row_needs> needs = row_rehearsal(script, chunks).run();
    if (!needs) return needs.error();
    return exchange.expect(needs.value());
  }
  return success();
}

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/executors/impl/shared/row_rehearsal.ipp>
#endif

#endif
