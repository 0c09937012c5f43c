#ifndef SLIMPACK_EXECUTORS_DETAIL_SHARED_RUNNING_EXCHANGE_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SHARED_RUNNING_EXCHANGE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/executors/detail/call_check.hpp>
#include <slimpack/executors/detail/shared/row_transfers.hpp>
#include <slimpack/executors/detail/shared/shared_sequences.hpp>
#include <slimpack/executors/sharing.hpp>
#include <slimpack/transports/detail/any_transport.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

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

/// What one stage exchanges with those that share its rows, row after row and layer after layer. One row is open at a
/// time; running_exchanges has several of these for a pack whose rows are open together.
class running_exchange final : public sharing {
 public:
  /// Rows of others that come before the next own row, or gradients that are owed after the own row before, of one
  /// layer.
  struct late {
    std::vector<row_block> of;  // per sharer
    row_transfers::receives expected;
  };
  using late_key = std::tuple<std::uint32_t, pass, std::uint32_t, std::uint32_t, int>;  // sequence, pass, row, chunk,
                                                                                        // layer
  using all_late = std::map<late_key, late>;

  /// Requires  a transport, a pool and late rows that outlive it
  running_exchange(any_transport& transport, row_pool& pool, all_late& kept, int stage, int stages, int channel)
      : transfers_(transport, pool, stage, stages, channel), late_(&kept) {}

  /// Sharers on other nodes than this rank, by position: their transfers of a layer are posted first. Empty: none, and
  /// all are posted in the plan's order.
  void post_first(std::span<const std::uint8_t> far) { far_.assign(far.begin(), far.end()); }

  /// Opens a row.
  void begin(const shared_sequence& s, pass way, std::size_t row, std::uint32_t chunk, const row_format& format);

  /// Posts the transfers with a row of which this rank has no tokens: receives forward, whose rows the next own row
  /// takes, and backward sends of what the own row before has owed.        Requires  no row is open
  result<void> stand_by(const shared_sequence& s, pass way, std::size_t row, std::uint32_t chunk,
                        const row_format& format);

  /// Makes a call of the compute. What went wrong in the exchange says more than what the compute made of it: the error
  /// stays, whatever the call returns or throws.
  template <class Call>
  result<void> guard(const Call& call) {
    return or_first_failure(call, order_.failed());
  }

  /// Closes it.            well: what the compute returned
  result<void> end(bool well) { return order_.end(well); }

  /// Waits for every send.
  result<void> complete() { return transfers_.complete(); }

  [[nodiscard]] std::size_t bytes_sent() const noexcept { return transfers_.bytes_sent(); }

  [[nodiscard]] sequence_id sequence() const override { return sequence_->id; }
  [[nodiscard]] slimpack::exchange exchange() const override { return sequence_->exchange; }
  [[nodiscard]] std::span<const std::uint32_t> sharers() const override { return sequence_->sharers; }
  [[nodiscard]] std::size_t self() const override { return sequence_->self; }
  [[nodiscard]] std::span<const slice> own() const override { return row_->own; }
  [[nodiscard]] std::span<const slice> others() const override { return row_->known; }

  [[nodiscard]] result<void> give(int layer, std::span<const std::byte> rows) override;

  [[nodiscard]] result<std::span<const std::byte>> take(int layer) override;

  [[nodiscard]] result<void> owe(int layer, std::span<const std::byte> rows) override;

  [[nodiscard]] result<void> launch(int layer, std::span<const std::byte> rows) override;

  [[nodiscard]] result<parcel> rotate(int layer, std::span<const std::byte> sums) override;

 private:
  using buffer = row_transfers::buffer;
  using receives = row_transfers::receives;

  [[nodiscard]] late_key key(std::uint32_t row, int layer) const {
    return {sequence_->id.value, way_, row, chunk_, layer};
  }
  [[nodiscard]] late& late_rows(std::uint32_t row, int layer) { return (*late_)[key(row, layer)]; }
  [[nodiscard]] bool is_open(std::uint32_t row) const { return &sequence_->rows[way_][row] == row_; }
  [[nodiscard]] std::uint32_t own_number() const {
    return static_cast<std::uint32_t>(row_ - sequence_->rows[way_].data());
  }

  static std::int64_t tokens_of(std::span<const slice> slices);
  [[nodiscard]] std::size_t size(std::int64_t tokens) const noexcept {
    return static_cast<std::size_t>(tokens) * width_;
  }
  [[nodiscard]] std::int64_t theirs(std::size_t k) const { return theirs(*row_, k); }
  [[nodiscard]] static std::int64_t theirs(const row_part& row, std::size_t k);

  void open(const shared_sequence& s, const row_part& row);

  [[nodiscard]] row_pool& pool() noexcept { return transfers_.pool(); }
  result<void> take(row_block& to, row_use use, std::size_t bytes);
  void give_back(row_block& one) { pool().give_back(std::exchange(one, {})); }
  result<void> copy(std::span<const std::byte> from, std::span<std::byte> to) {
    return noted(pool().memory().copy(from, to));
  }
  result<buffer*> room_for(row_use use, std::size_t bytes) { return noted(transfers_.room_for(use, bytes)); }
  result<buffer*> copied(row_use use, std::span<const std::byte> rows) { return noted(transfers_.copied(use, rows)); }

  /// Copies those of `rows`, of all known tokens, that are of a row and of an owner.
  result<void> pick(std::span<const std::byte> rows, std::uint32_t row, std::size_t owner, std::span<std::byte> to);

  /// Keeps what is owed of a row of which this rank has no tokens, until it stands by.
  result<void> owe_late(std::uint32_t row, int layer, std::span<const std::byte> rows);

  [[nodiscard]] result<void> add(int layer, std::span<std::byte> rows, adder plus) override;

  template <class T>
  result<T> noted(result<T> done) {
    return order_.noted(std::move(done));
  }

  result<void> opens(int layer, pass way, bool keeps, const char* what, std::int64_t count, std::size_t given);

  /// Posts the transfers of a layer in the plan's order: in rounds in each of which a sharer sends to one and hears
  /// one, each round in order of the sender. Where some sharers are on other nodes, all transfers with these come
  /// before all others. tokens_from(k): so many rows come from sharer k; send_to(k): posts what goes there
  template <class TokensFrom, class SendTo>
  result<void> post(const TokensFrom& tokens_from, const SendTo& send_to) {
    const std::size_t m = sequence_->sharers.size();
    const std::size_t self = sequence_->self;
    received_.resize(m);
    for (const bool near : {false, true}) {
      const auto now = [&](std::size_t k) { return near == (far_.empty() || far_[k] == 0); };
      for (std::size_t d = 1; d < m; ++d) {
        const std::size_t to = (self + d) % m;
        const std::size_t from = (self + m - d) % m;
        if (self < from && now(to))
          if (result<void> sent = send_to(to); !sent) return sent;
        if (now(from)) {
          if (result<void> taken = take(received_[from], row_use::received, size(tokens_from(from))); !taken)
            return taken;
          if (result<void> posted = noted(transfers_.receive(from, received_[from].bytes, expected_)); !posted)
            return posted;
        }
        if (from < self && now(to))
          if (result<void> sent = send_to(to); !sent) return sent;
      }
    }
    return success();
  }

  /// Whose parcel is held after so many rotations: position among the sharers.
  [[nodiscard]] std::size_t owner_in(std::size_t round) const noexcept {
    return sequence_->owner_in(sequence_->self, round);
  }

  [[nodiscard]] std::int64_t tokens_in(std::size_t round) const { return tokens_of(row_->parcels[owner_in(round)]); }

  /// Memory for the rows of the parcel that comes in a round.
  result<void> expect_rows(std::size_t round);

  /// What goes from every sharer to the next, once: the rows of parcels, or their sums.
  struct handover {
    buffer* out{};
    buffer* in{};
    row_use use{};
    std::size_t width{};                      // bytes of a token
    std::size_t number{};                     // from 1: what sharer k sends has made so many handovers when it has come
    bool is_open{};                           // begun and not ended
    receives expected{};                      // into `in`
    std::map<std::uint32_t, buffer*> held{};  // of each route of legs on which this rank is a proxy: its strand
    std::map<std::pair<std::uint32_t, std::uint32_t>, receives> strands{};  // of a route and a segment, into `held`
  };

  /// Posts what goes to the next sharer and comes from the one before, in order of the sender; and before it the legs
  /// that this rank takes part in, up to those that cross. A proxy waits for what it hands on.
  result<void> begin_handover(handover& h, buffer& out, buffer& in, row_use use, std::size_t number);
  /// Posts the other legs, and waits for what comes; of one that is not open, nothing.
  result<void> end_handover(handover& h);
  result<void> post_leg(handover& h, const leg& l);
  [[nodiscard]] std::uint32_t own_replica() const noexcept { return sequence_->sharers[sequence_->self]; }

  row_transfers transfers_;
  row_order order_;
  // The open row.
  const shared_sequence* sequence_{};
  const row_part* row_{};
  pass way_{};
  std::size_t width_{};
  std::size_t sum_width_{};
  std::size_t round_{};  // rotations of the open layer
  buffer* coming_{};     // rows of the next parcel
  handover rows_;
  handover sums_;
  std::vector<row_block> received_;  // per sharer, of the open layer
  receives expected_;
  row_block joined_;  // what the compute has taken
  std::uint32_t chunk_{};
  all_late* late_;
  std::vector<std::uint8_t> far_;  // per sharer; empty: none
};

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

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/executors/impl/shared/running_exchange.ipp>
#endif

#endif
