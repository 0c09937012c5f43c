#ifndef SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_REHEARSAL_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_REHEARSAL_HPP

#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/executors/detail/rehearsal.hpp>
#include <slimpack/executors/detail/shared/row_exchange.hpp>
#include <slimpack/executors/detail/shared/row_memory.hpp>
#include <slimpack/executors/detail/shared/rows_of_pack.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/executors/row_format.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace slimpack::detail {

/// What a stage exchanges with those that share its rows, run once before a step to find out how much memory it needs at once: no
/// bytes move.
class row_rehearsal {
 public:
  /// chunks: the format of each            Requires  a script that outlives it
  row_rehearsal(const stage_script& script, std::span<const row_format> chunks)
      : script_(&script), chunks_(chunks), exchange_(nowhere_, memory_, script.stage, script.on.stages, script.row_channel()) {}

  [[nodiscard]] result<row_needs> run() {
    const std::vector<transfer_script::end_of> ends = script_->transfers.ends(script_->code.size());
    for (std::size_t at = 0; at < script_->code.size(); ++at) {
      if (result<void> posted = stand_by_until(ends[at].before); !posted) return std::move(posted).error();
      const instruction& i = script_->code[at];
      if (i.is_pass()) {
        const auto one = [&](const piece_list::row& row) { return call(i, row); };
        if (result<void> done = each_row(*script_, at, one, [this](std::uint32_t index) { return stand_by(index); }); !done)
          return std::move(done).error();
      }
      if (result<void> posted = stand_by_until(ends[at].after); !posted) return std::move(posted).error();
    }
    return exchange_.needs();
  }

 private:
  /// Which nobody touches.
  struct memory final : row_memory {
    [[nodiscard]] result<block> make(std::size_t size) override {
      const std::shared_ptr<std::byte[]> made(new std::byte[size]);
      return block{made, {made.get(), size}};
    }
    [[nodiscard]] result<void> copy(std::span<const std::byte>, std::span<std::byte>) override { return success(); }
    [[nodiscard]] result<void> add(std::span<const std::byte>, std::span<std::byte>, sharing::adder) override { return success(); }
  };

  result<void> stand_by_until(std::size_t end) {
    const std::vector<transfer_script::step>& steps = script_->transfers.steps;
    for (; next_ < end; ++next_)
      if (steps[next_].what == transfer_script::kind::absent)
        if (result<void> posted = stand_by(steps[next_].at); !posted) return posted;
    return success();
  }
  result<void> stand_by(std::uint32_t index) {
    const transfer_script::absent_row& one = script_->transfers.absent[index];
    return exchange_.stand_by(*script_->shared.find(one.sequence), one.way, one.row, one.chunk, chunks_[one.chunk]);
  }

  /// What a compute does with a row.
  result<void> call(const instruction& i, const piece_list::row& row) {
    const shared_sequence& s = script_->shared.all()[row.sequence];
    const row_format& format = chunks_[i.chunk];
    exchange_.begin(s, i.pass, row.number, i.chunk, format);
    for (int step = 0; step < format.layers; ++step) {
      const int layer = nth_place(i.pass, step, format.layers);
      const result<void> done = s.exchange != exchange::keep ? go_round(layer, format.going_round(s.exchange, i.pass))
                                : i.pass == pass::forward    ? exchange_kept(layer, format.keys_values)
                                                             : exchange_owed(layer, format.gradients);
      if (!done) return done;
    }
    return exchange_.end(true);
  }
  result<void> exchange_kept(int layer, const message_format& format) {
    sharing& with = exchange_;
    if (result<void> given = with.give(layer, rows(with.own(), format)); !given) return given;
    if (const auto taken = with.take(layer); !taken) return taken.error();
    return success();
  }
  result<void> exchange_owed(int layer, const message_format& format) {
    sharing& with = exchange_;
    if (result<void> owed = with.owe(layer, rows(with.others(), format)); !owed) return owed;
    return with.add(layer, rows(with.own(), format), nullptr);
  }
  result<void> go_round(int layer, const parcel_format& format) {
    sharing& with = exchange_;
    if (result<void> launched = with.launch(layer, rows(with.own(), format.rows)); !launched) return launched;
    for (std::span<const slice> held = with.own();;) {
      const result<parcel> next = with.rotate(layer, rows(held, format.sums));
      if (!next) return next.error();
      if (next.value().is_home) return success();
      held = next.value().tokens;
    }
  }

  /// Of the compute: so many, of no content.
  [[nodiscard]] std::span<std::byte> rows(std::span<const slice> of, const message_format& format) {
    std::size_t size = 0;
    for (const slice& s : of) size += static_cast<std::size_t>(s.length.value) * format.bytes_per_token();
    if (size > place_size_) place_.reset(new std::byte[place_size_ = size]);
    return {place_.get(), size};
  }

  const stage_script* script_;
  std::span<const row_format> chunks_;
  rehearsal::transport nowhere_;
  memory memory_;
  row_exchange<rehearsal::transport> exchange_;
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
    for (std::uint32_t chunk = 0; chunk < static_cast<std::uint32_t>(script.on.chunks); ++chunk) chunks.push_back(compute.rows(chunk));
    const result<row_needs> needs = row_rehearsal(script, chunks).run();
    if (!needs) return needs.error();
    return exchange.expect(needs.value());
  }
  return success();
}

}  // namespace slimpack::detail

#endif
