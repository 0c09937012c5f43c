#ifndef SLIMPACK_EXECUTORS_IMPL_SHARED_ROW_REHEARSAL_IPP
#define SLIMPACK_EXECUTORS_IMPL_SHARED_ROW_REHEARSAL_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/executors/detail/shared/row_rehearsal.hpp>

namespace slimpack::detail {

SLIMPACK_DECL result<row_needs> row_rehearsal::run() {
  const std::vector<transfer_script::end_of> ends = script_->transfers.ends(script_->code.size());
  for (std::size_t at = 0; at < script_->code.size(); ++at) {
    if (result<void> posted = stand_by_until(ends[at].before); !posted) return std::move(posted).error();
    const instruction& i = script_->code[at];
    if (i.is_pass()) {
      const auto one = [&](const piece_list::row& row) { return call(i, row); };
      if (result<void> done = each_row(*script_, at, one, [this](std::uint32_t index) { return stand_by(index); });
          !done)
        return std::move(done).error();
    }
    if (result<void> posted = stand_by_until(ends[at].after); !posted) return std::move(posted).error();
  }
  return exchanges_.needs();
}

SLIMPACK_DECL result<void> row_rehearsal::stand_by_until(std::size_t end) {
  const std::vector<transfer_script::step>& steps = script_->transfers.steps;
  for (; next_ < end; ++next_)
    if (steps[next_].what == transfer_script::kind::absent)
      if (result<void> posted = stand_by(steps[next_].at); !posted) return posted;
  return success();
}

SLIMPACK_DECL result<void> row_rehearsal::stand_by(std::uint32_t index) {
  const transfer_script::absent_row& one = script_->transfers.absent[index];
  return exchange_.stand_by(*script_->shared.find(one.sequence), one.way, one.row, one.chunk, chunks_[one.chunk]);
}

SLIMPACK_DECL result<void> row_rehearsal::call(const instruction& i, const piece_list::row& row) {
  const shared_sequence& s = script_->shared.all()[row.sequence];
  const row_format& format = chunks_[i.chunk];
  exchange_.begin(s, i.pass(), row.number, i.chunk, format);
  for (int step = 0; step < format.layers; ++step) {
    const int layer = nth_place(i.pass(), step, format.layers);
    const result<void> done = s.exchange != exchange::keep ? go_round(layer, format.going_round(s.exchange, i.pass()))
                              : i.pass() == pass::forward  ? exchange_kept(layer, format.keys_values)
                                                           : exchange_owed(layer, format.gradients);
    if (!done) return done;
  }
  return exchange_.end(true);
}

SLIMPACK_DECL result<void> row_rehearsal::exchange_kept(int layer, const message_format& format) {
  sharing& with = exchange_;
  if (result<void> given = with.give(layer, rows(with.own(), format)); !given) return given;
  if (const auto taken = with.take(layer); !taken) return taken.error();
  return success();
}

SLIMPACK_DECL result<void> row_rehearsal::exchange_owed(int layer, const message_format& format) {
  sharing& with = exchange_;
  if (result<void> owed = with.owe(layer, rows(with.others(), format)); !owed) return owed;
  return with.add(layer, rows(with.own(), format), nullptr);
}

SLIMPACK_DECL result<void> row_rehearsal::go_round(int layer, const parcel_format& format) {
  sharing& with = exchange_;
  if (result<void> launched = with.launch(layer, rows(with.own(), format.rows)); !launched) return launched;
  for (std::span<const slice> held = with.own();;) {
    const result<parcel> next = with.rotate(layer, rows(held, format.sums));
    if (!next) return next.error();
    if (next.value().is_home) return success();
    held = next.value().tokens;
  }
}

SLIMPACK_DECL std::span<std::byte> row_rehearsal::rows(std::span<const slice> of, const message_format& format) {
  std::size_t size = 0;
  for (const slice& s : of) size += static_cast<std::size_t>(s.length.value) * format.bytes_per_token();
  if (size > place_size_) place_.reset(new std::byte[place_size_ = size]);
  return {place_.get(), size};
}

}  // namespace slimpack::detail

#endif
