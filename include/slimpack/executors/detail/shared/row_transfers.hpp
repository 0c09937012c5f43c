#ifndef SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_TRANSFERS_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_TRANSFERS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/detail/messages/memory_block.hpp>
#include <slimpack/executors/detail/shared/shared_sequences.hpp>
#include <slimpack/executors/hooks.hpp>
#include <slimpack/executors/sharing.hpp>
#include <slimpack/transports/detail/any_transport.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// The memory that rows lie in while sharers exchange them, and what is done with it; behind virtual calls, so that an
/// exchange is compiled once for all computes.
class row_memory {
 public:
  /// At least `size` bytes.
  [[nodiscard]] virtual result<memory_block> make(std::size_t size) = 0;
  [[nodiscard]] virtual result<void> copy(std::span<const std::byte> from, std::span<std::byte> to) = 0;
  /// plus: how the host adds
  [[nodiscard]] virtual result<void> add(std::span<const std::byte> from, std::span<std::byte> to,
                                         sharing::adder plus) = 0;

 protected:
  row_memory() = default;
  row_memory(const row_memory&) = default;
  row_memory& operator=(const row_memory&) = default;
  ~row_memory() = default;
};

/// Of the host, whatever the compute.
class host_row_memory final : public row_memory {
 public:
  host_row_memory() = default;
  template <class Compute>
  explicit host_row_memory(Compute&) noexcept {}

  [[nodiscard]] result<memory_block> make(std::size_t size) override {
    auto made = std::make_shared<aligned_bytes>(size);
    const std::span<std::byte> bytes = as_span(*made);
    return memory_block{std::move(made), bytes};
  }
  [[nodiscard]] result<void> copy(std::span<const std::byte> from, std::span<std::byte> to) override {
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
    return success();
  }
  [[nodiscard]] result<void> add(std::span<const std::byte> from, std::span<std::byte> to,
                                 sharing::adder plus) override {
    plus(to, from);
    return success();
  }
};

/// Of a device: all that is done with it the compute issues, among its other work, so that nothing here waits for the
/// device.
template <class Compute>
class device_row_memory final : public row_memory {
 public:
  explicit device_row_memory(Compute& compute) noexcept : compute_(compute) {}

  [[nodiscard]] result<memory_block> make(std::size_t size) override {
    const std::size_t row = compute_.format().bytes_per_token();
    const tokens asked{static_cast<std::int64_t>((size + row - 1) / row)};
    memory_block made = tensor_block(compute_, asked);
    if (made.bytes.size() < size)
      return error{errc::wrong_message, "make_tensor gave " + std::to_string(made.bytes.size()) + " bytes for " +
                                            std::to_string(asked.value) + " tokens, which need " +
                                            std::to_string(size) + " as rows that replicas share"};
    return made;
  }
  [[nodiscard]] result<void> copy(std::span<const std::byte> from, std::span<std::byte> to) override {
    return copy_rows(compute_, from, to);
  }
  [[nodiscard]] result<void> add(std::span<const std::byte> from, std::span<std::byte> to, sharing::adder) override {
    return add_rows(compute_, from, to);
  }

 private:
  Compute& compute_;
};

/// Where the rows of a compute lie.
template <class Compute, bool OnDevice>
using row_memory_of = std::conditional_t<OnDevice, device_row_memory<Compute>, host_row_memory>;

/// Whether a compute can work on the rows of shared sequences where they lie in memory of a device.
/// Errors    invalid_input: what it does not offer for it
template <class Compute>
[[nodiscard]] result<void> works_on_device_rows(std::span<const shared_sequence> shared) {
  std::string missing;
  const auto needs = [&](bool offered, const char* what) {
    if (!offered) missing += (missing.empty() ? "" : ", ") + std::string(what);
  };
  needs(has_member_make_tensor<Compute>, "make_tensor");
  needs(has_member_copy_rows<Compute>, "copy_rows");
  if (std::any_of(shared.begin(), shared.end(), [](const shared_sequence& s) { return s.exchange == exchange::keep; }))
    needs(has_member_add_rows<Compute>, "add_rows");
  if (shared.empty() || missing.empty()) return success();
  return error{
      errc::invalid_input,
      "the plan has sequences that replicas share, whose rows lie in memory of a device over this transport: only the "
      "compute can work there, and it does not offer " +
          missing + " (executors/hooks.hpp). Or plan with most_sharers = 1"};
}

/// What memory of rows is for: each use has blocks of one size.
enum class row_use : std::uint8_t {
  rows,      ///< on their way to others, or a parcel's
  sums,      ///< of a parcel; or gradients of this rank's own, while those of others are added to them
  received,  ///< from one sharer, where keys and values are kept
  joined,    ///< from all others
  late,      ///< from one sharer, or for one, in a row of which this rank has no tokens
};
inline constexpr std::size_t row_uses = 5;

/// How many blocks a step has in use at once, and the bytes of the largest, by use.
struct row_needs {
  std::array<std::size_t, row_uses> blocks{};
  std::array<std::size_t, row_uses> bytes{};
};

/// A block, as many bytes of it as were asked for.
struct row_block {
  memory_block memory;
  std::span<std::byte> bytes;
  row_use use{};
};

/// Memory of rows that is used again.
class row_pool {
 public:
  /// Requires  memory that outlives it
  explicit row_pool(row_memory& memory) noexcept : memory_(&memory) {}

  [[nodiscard]] row_memory& memory() noexcept { return *memory_; }

  /// What was in use so far.
  [[nodiscard]] const row_needs& needs() const noexcept { return needs_; }

  /// Makes every block as large as those needed, and all of them now where `at_once`.
  [[nodiscard]] result<void> expect(const row_needs& needs, bool at_once);

  [[nodiscard]] result<row_block> take(row_use what, std::size_t bytes);

  /// Of memory that no transfer uses, and no work that is issued from now on reads.
  void give_back(row_block block);

 private:
  [[nodiscard]] result<memory_block> make(std::size_t use) { return memory_->make(needs_.bytes[use]); }

  row_memory* memory_;
  row_needs needs_;
  std::array<std::vector<memory_block>, row_uses> free_;
};

/// The sends and receives of rows between a rank and those that share a sequence with it, and the memory of those under
/// way. Between two ranks all are on one channel: both run the rows that they share in the same order.
class row_transfers {
 public:
  /// Memory that stays where it is until its sends are through.
  struct buffer {
    row_block block;
    std::vector<any_transport::handle> sends;
    std::size_t turn{};  // of its last use
  };
  using receives = std::vector<std::pair<any_transport::handle, std::size_t>>;  // and the sharer each is from

  /// Requires  a transport and a pool that outlive it
  row_transfers(any_transport& transport, row_pool& pool, int stage, int stages, int channel)
      : transport_(&transport), pool_(&pool), stage_(stage), stages_(stages), channel_(channel) {}

  [[nodiscard]] row_pool& pool() noexcept { return *pool_; }
  [[nodiscard]] bool in_plan_order() const noexcept { return transport_->keeps_plan_order(); }
  [[nodiscard]] std::size_t bytes_sent() const noexcept { return bytes_; }

  /// Between those that share a sequence, from now on.
  void open(const shared_sequence& s) noexcept { sequence_ = &s; }

  /// A layer begins, or a rotation: memory of the turns before the last is free as soon as its sends are through. Where
  /// work is issued long before it runs, what is issued next comes after them: the host need not wait for that.
  result<void> next_turn();

  /// A buffer of a block, which is given back some turns later.
  buffer& keep(row_block block) { return buffers_.emplace_back(buffer{std::move(block), {}, turn_}); }
  result<buffer*> room_for(row_use use, std::size_t bytes);
  result<buffer*> copied(row_use use, std::span<const std::byte> rows);

  /// k: position among the sharers
  result<void> send(std::size_t k, buffer& from) { return send(k, from, from.block.bytes); }
  /// rows: of the buffer
  result<void> send(std::size_t k, buffer& from, std::span<const std::byte> rows);
  result<void> receive(std::size_t k, std::span<std::byte> rows, receives& expected);
  result<void> wait(receives& expected);

  /// Waits for every send.
  result<void> complete();

 private:
  [[nodiscard]] int rank_of(std::size_t k) const { return static_cast<int>(sequence_->sharers[k]) * stages_ + stage_; }

  [[nodiscard]] error lost(std::size_t k, const char* way, error e) const;

  any_transport* transport_;
  row_pool* pool_;
  int stage_;
  int stages_;
  int channel_;
  const shared_sequence* sequence_{};
  std::deque<buffer> buffers_;  // which stay where they are, until they are through or the transport has aborted
  std::size_t turn_{};
  std::size_t bytes_{};
};

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/executors/impl/shared/row_transfers.ipp>
#endif

#endif
