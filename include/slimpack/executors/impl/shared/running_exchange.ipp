#ifndef SLIMPACK_EXECUTORS_IMPL_SHARED_RUNNING_EXCHANGE_IPP
#define SLIMPACK_EXECUTORS_IMPL_SHARED_RUNNING_EXCHANGE_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/executors/detail/shared/running_exchange.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

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

SLIMPACK_DECL void running_exchange::begin(const shared_sequence& s, pass way, std::size_t row, std::uint32_t chunk,
                                           const row_format& format) {
  open(s, s.rows[way][row]);
  chunk_ = chunk;
  way_ = way;
  const bool kept = s.exchange == exchange::keep;
  const parcel_format round = kept ? parcel_format{} : format.going_round(s.exchange, way);
  width_ = (kept ? format.kept(way) : round.rows).bytes_per_token();
  sum_width_ = round.sums.bytes_per_token();
  order_.begin(s, way, width_, format.layers);
}

SLIMPACK_DECL result<void> running_exchange::stand_by(const shared_sequence& s, pass way, std::size_t row,
                                                      std::uint32_t chunk, const row_format& format) {
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
    late& rows = (*late_)[key];
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
    if (way == pass::backward) late_->erase(key);
  }
  return success();
}

SLIMPACK_DECL result<void> running_exchange::give(int layer, std::span<const std::byte> rows) {
  if (result<void> next = opens(layer, pass::forward, true, "given", tokens_of(row_->own), rows.size()); !next)
    return next;
  const result<buffer*> copy = copied(row_use::rows, rows);
  if (!copy) return copy.error();
  return post([&](std::size_t k) { return theirs(k); },
              [&](std::size_t k) {
                return noted(transfers_.send(k, *copy.value(), copy.value()->block.bytes.first(size(row_->sent[k]))));
              });
}

SLIMPACK_DECL result<std::span<const std::byte>> running_exchange::take(int layer) {
  if (result<void> open = order_.closes(layer, pass::forward, true, "taken before it was given"); !open)
    return std::move(open).error();
  if (result<void> came = noted(transfers_.wait(expected_)); !came) return std::move(came).error();
  for (const std::uint32_t row : row_->beside)
    if (result<void> came = noted(transfers_.wait(late_rows(row, layer).expected)); !came)
      return std::move(came).error();
  give_back(joined_);
  if (result<void> taken = take(joined_, row_use::joined, size(tokens_of(row_->known))); !taken)
    return std::move(taken).error();
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> at;  // of each row and owner
  std::size_t to = 0;
  for (std::size_t i = 0; i < row_->known.size(); ++i) {
    const std::size_t n = size(row_->known[i].length.value);
    const auto& [row, k] = row_->from[i];
    const std::span<const std::byte> rows = is_open(row) ? received_[k].bytes : late_rows(row, layer).of[k].bytes;
    std::size_t& from = at[row_->from[i]];
    if (result<void> issued = copy(rows.subspan(from, n), joined_.bytes.subspan(to, n)); !issued)
      return std::move(issued).error();
    from += n, to += n;
  }
  for (row_block& one : received_) give_back(one);
  for (const std::uint32_t row : row_->beside) {
    for (row_block& one : late_rows(row, layer).of) give_back(one);
    late_->erase(key(row, layer));
  }
  return std::span<const std::byte>(joined_.bytes);
}

SLIMPACK_DECL result<void> running_exchange::owe(int layer, std::span<const std::byte> rows) {
  if (result<void> next = opens(layer, pass::backward, true, "owed", tokens_of(row_->known), rows.size()); !next)
    return next;
  for (const std::uint32_t row : row_->beside)
    if (result<void> owed = owe_late(row, layer, rows); !owed) return owed;
  return post([&](std::size_t k) { return row_->sent[k]; },
              [&](std::size_t k) -> result<void> {
                const result<buffer*> to = room_for(row_use::rows, size(theirs(k)));
                if (!to) return to.error();
                if (result<void> picked = pick(rows, own_number(), k, to.value()->block.bytes); !picked) return picked;
                return noted(transfers_.send(k, *to.value()));
              });
}

SLIMPACK_DECL result<void> running_exchange::launch(int layer, std::span<const std::byte> rows) {
  if (result<void> next = opens(layer, way_, false, "launched", tokens_of(row_->own), rows.size()); !next) return next;
  round_ = 0;
  const result<buffer*> copy = copied(row_use::rows, rows);
  if (!copy) return copy.error();
  if (result<void> coming = expect_rows(1); !coming) return coming;
  return begin_handover(rows_, *copy.value(), *coming_, row_use::rows, 1);
}

SLIMPACK_DECL result<parcel> running_exchange::rotate(int layer, std::span<const std::byte> sums) {
  if (result<void> open = order_.closes(layer, way_, false, "sent on before they were launched"); !open)
    return std::move(open).error();
  if (sums.size() != static_cast<std::size_t>(tokens_in(round_)) * sum_width_)
    return order_.wrong_size(layer, "added up", tokens_in(round_), sum_width_, sums.size());
  if (result<void> turned = noted(transfers_.next_turn()); !turned) return std::move(turned).error();
  ++round_;
  const result<buffer*> copy = copied(row_use::sums, sums);
  if (!copy) return copy.error();
  const result<buffer*> summed = room_for(row_use::sums, static_cast<std::size_t>(tokens_in(round_)) * sum_width_);
  if (!summed) return summed.error();
  if (result<void> posted = begin_handover(sums_, *copy.value(), *summed.value(), row_use::sums, round_); !posted)
    return std::move(posted).error();
  // Rows go on as soon as they have come: only sums wait for what is computed.
  if (result<void> came = end_handover(rows_); !came) return std::move(came).error();
  const std::size_t owner = owner_in(round_);
  const bool is_home = owner == sequence_->self;
  if (is_home) order_.came_home();
  const std::span<const std::byte> rows = is_home ? std::span<std::byte>{} : coming_->block.bytes;
  if (round_ + 1 < sequence_->sharers.size()) {
    buffer& held = *coming_;
    if (result<void> coming = expect_rows(round_ + 1); !coming) return std::move(coming).error();
    if (result<void> posted = begin_handover(rows_, held, *coming_, row_use::rows, round_ + 1); !posted)
      return std::move(posted).error();
  }
  if (result<void> came = end_handover(sums_); !came) return std::move(came).error();
  return parcel{sequence_->sharers[owner], is_home, row_->parcels[owner], rows, summed.value()->block.bytes};
}

SLIMPACK_DECL std::int64_t running_exchange::tokens_of(std::span<const slice> slices) {
  std::int64_t sum = 0;
  for (const slice& s : slices) sum += s.length.value;
  return sum;
}

SLIMPACK_DECL std::int64_t running_exchange::theirs(const row_part& row, std::size_t k) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < row.others.size(); ++i)
    if (row.owner[i] == k) sum += row.others[i].length.value;
  return sum;
}

SLIMPACK_DECL void running_exchange::open(const shared_sequence& s, const row_part& row) {
  sequence_ = &s;
  row_ = &row;
  transfers_.open(s);
}

SLIMPACK_DECL result<void> running_exchange::take(row_block& to, row_use use, std::size_t bytes) {
  result<row_block> taken = noted(pool().take(use, bytes));
  if (!taken) return std::move(taken).error();
  to = std::move(taken).value();
  return success();
}

SLIMPACK_DECL result<void> running_exchange::pick(std::span<const std::byte> rows, std::uint32_t row, std::size_t owner,
                                                  std::span<std::byte> to) {
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

SLIMPACK_DECL result<void> running_exchange::owe_late(std::uint32_t row, int layer, std::span<const std::byte> rows) {
  const row_part& part = sequence_->rows[way_][row];
  late& owed = late_rows(row, layer);
  owed.of.resize(sequence_->sharers.size());
  for (std::size_t k = 0; k < owed.of.size(); ++k) {
    if (result<void> taken = take(owed.of[k], row_use::late, size(theirs(part, k))); !taken) return taken;
    if (result<void> picked = pick(rows, row, k, owed.of[k].bytes); !picked) return picked;
  }
  return success();
}

SLIMPACK_DECL result<void> running_exchange::add(int layer, std::span<std::byte> rows, adder plus) {
  if (result<void> open = order_.closes(layer, pass::backward, true, "due before it was owed"); !open) return open;
  if (rows.size() != size(tokens_of(row_->own)))
    return order_.wrong_size(layer, "due", tokens_of(row_->own), width_, rows.size());
  if (result<void> came = noted(transfers_.wait(expected_)); !came) return came;
  row_block own;
  if (result<void> taken = take(own, row_use::sums, rows.size()); !taken) return taken;
  if (result<void> issued = copy(rows, own.bytes); !issued) return issued;
  std::size_t summed = 0;  // bytes in front, which have a sum
  for (std::size_t k = 0; k < sequence_->sharers.size(); ++k) {
    const std::span<const std::byte> one = k == sequence_->self ? own.bytes : received_[k].bytes;
    const std::size_t both = std::min(summed, one.size());
    if (both > 0)
      if (result<void> added = noted(pool().memory().add(one.first(both), rows.first(both), plus)); !added)
        return added;
    if (result<void> issued = copy(one.subspan(both), rows.subspan(both, one.size() - both)); !issued) return issued;
    summed = std::max(summed, one.size());
  }
  give_back(own);
  for (row_block& one : received_) give_back(one);
  return success();
}

SLIMPACK_DECL result<void> running_exchange::opens(int layer, pass way, bool keeps, const char* what,
                                                   std::int64_t count, std::size_t given) {
  if (result<void> next = order_.opens(layer, way, keeps, what, count, given); !next) return next;
  return noted(transfers_.next_turn());
}

SLIMPACK_DECL result<void> running_exchange::expect_rows(std::size_t round) {
  const result<buffer*> made = room_for(row_use::rows, size(tokens_in(round)));
  if (!made) return made.error();
  coming_ = made.value();
  return success();
}

SLIMPACK_DECL result<void> running_exchange::begin_handover(handover& h, buffer& out, buffer& in, row_use use,
                                                            std::size_t number) {
  h = handover{&out, &in, use, use == row_use::rows ? width_ : sum_width_, number, true, {}, {}, {}};
  for (const leg& l : sequence_->legs)
    if (l.step != leg_step::gather)
      if (result<void> posted = post_leg(h, l); !posted) return posted;
  const std::size_t to = (sequence_->self + 1) % sequence_->sharers.size();
  const std::size_t from = owner_in(1);
  const auto send = [&] {
    return sequence_->sends_in_legs(own_replica()) ? success() : noted(transfers_.send(to, out));
  };
  if (sequence_->self < from)
    if (result<void> sent = send(); !sent) return sent;
  if (!sequence_->sends_in_legs(sequence_->sharers[from]))
    if (result<void> posted = noted(transfers_.receive(from, in.block.bytes, h.expected)); !posted) return posted;
  return from < sequence_->self ? send() : success();
}

SLIMPACK_DECL result<void> running_exchange::end_handover(handover& h) {
  if (!std::exchange(h.is_open, false)) return success();
  for (const leg& l : sequence_->legs)
    if (l.step == leg_step::gather)
      if (result<void> posted = post_leg(h, l); !posted) return posted;
  return noted(transfers_.wait(h.expected));
}

SLIMPACK_DECL result<void> running_exchange::post_leg(handover& h, const leg& l) {
  const bool sends = l.from == own_replica();
  if (!sends && l.to != own_replica()) return success();
  const std::int64_t count = tokens_of(row_->parcels[sequence_->owner_in(sequence_->place_of(l.sender), h.number - 1)]);
  const leg_rows rows = rows_of(l, count);
  const auto bytes_of = [&](std::int64_t tokens) { return static_cast<std::size_t>(tokens) * h.width; };
  const std::size_t length = bytes_of(rows.end - rows.begin);
  if (length == 0) return success();
  // The first of either node has all of the parcel, others have their strand.
  if (own_replica() == l.sender)
    return noted(
        transfers_.send(sequence_->place_of(l.to), *h.out, h.out->block.bytes.subspan(bytes_of(rows.begin), length)));
  if (own_replica() == l.hearer)
    return noted(transfers_.receive(sequence_->place_of(l.from),
                                    h.in->block.bytes.subspan(bytes_of(rows.begin), length), h.expected));
  const leg_rows strand = strand_rows(l, count);
  if (!h.held.contains(l.route)) {
    const result<buffer*> made = room_for(h.use, bytes_of(strand.end - strand.begin));
    if (!made) return made.error();
    h.held[l.route] = made.value();
  }
  buffer& held = *h.held[l.route];
  const std::span<std::byte> part = held.block.bytes.subspan(bytes_of(rows.begin - strand.begin), length);
  receives& came = h.strands[{l.route, l.segment}];
  if (!sends) return noted(transfers_.receive(sequence_->place_of(l.from), part, came));
  if (result<void> there = noted(transfers_.wait(came)); !there) return there;
  return noted(transfers_.send(sequence_->place_of(l.to), held, part));
}

}  // namespace slimpack::detail

#endif
