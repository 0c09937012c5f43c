#ifndef SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_EXCHANGE_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_EXCHANGE_HPP

#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/executors/detail/shared/row_memory.hpp>
#include <slimpack/executors/detail/shared/row_order.hpp>
#include <slimpack/executors/detail/shared/row_pool.hpp>
#include <slimpack/executors/detail/shared/row_transfers.hpp>
#include <slimpack/executors/detail/shared/shared_sequences.hpp>
#include <slimpack/executors/row_format.hpp>
#include <slimpack/executors/sharing.hpp>
#include <slimpack/transports/hooks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// What one stage exchanges with those that share its rows, row after row and layer after layer.
template <class Transport>
class row_exchange final : public sharing {
 public:
  /// Requires  a transport and memory that outlive it
  row_exchange(Transport& transport, row_memory& memory, int stage, int stages, int channel)
      : transfers_(transport, memory, stage, stages, channel) {}

  /// What memory it has had in use so far; and what it will have in a step, told before it. Where work is issued long before it runs all
  /// of it is made then, since a device may make its host wait for memory.
  [[nodiscard]] const row_needs& needs() noexcept { return pool().needs(); }
  [[nodiscard]] result<void> expect(const row_needs& needs) { return pool().expect(needs, keeps_plan_order<Transport>()); }

  /// Opens a row.
  void begin(const shared_sequence& s, pass way, std::size_t row, std::uint32_t chunk, const row_format& format) {
    open(s, s.rows[way][row]);
    chunk_ = chunk;
    way_ = way;
    const bool kept = s.exchange == exchange::keep;
    const parcel_format round = kept ? parcel_format{} : format.going_round(s.exchange, way);
    width_ = (kept ? format.kept(way) : round.rows).bytes_per_token();
    sum_width_ = round.sums.bytes_per_token();
    order_.begin(s, way, width_, format.layers);
  }

  /// Posts the transfers with a row of which this rank has no tokens: receives forward, whose rows the next own row takes,
  /// and backward sends of what the own row before has owed.        Requires  no row is open
  result<void> stand_by(const shared_sequence& s, pass way, std::size_t row, std::uint32_t chunk, const row_format& format) {
    const row_part& part = s.rows[way][row];
    if (part.others.empty()) return success();
    open(s, part);
    width_ = format.kept(way).bytes_per_token();
    const std::size_t m = s.sharers.size();
    for (int step = 0; step < format.layers; ++step) {
      const int layer = nth_place(way, step, format.layers);
      order_.stand_by(s, layer);
      if (result<void> turned = noted(transfers_.next_turn()); !turned) return turned;
      const late_key key{s.id.value, way, static_cast<std::uint32_t>(row), chunk, layer};
      late& rows = late_[key];
      rows.of.resize(m);
      for (std::size_t d = 1; d < m; ++d) {
        const std::size_t k = way == pass::forward ? (s.self + m - d) % m : (s.self + d) % m;
        if (way == pass::forward) {
          if (result<void> taken = take(rows.of[k], row_use::late, size(theirs(k))); !taken) return taken;
          if (result<void> posted = noted(transfers_.receive(k, rows.of[k].bytes, rows.expected)); !posted) return posted;
        } else if (theirs(k) > 0) {
          if (result<void> sent = noted(transfers_.send(k, transfers_.keep(std::move(rows.of[k])))); !sent) return sent;
        }
      }
      if (way == pass::backward) late_.erase(key);
    }
    return success();
  }

  /// Makes a call of the compute. What went wrong in the exchange says more than what the compute made of it: the error
  /// stays, whatever the call returns or throws.
  template <class Call>
  result<void> guard(const Call& call) {
#ifdef __cpp_exceptions
    try {
      return call();
    } catch (...) {
      if (order_.failed()) return *order_.failed();
      throw;
    }
#else
    return call();
#endif
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

  [[nodiscard]] result<void> give(int layer, std::span<const std::byte> rows) override {
    if (result<void> next = opens(layer, pass::forward, true, "given", tokens_of(row_->own), rows.size()); !next) return next;
    const result<buffer*> copy = copied(row_use::rows, rows);
    if (!copy) return copy.error();
    return post([&](std::size_t k) { return theirs(k); },
                [&](std::size_t k) { return noted(transfers_.send(k, *copy.value(), size(row_->sent[k]))); });
  }

  [[nodiscard]] result<std::span<const std::byte>> take(int layer) override {
    if (result<void> open = order_.closes(layer, pass::forward, true, "taken before it was given"); !open) return std::move(open).error();
    if (result<void> came = noted(transfers_.wait(expected_)); !came) return std::move(came).error();
    for (const std::uint32_t row : row_->beside)
      if (result<void> came = noted(transfers_.wait(late_rows(row, layer).expected)); !came) return std::move(came).error();
    give_back(joined_);
    if (result<void> taken = take(joined_, row_use::joined, size(tokens_of(row_->known))); !taken) return std::move(taken).error();
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> at;  // of each row and owner
    std::size_t to = 0;
    for (std::size_t i = 0; i < row_->known.size(); ++i) {
      const std::size_t n = size(row_->known[i].length.value);
      const auto& [row, k] = row_->from[i];
      const std::span<const std::byte> rows = is_open(row) ? received_[k].bytes : late_rows(row, layer).of[k].bytes;
      std::size_t& from = at[row_->from[i]];
      if (result<void> issued = copy(rows.subspan(from, n), joined_.bytes.subspan(to, n)); !issued) return std::move(issued).error();
      from += n, to += n;
    }
    for (row_block& one : received_) give_back(one);
    for (const std::uint32_t row : row_->beside) {
      for (row_block& one : late_rows(row, layer).of) give_back(one);
      late_.erase(key(row, layer));
    }
    return std::span<const std::byte>(joined_.bytes);
  }

  [[nodiscard]] result<void> owe(int layer, std::span<const std::byte> rows) override {
    if (result<void> next = opens(layer, pass::backward, true, "owed", tokens_of(row_->known), rows.size()); !next) return next;
    for (const std::uint32_t row : row_->beside)
      if (result<void> owed = owe_late(row, layer, rows); !owed) return owed;
    return post([&](std::size_t k) { return row_->sent[k]; }, [&](std::size_t k) -> result<void> {
      const result<buffer*> to = room_for(row_use::rows, size(theirs(k)));
      if (!to) return to.error();
      if (result<void> picked = pick(rows, own_number(), k, to.value()->block.bytes); !picked) return picked;
      return noted(transfers_.send(k, *to.value()));
    });
  }

  [[nodiscard]] result<void> launch(int layer, std::span<const std::byte> rows) override {
    if (result<void> next = opens(layer, way_, false, "launched", tokens_of(row_->own), rows.size()); !next) return next;
    round_ = 0;
    const result<buffer*> copy = copied(row_use::rows, rows);
    if (!copy) return copy.error();
    if (result<void> coming = expect_rows(1); !coming) return coming;
    return pass_on(*copy.value(), *coming_, rows_expected_);
  }

  [[nodiscard]] result<parcel> rotate(int layer, std::span<const std::byte> sums) override {
    if (result<void> open = order_.closes(layer, way_, false, "sent on before they were launched"); !open) return std::move(open).error();
    if (sums.size() != static_cast<std::size_t>(tokens_in(round_)) * sum_width_)
      return order_.wrong_size(layer, "added up", tokens_in(round_), sum_width_, sums.size());
    if (result<void> turned = noted(transfers_.next_turn()); !turned) return std::move(turned).error();
    ++round_;
    const result<buffer*> copy = copied(row_use::sums, sums);
    if (!copy) return copy.error();
    const result<buffer*> summed = room_for(row_use::sums, static_cast<std::size_t>(tokens_in(round_)) * sum_width_);
    if (!summed) return summed.error();
    if (result<void> posted = pass_on(*copy.value(), *summed.value(), expected_); !posted) return std::move(posted).error();
    // Rows go on as soon as they have come: only sums wait for what is computed.
    if (result<void> came = noted(transfers_.wait(rows_expected_)); !came) return std::move(came).error();
    const std::size_t owner = owner_in(round_);
    const bool is_home = owner == sequence_->self;
    if (is_home) order_.came_home();
    const std::span<const std::byte> rows = is_home ? std::span<std::byte>{} : coming_->block.bytes;
    if (round_ + 1 < sequence_->sharers.size()) {
      buffer& held = *coming_;
      if (result<void> coming = expect_rows(round_ + 1); !coming) return std::move(coming).error();
      if (result<void> posted = pass_on(held, *coming_, rows_expected_); !posted) return std::move(posted).error();
    }
    if (result<void> came = noted(transfers_.wait(expected_)); !came) return std::move(came).error();
    return parcel{sequence_->sharers[owner], is_home, row_->parcels[owner], rows, summed.value()->block.bytes};
  }

 private:
  using buffer = typename row_transfers<Transport>::buffer;
  using receives = typename row_transfers<Transport>::receives;

  /// Rows of others that come before the next own row, or gradients that are owed after the own row before, of one layer.
  struct late {
    std::vector<row_block> of;  // per sharer
    receives expected;
  };
  using late_key = std::tuple<std::uint32_t, pass, std::uint32_t, std::uint32_t, int>;  // sequence, pass, row, chunk, layer
  [[nodiscard]] late_key key(std::uint32_t row, int layer) const { return {sequence_->id.value, way_, row, chunk_, layer}; }
  [[nodiscard]] late& late_rows(std::uint32_t row, int layer) { return late_[key(row, layer)]; }
  [[nodiscard]] bool is_open(std::uint32_t row) const { return &sequence_->rows[way_][row] == row_; }
  [[nodiscard]] std::uint32_t own_number() const { return static_cast<std::uint32_t>(row_ - sequence_->rows[way_].data()); }

  static std::int64_t tokens_of(std::span<const slice> slices) {
    std::int64_t sum = 0;
    for (const slice& s : slices) sum += s.length.value;
    return sum;
  }
  [[nodiscard]] std::size_t size(std::int64_t tokens) const noexcept { return static_cast<std::size_t>(tokens) * width_; }
  [[nodiscard]] std::int64_t theirs(std::size_t k) const { return theirs(*row_, k); }
  [[nodiscard]] static std::int64_t theirs(const row_part& row, std::size_t k) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < row.others.size(); ++i)
      if (row.owner[i] == k) sum += row.others[i].length.value;
    return sum;
  }

  void open(const shared_sequence& s, const row_part& row) {
    sequence_ = &s;
    row_ = &row;
    transfers_.open(s);
  }

  [[nodiscard]] row_pool& pool() noexcept { return transfers_.pool(); }
  result<void> take(row_block& to, row_use use, std::size_t bytes) {
    result<row_block> taken = noted(pool().take(use, bytes));
    if (!taken) return std::move(taken).error();
    to = std::move(taken).value();
    return success();
  }
  void give_back(row_block& one) { pool().give_back(std::exchange(one, {})); }
  result<void> copy(std::span<const std::byte> from, std::span<std::byte> to) { return noted(pool().memory().copy(from, to)); }
  result<buffer*> room_for(row_use use, std::size_t bytes) { return noted(transfers_.room_for(use, bytes)); }
  result<buffer*> copied(row_use use, std::span<const std::byte> rows) { return noted(transfers_.copied(use, rows)); }

  /// Copies those of `rows`, of all known tokens, that are of a row and of an owner.
  result<void> pick(std::span<const std::byte> rows, std::uint32_t row, std::size_t owner, std::span<std::byte> to) {
    std::size_t from = 0, at = 0;
    for (std::size_t i = 0; i < row_->known.size(); ++i) {
      const std::size_t n = size(row_->known[i].length.value);
      if (row_->from[i].first == row && row_->from[i].second == owner) {
        if (result<void> issued = copy(rows.subspan(from, n), to.subspan(at, n)); !issued) return issued;
        at += n;
      }
      from += n;
    }
    return success();
  }

  /// Keeps what is owed of a row of which this rank has no tokens, until it stands by.
  result<void> owe_late(std::uint32_t row, int layer, std::span<const std::byte> rows) {
    const row_part& part = sequence_->rows[way_][row];
    late& owed = late_rows(row, layer);
    owed.of.resize(sequence_->sharers.size());
    for (std::size_t k = 0; k < owed.of.size(); ++k) {
      if (result<void> taken = take(owed.of[k], row_use::late, size(theirs(part, k))); !taken) return taken;
      if (result<void> picked = pick(rows, row, k, owed.of[k].bytes); !picked) return picked;
    }
    return success();
  }

  [[nodiscard]] result<void> add(int layer, std::span<std::byte> rows, adder plus) override {
    if (result<void> open = order_.closes(layer, pass::backward, true, "due before it was owed"); !open) return open;
    if (rows.size() != size(tokens_of(row_->own))) return order_.wrong_size(layer, "due", tokens_of(row_->own), width_, rows.size());
    if (result<void> came = noted(transfers_.wait(expected_)); !came) return came;
    row_block own;
    if (result<void> taken = take(own, row_use::sums, rows.size()); !taken) return taken;
    if (result<void> issued = copy(rows, own.bytes); !issued) return issued;
    std::size_t summed = 0;  // bytes in front, which have a sum
    for (std::size_t k = 0; k < sequence_->sharers.size(); ++k) {
      const std::span<const std::byte> one = k == sequence_->self ? own.bytes : received_[k].bytes;
      const std::size_t both = std::min(summed, one.size());
      if (both > 0)
        if (result<void> added = noted(pool().memory().add(one.first(both), rows.first(both), plus)); !added) return added;
      if (result<void> issued = copy(one.subspan(both), rows.subspan(both, one.size() - both)); !issued) return issued;
      summed = std::max(summed, one.size());
    }
    give_back(own);
    for (row_block& one : received_) give_back(one);
    return success();
  }

  template <class T>
  result<T> noted(result<T> done) {
    return order_.noted(std::move(done));
  }

  result<void> opens(int layer, pass way, bool keeps, const char* what, std::int64_t count, std::size_t given) {
    if (result<void> next = order_.opens(layer, way, keeps, what, count, given); !next) return next;
    return noted(transfers_.next_turn());
  }

  /// Posts the transfers of a layer in the plan's order: in rounds in each of which a sharer sends to one and hears one,
  /// each round in order of the sender.
  /// tokens_from(k): so many rows come from sharer k; send_to(k): posts what goes there
  template <class TokensFrom, class SendTo>
  result<void> post(const TokensFrom& tokens_from, const SendTo& send_to) {
    const std::size_t m = sequence_->sharers.size();
    const std::size_t self = sequence_->self;
    received_.resize(m);
    for (std::size_t d = 1; d < m; ++d) {
      const std::size_t to = (self + d) % m;
      const std::size_t from = (self + m - d) % m;
      if (self < from)
        if (result<void> sent = send_to(to); !sent) return sent;
      if (result<void> taken = take(received_[from], row_use::received, size(tokens_from(from))); !taken) return taken;
      if (result<void> posted = noted(transfers_.receive(from, received_[from].bytes, expected_)); !posted) return posted;
      if (from < self)
        if (result<void> sent = send_to(to); !sent) return sent;
    }
    return success();
  }

  /// Whose parcel is held after so many rotations: position among the sharers.
  [[nodiscard]] std::size_t owner_in(std::size_t round) const noexcept {
    const std::size_t m = sequence_->sharers.size();
    return (sequence_->self + m - round % m) % m;
  }

  [[nodiscard]] std::int64_t tokens_in(std::size_t round) const { return tokens_of(row_->parcels[owner_in(round)]); }

  /// Memory for the rows of the parcel that comes in a round.
  result<void> expect_rows(std::size_t round) {
    const result<buffer*> made = room_for(row_use::rows, size(tokens_in(round)));
    if (!made) return made.error();
    coming_ = made.value();
    return success();
  }

  /// Posts what goes to the next sharer and comes from the one before, in order of the sender.
  result<void> pass_on(buffer& out, buffer& in, receives& expected) {
    const std::size_t to = (sequence_->self + 1) % sequence_->sharers.size();
    const std::size_t from = owner_in(1);
    if (sequence_->self < from)
      if (result<void> sent = noted(transfers_.send(to, out)); !sent) return sent;
    if (result<void> posted = noted(transfers_.receive(from, in.block.bytes, expected)); !posted) return posted;
    return from < sequence_->self ? noted(transfers_.send(to, out)) : success();
  }

  row_transfers<Transport> transfers_;
  row_order order_;
  // The open row.
  const shared_sequence* sequence_{};
  const row_part* row_{};
  pass way_{};
  std::size_t width_{};
  std::size_t sum_width_{};
  std::size_t round_{};             // rotations of the open layer
  buffer* coming_{};                // rows of the next parcel
  receives rows_expected_;
  std::vector<row_block> received_;  // per sharer, of the open layer
  receives expected_;
  row_block joined_;                 // what the compute has taken
  std::uint32_t chunk_{};
  std::map<late_key, late> late_;
};

}  // namespace slimpack::detail

#endif
