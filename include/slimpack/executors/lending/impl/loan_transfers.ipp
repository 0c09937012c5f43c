#ifndef SLIMPACK_EXECUTORS_LENDING_IMPL_LOAN_TRANSFERS_IPP
#define SLIMPACK_EXECUTORS_LENDING_IMPL_LOAN_TRANSFERS_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/executors/detail/lending/loan_transfers.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

SLIMPACK_DECL result<void> loan_transfers::begin(const stage_loans::of_pack& with, pass way,
                                                 const loan_format& format) {
  with_ = &with, way_ = way, format_ = &format;
  failed_.reset();
  lent_.clear(), helped_.clear();
  lent_.resize(with.lent.size()), helped_.resize(with.helped.size());
  for (std::size_t i = 0; i < helped_.size(); ++i)
    if (result<void> posted = expect_help(i); !posted) return posted;
  return success();
}

SLIMPACK_DECL result<void> loan_transfers::end(bool well) {
  if (failed_) return *failed_;
  if (!well) return success();
  for (const auto* sides : {&lent_, &helped_})
    for (std::size_t i = 0; i < sides->size(); ++i)
      if ((*sides)[i].done != format_->layers)
        return fail({errc::out_of_order, "attention of " + std::to_string(format_->layers) + " layers is lent, and " +
                                             std::to_string((*sides)[i].done) + " were " +
                                             (sides == &lent_ ? "collected" : "answered")},
                    sides == &lent_, i);
  return forget_sent(false);
}

SLIMPACK_DECL result<void> loan_transfers::offer(int layer, std::size_t i, rows messages) {
  if (result<void> next = is_next(layer, true, i, 0); !next) return next;
  return send(true, i, format_->offered[way_], messages);
}

SLIMPACK_DECL result<void> loan_transfers::ask(int layer, std::size_t i, rows messages) {
  if (result<void> next = is_next(layer, true, i, 1); !next) return next;
  if (result<void> posted = expect(true, i, format_->answered[way_]); !posted) return posted;
  return send(true, i, format_->asked[way_], messages);
}

SLIMPACK_DECL result<lending::rows> loan_transfers::collect(int layer, std::size_t i) {
  if (result<void> next = is_next(layer, true, i, 2); !next) return std::move(next).error();
  ++lent_[i].done;
  return come(true, i);
}

SLIMPACK_DECL result<lending::rows> loan_transfers::take(int layer, std::size_t i) {
  if (result<void> next = is_next(layer, false, i, 0); !next) return std::move(next).error();
  result<rows> came = come(false, i);
  // Those of the next layer may travel meanwhile.
  if (came && helped_[i].done + 1 < format_->layers)
    if (result<void> posted = expect_help(i); !posted) return std::move(posted).error();
  return came;
}

SLIMPACK_DECL result<void> loan_transfers::answer(int layer, std::size_t i, rows messages) {
  if (result<void> next = is_next(layer, false, i, 1); !next) return next;
  ++helped_[i].done;
  return send(false, i, format_->answered[way_], messages);
}

SLIMPACK_DECL error loan_transfers::fail(error e, bool lends, std::size_t i) {
  if (failed_) return *failed_;
  const loan& l = loan_of(lends, i);
  if (e.code != errc::aborted)  // which is told by another rank, and says where
    e.detail = (lends ? "attention lent to stage " + std::to_string(l.helper.stage)
                      : "attention lent by stage " + std::to_string(l.lender.stage)) +
               ": " + e.detail;
  failed_ = e;
  return e;
}

SLIMPACK_DECL result<void> loan_transfers::is_next(int layer, bool lends, std::size_t i, int call) {
  if (failed_) return *failed_;
  if (i >= (lends ? lent_ : helped_).size()) {
    failed_ = error{errc::out_of_order, "the pack has no loan " + std::to_string(i)};
    return *failed_;
  }
  side& of = side_of(lends, i);
  const int next = nth_place(way_, of.done, format_->layers);
  if (of.done == format_->layers || layer != next || call != of.calls)
    return fail(
        {errc::out_of_order, "layer " + std::to_string(layer) + ", call " + std::to_string(call) + ", where layer " +
                                 std::to_string(next) + ", call " + std::to_string(of.calls) + " comes next"},
        lends, i);
  of.calls = (call + 1) % (lends ? 3 : 2);
  return success();
}

SLIMPACK_DECL result<void> loan_transfers::send(bool lends, std::size_t i, const std::vector<loan_message>& formats,
                                                rows messages) {
  if (messages.size() != formats.size())
    return fail({errc::wrong_message,
                 std::to_string(messages.size()) + " messages, where the format has " + std::to_string(formats.size())},
                lends, i);
  for (std::size_t m = 0; m < messages.size(); ++m) {
    const std::size_t bytes = formats[m].bytes_of(loan_of(lends, i));
    if (messages[m].size() != bytes)
      return fail({errc::wrong_message,
                   std::to_string(messages[m].size()) + " bytes, where the plan has " + std::to_string(bytes)},
                  lends, i);
    message& sent = sent_.emplace_back(message{{messages[m].begin(), messages[m].end()}});
    auto posted = transport_->send(peer_of(lends, i), channel_, std::span<const std::byte>(sent.memory));
    if (!posted) return fail(std::move(posted).error(), lends, i);
    sent.under_way.emplace(std::move(posted).value());
    bytes_ += bytes, ++messages_;
  }
  return success();
}

SLIMPACK_DECL result<void> loan_transfers::expect(bool lends, std::size_t i, const std::vector<loan_message>& formats) {
  for (const loan_message& m : formats) {
    message& coming =
        side_of(lends, i).expected.emplace_back(message{std::vector<std::byte>(m.bytes_of(loan_of(lends, i)))});
    auto posted = transport_->receive(peer_of(lends, i), channel_, std::span<std::byte>(coming.memory));
    if (!posted) return fail(std::move(posted).error(), lends, i);
    coming.under_way.emplace(std::move(posted).value());
  }
  return success();
}

SLIMPACK_DECL result<void> loan_transfers::expect_help(std::size_t i) {
  if (result<void> posted = expect(false, i, format_->offered[way_]); !posted) return posted;
  return expect(false, i, format_->asked[way_]);
}

SLIMPACK_DECL result<lending::rows> loan_transfers::come(bool lends, std::size_t i) {
  side& of = side_of(lends, i);
  of.came.clear(), of.seen.clear();
  while (!of.expected.empty()) {
    if (result<void> came = transport_->wait(*of.expected.front().under_way); !came)
      return fail(std::move(came).error(), lends, i);
    of.came.push_back(std::move(of.expected.front()));
    of.expected.pop_front();
  }
  for (const message& one : of.came) of.seen.push_back(one.memory);
  return rows(of.seen);
}

SLIMPACK_DECL result<void> loan_transfers::forget_sent(bool all) {
  for (; !sent_.empty(); sent_.pop_front()) {
    if (all) {
      if (result<void> through = transport_->wait(*sent_.front().under_way); !through) return through;
      continue;
    }
    const result<bool> through = transport_->test(*sent_.front().under_way);
    if (!through) return through.error();
    if (!through.value()) break;
  }
  return success();
}

}  // namespace slimpack::detail

#endif
