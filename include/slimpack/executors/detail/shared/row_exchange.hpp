#ifndef SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_EXCHANGE_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_EXCHANGE_HPP

#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/executors/detail/shared/shared_sequences.hpp>
#include <slimpack/executors/row_format.hpp>
#include <slimpack/executors/sharing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// The transfers of one stage with those that share its rows, row after row and layer after layer. Between two ranks all
/// are on one channel: both run the rows that they share in the same order.
template <class Transport>
class row_exchange final : public sharing {
 public:
  row_exchange(Transport& transport, int stage, int stages, int channel)
      : transport_(&transport), stage_(stage), stages_(stages), channel_(channel) {}

  /// Opens a row.
  void begin(const shared_sequence& s, pass way, std::size_t row, std::uint32_t chunk, const row_format& format) {
    sequence_ = &s;
    chunk_ = chunk;
    way_ = way;
    row_ = &s.rows[way][row];
    const bool kept = s.exchange == exchange::keep;
    const parcel_format round = kept ? parcel_format{} : format.going_round(s.exchange, way);
    width_ = (kept ? format.kept(way) : round.rows).bytes_per_token();
    sum_width_ = round.sums.bytes_per_token();
    layers_ = format.layers;
    done_ = 0;
    waiting_ = false;
    failed_.reset();
  }

  /// Posts the transfers with a row of which this rank has no tokens: receives forward, whose rows the next own row takes,
  /// and backward sends of what the own row before has owed.        Requires  no row is open
  result<void> stand_by(const shared_sequence& s, pass way, std::size_t row, std::uint32_t chunk, const row_format& format) {
    const row_part& part = s.rows[way][row];
    if (part.others.empty()) return success();
    sequence_ = &s;
    row_ = &part;
    width_ = format.kept(way).bytes_per_token();
    result<void> done = success();
    const std::size_t m = s.sharers.size();
    for (int step = 0; done && step < format.layers; ++step) {
      layer_ = nth_place(way, step, format.layers);
      late& rows = late_[{s.id.value, way, static_cast<std::uint32_t>(row), chunk, layer_}];
      rows.of.resize(m);
      for (std::size_t d = 1; done && d < m; ++d) {
        const std::size_t k = way == pass::forward ? (s.self + m - d) % m : (s.self + d) % m;
        if (way == pass::forward) {
          rows.of[k].resize(size(theirs(k)));
          done = receive(k, rows.of[k], rows.expected);
        } else if (theirs(k) > 0) {
          buffer& copy = room_for(0);
          copy.memory = std::move(rows.of[k]);
          done = send(k, copy, copy.memory.size());
        }
      }
      if (way == pass::backward) late_.erase({s.id.value, way, static_cast<std::uint32_t>(row), chunk, layer_});
    }
    return done;
  }

  /// Makes a call of the compute. What went wrong in the exchange says more than what the compute made of it: the error
  /// stays, whatever the call returns or throws.
  template <class Call>
  result<void> guard(const Call& call) {
#ifdef __cpp_exceptions
    try {
      return call();
    } catch (...) {
      if (failed_) return *failed_;
      throw;
    }
#else
    return call();
#endif
  }

  /// Closes it. Where the compute returned as if all were well, nothing of it may be left, since others wait for it.
  result<void> end(bool well) {
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
    return recycle();
  }

  /// Waits for every send.
  result<void> complete() {
    for (buffer& b : buffers_)
      for (auto& handle : b.sends)
        if (result<void> through = transport_->wait(handle); !through) return through;
    return success();
  }

  [[nodiscard]] std::size_t bytes_sent() const noexcept { return bytes_; }

  [[nodiscard]] sequence_id sequence() const override { return sequence_->id; }
  [[nodiscard]] slimpack::exchange exchange() const override { return sequence_->exchange; }
  [[nodiscard]] std::span<const std::uint32_t> sharers() const override { return sequence_->sharers; }
  [[nodiscard]] std::size_t self() const override { return sequence_->self; }
  [[nodiscard]] std::span<const slice> own() const override { return row_->own; }
  [[nodiscard]] std::span<const slice> others() const override { return row_->known; }

  [[nodiscard]] result<void> give(int layer, std::span<const std::byte> rows) override {
    if (result<void> next = opens(layer, pass::forward, true, "given", tokens_of(row_->own), rows.size()); !next) return next;
    buffer& copy = copied(rows);
    return post([&](std::size_t k) { return theirs(k); },
                [&](std::size_t k) { return send(k, copy, size(row_->sent[k])); });
  }

  [[nodiscard]] result<std::span<const std::byte>> take(int layer) override {
    if (result<void> open = closes(layer, pass::forward, true, "taken before it was given"); !open) return std::move(open).error();
    if (result<void> came = wait(expected_); !came) return std::move(came).error();
    for (const std::uint32_t row : row_->beside)
      if (result<void> came = wait(late_rows(row, layer).expected); !came) return std::move(came).error();
    taken_.resize(size(tokens_of(row_->known)));
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> at;  // of each row and owner
    std::size_t to = 0;
    for (std::size_t i = 0; i < row_->known.size(); ++i) {
      const std::size_t n = size(row_->known[i].length.value);
      const auto& [row, k] = row_->from[i];
      const std::span<const std::byte> rows = is_open(row) ? received_[k] : std::span<const std::byte>(late_rows(row, layer).of[k]);
      std::size_t& from = at[row_->from[i]];
      std::ranges::copy(rows.subspan(from, n), taken_.begin() + static_cast<std::ptrdiff_t>(to));
      from += n, to += n;
    }
    for (const std::uint32_t row : row_->beside) late_.erase(key(row, layer));
    return std::span<const std::byte>(taken_);
  }

  [[nodiscard]] result<void> owe(int layer, std::span<const std::byte> rows) override {
    if (result<void> next = opens(layer, pass::backward, true, "owed", tokens_of(row_->known), rows.size()); !next) return next;
    for (const std::uint32_t row : row_->beside) late_rows(row, layer).of.resize(sequence_->sharers.size());
    std::size_t at = 0;
    for (std::size_t i = 0; i < row_->known.size(); ++i) {
      const std::size_t n = size(row_->known[i].length.value);
      const auto& [row, k] = row_->from[i];
      if (!is_open(row)) {
        std::vector<std::byte>& owed = late_rows(row, layer).of[k];
        const std::span<const std::byte> one = rows.subspan(at, n);
        owed.insert(owed.end(), one.begin(), one.end());
      }
      at += n;
    }
    return post([&](std::size_t k) { return row_->sent[k]; }, [&](std::size_t k) {
      buffer& copy = room_for(size(theirs(k)));
      std::size_t from = 0;
      std::size_t to = 0;
      for (std::size_t i = 0; i < row_->known.size(); ++i) {
        const std::size_t n = size(row_->known[i].length.value);
        if (is_open(row_->from[i].first) && row_->from[i].second == k) {
          std::ranges::copy(rows.subspan(from, n), copy.memory.begin() + static_cast<std::ptrdiff_t>(to));
          to += n;
        }
        from += n;
      }
      return send(k, copy, to);
    });
  }

  [[nodiscard]] result<void> launch(int layer, std::span<const std::byte> rows) override {
    if (result<void> next = opens(layer, way_, false, "launched", tokens_of(row_->own), rows.size()); !next) return next;
    round_ = 0;
    buffer& copy = copied(rows);
    coming_ = &room_for(size(tokens_of(row_->parcels[owner_in(1)])));
    return pass_on(copy, *coming_, rows_expected_);
  }

  [[nodiscard]] result<parcel> rotate(int layer, std::span<const std::byte> sums) override {
    if (result<void> open = closes(layer, way_, false, "sent on before they were launched"); !open) return std::move(open).error();
    const auto tokens_in = [&](std::size_t round) { return tokens_of(row_->parcels[owner_in(round)]); };
    if (sums.size() != static_cast<std::size_t>(tokens_in(round_)) * sum_width_)
      return wrong_size(layer, "added up", tokens_in(round_), sum_width_, sums.size());
    ++round_;
    buffer& copy = copied(sums);
    buffer& summed = room_for(static_cast<std::size_t>(tokens_in(round_)) * sum_width_);
    if (result<void> posted = pass_on(copy, summed, expected_); !posted) return std::move(posted).error();
    // Rows go on as soon as they have come: only sums wait for what is computed.
    if (result<void> came = wait(rows_expected_); !came) return std::move(came).error();
    const std::size_t owner = owner_in(round_);
    waiting_ = owner != sequence_->self;
    const std::span<const std::byte> rows = waiting_ ? coming_->memory : std::span<const std::byte>{};
    if (round_ + 1 < sequence_->sharers.size()) {
      buffer& held = *std::exchange(coming_, &room_for(size(tokens_in(round_ + 1))));
      if (result<void> posted = pass_on(held, *coming_, rows_expected_); !posted) return std::move(posted).error();
    }
    if (result<void> came = wait(expected_); !came) return std::move(came).error();
    return parcel{sequence_->sharers[owner], !waiting_, row_->parcels[owner], rows, summed.memory};
  }

 private:
  /// Memory that stays where it is until its sends are through.
  struct buffer {
    std::vector<std::byte> memory;
    std::vector<typename Transport::handle> sends;
  };

  using receives = std::vector<std::pair<typename Transport::handle, std::size_t>>;  // and the sharer each is from

  /// Rows of others that come before the next own row, or gradients that are owed after the own row before, of one layer.
  struct late {
    std::vector<std::vector<std::byte>> of;  // per sharer
    receives expected;
  };
  using late_key = std::tuple<std::uint32_t, pass, std::uint32_t, std::uint32_t, int>;  // sequence, pass, row, chunk, layer
  [[nodiscard]] late_key key(std::uint32_t row, int layer) const { return {sequence_->id.value, way_, row, chunk_, layer}; }
  [[nodiscard]] late& late_rows(std::uint32_t row, int layer) { return late_[key(row, layer)]; }
  [[nodiscard]] bool is_open(std::uint32_t row) const { return &sequence_->rows[way_][row] == row_; }

  static std::int64_t tokens_of(std::span<const slice> slices) {
    std::int64_t sum = 0;
    for (const slice& s : slices) sum += s.length.value;
    return sum;
  }
  [[nodiscard]] std::size_t size(std::int64_t tokens) const noexcept { return static_cast<std::size_t>(tokens) * width_; }
  [[nodiscard]] std::int64_t theirs(std::size_t k) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < row_->others.size(); ++i)
      if (row_->owner[i] == k) sum += row_->others[i].length.value;
    return sum;
  }
  [[nodiscard]] int rank_of(std::size_t k) const {
    return static_cast<int>(sequence_->sharers[k]) * stages_ + stage_;
  }

  [[nodiscard]] result<void> add(int layer, std::span<std::byte> rows, adder plus) override {
    if (result<void> open = closes(layer, pass::backward, true, "due before it was owed"); !open) return open;
    if (rows.size() != size(tokens_of(row_->own))) return wrong_size(layer, "due", tokens_of(row_->own), width_, rows.size());
    if (result<void> came = wait(expected_); !came) return came;
    taken_.assign(rows.begin(), rows.end());
    std::ranges::fill(rows, std::byte{});
    for (std::size_t k = 0; k < sequence_->sharers.size(); ++k) {
      const std::span<const std::byte> one = k == sequence_->self ? std::span<const std::byte>(taken_) : received_[k];
      plus(rows.first(one.size()), one);
    }
    return success();
  }

  error fail(error e) {
    e.detail = "sequence " + std::to_string(sequence_->id.value) + ", layer " + std::to_string(layer_) + ", " + e.detail;
    failed_ = e;
    return e;
  }
  error wrong_size(int layer, const char* what, std::int64_t count, std::size_t width, std::size_t given) {
    layer_ = layer;
    return fail({errc::wrong_message, std::string("rows ") + what + ": " + std::to_string(given) + " bytes, where the plan has " +
                                          std::to_string(count) + " tokens x " + std::to_string(width) + " bytes = " +
                                          std::to_string(static_cast<std::size_t>(count) * width)});
  }

  [[nodiscard]] int next() const noexcept { return nth_place(way_, done_, layers_); }

  /// Whether the plan's exchange makes such calls.
  result<void> suits(bool keeps, const char* what) {
    if (keeps == (sequence_->exchange == exchange::keep)) return success();
    return fail({errc::out_of_order, std::string("rows ") + what + ", where the plan's exchange is " +
                                         std::string(name_of(sequence_->exchange)) +
                                         (keeps ? ": launch and rotate" : ": give and take, owe and due")});
  }

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
    if (given != size(count)) return wrong_size(layer, what, count, width_, given);
    ++done_;
    waiting_ = true;
    return recycle();
  }

  result<void> closes(int layer, pass way, bool keeps, const char* wrong) {
    if (failed_) return *failed_;
    if (result<void> suited = suits(keeps, wrong); !suited) return suited;
    if (way_ != way || !waiting_ || layer != layer_) {
      layer_ = layer;
      return fail({errc::out_of_order, std::string("rows ") + wrong});
    }
    waiting_ = !keeps;  // until the last rotation
    return success();
  }

  buffer& room_for(std::size_t bytes) {
    buffer& made = buffers_.emplace_back();
    if (!free_.empty()) {
      made.memory = std::move(free_.back());
      free_.pop_back();
    }
    made.memory.resize(bytes);
    return made;
  }
  buffer& copied(std::span<const std::byte> rows) {
    buffer& made = room_for(rows.size());
    std::ranges::copy(rows, made.memory.begin());
    return made;
  }

  result<void> send(std::size_t k, buffer& from, std::size_t bytes) {
    if (bytes == 0) return success();
    auto posted = transport_->send(rank_of(k), channel_, std::span<const std::byte>(from.memory).first(bytes));
    if (!posted) return lost(k, "to", std::move(posted).error());
    from.sends.push_back(std::move(posted).value());
    bytes_ += bytes;
    return success();
  }

  /// Posts the transfers of a layer in the plan's order: in rounds in each of which a sharer sends to one and hears one,
  /// each round in order of the sender.
  /// tokens_from(k): so many rows come from sharer k; send_to(k): posts what goes there
  template <class TokensFrom, class SendTo>
  result<void> post(const TokensFrom& tokens_from, const SendTo& send_to) {
    const std::size_t m = sequence_->sharers.size();
    const std::size_t self = sequence_->self;
    received_.assign(m, {});
    expected_.clear();
    incoming_.resize(std::max(incoming_.size(), m));
    for (std::size_t d = 1; d < m; ++d) {
      const std::size_t to = (self + d) % m;
      const std::size_t from = (self + m - d) % m;
      if (self < from)
        if (result<void> sent = send_to(to); !sent) return sent;
      const std::size_t bytes = size(tokens_from(from));
      if (incoming_[from].size() < bytes) incoming_[from].resize(bytes);
      received_[from] = std::span<std::byte>(incoming_[from]).first(bytes);
      if (result<void> posted = receive(from, received_[from], expected_); !posted) return posted;
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

  /// Posts what goes to the next sharer and comes from the one before, in order of the sender.
  result<void> pass_on(buffer& out, buffer& in, receives& expected) {
    const std::size_t to = (sequence_->self + 1) % sequence_->sharers.size();
    const std::size_t from = owner_in(1);
    if (sequence_->self < from)
      if (result<void> sent = send(to, out, out.memory.size()); !sent) return sent;
    if (result<void> posted = receive(from, in.memory, expected); !posted) return posted;
    return from < sequence_->self ? send(to, out, out.memory.size()) : success();
  }

  result<void> receive(std::size_t k, std::span<std::byte> rows, receives& expected) {
    if (rows.empty()) return success();
    auto posted = transport_->receive(rank_of(k), channel_, rows);
    if (!posted) return lost(k, "from", std::move(posted).error());
    expected.emplace_back(std::move(posted).value(), k);
    return success();
  }

  result<void> wait(receives& expected) {
    for (auto& [handle, k] : expected)
      if (result<void> came = transport_->wait(handle); !came) return lost(k, "from", std::move(came).error());
    expected.clear();
    return success();
  }

  error lost(std::size_t k, const char* way, error e) {
    if (e.code == errc::aborted) {  // told by another rank, which says where
      failed_ = e;
      return e;
    }
    e.detail = std::string(way) + " rank " + std::to_string(rank_of(k)) + " (replica " +
               std::to_string(sequence_->sharers[k]) + "): " + e.detail;
    return fail(std::move(e));
  }

  /// Takes back the memory whose sends are through.        Requires  no receive is under way
  result<void> recycle() {
    while (!buffers_.empty()) {
      std::vector<typename Transport::handle>& sends = buffers_.front().sends;
      for (; !sends.empty(); sends.pop_back()) {
        result<bool> through = transport_->test(sends.back());
        if (!through) return std::move(through).error();
        if (!through.value()) return success();
      }
      free_.push_back(std::move(buffers_.front().memory));
      buffers_.pop_front();
    }
    return success();
  }

  Transport* transport_;
  int stage_;
  int stages_;
  int channel_;
  // The open row.
  const shared_sequence* sequence_{};
  const row_part* row_{};
  pass way_{};
  std::size_t width_{};
  std::size_t sum_width_{};
  std::size_t round_{};             // rotations of the open layer
  buffer* coming_{};                // rows of the next parcel
  receives rows_expected_;
  int layers_{};
  int done_{};      // layers given, or owed
  int layer_{};     // the last named
  bool waiting_{};  // for what others send of it
  std::optional<error> failed_;
  std::vector<std::vector<std::byte>> incoming_;  // per sharer
  std::vector<std::span<std::byte>> received_;    // per sharer, of the open layer
  receives expected_;
  std::vector<std::byte> taken_;
  std::uint32_t chunk_{};
  std::map<late_key, late> late_;
  // Memory of sends under way lives here, until they are through or the transport has aborted.
  std::deque<buffer> buffers_;
  std::vector<std::vector<std::byte>> free_;
  std::size_t bytes_{};
};

}  // namespace slimpack::detail

#endif
