#ifndef SLIMPACK_EXECUTORS_IMPL_MESSAGES_IPP
#define SLIMPACK_EXECUTORS_IMPL_MESSAGES_IPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/executors/detail/messages/memory_block.hpp>
#include <slimpack/executors/detail/messages/messages.hpp>
#include <slimpack/executors/detail/piece_list.hpp>
#include <slimpack/executors/piece.hpp>

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Gradients of hidden rows on the last stage: from V there, which gives them for a forward pack, to the B of the last
/// part that takes them for a backward pack, which is cut otherwise. Backward takes each sequence from its end, so the
/// rows of a sequence are a stack. A pack's memory is let go with its last row.
class turned_rows {
 public:
  /// ids: one past the largest id of a sequence; bytes_of_row: of a token
  turned_rows(std::size_t ids, std::size_t bytes_of_row) : stacks_(ids), row_(bytes_of_row) {}

  /// Keeps the rows of a forward pack, piece after piece.
  void keep(std::span<const piece> pack, const memory_block& rows) {
    std::size_t first = 0;
    for (const piece& one : pack) {
      const auto length = static_cast<std::size_t>(one.slice.length.value);
      stacks_[one.slice.sequence.value].push_back({rows, first, length});
      first += length;
    }
  }

  /// Hands out the rows of a backward pack, piece after piece: copy(rows, where they go) copies them, which lie in one
  /// piece each. let_go(memory): of rows that have been handed out, by all who had some of it
  /// Requires  that they were kept
  template <class Copy, class LetGo>
  result<void> take(std::span<const piece> pack, std::span<std::byte> to, const Copy& copy, const LetGo& let_go) {
    std::size_t first = 0;
    for (const piece& one : pack) {
      const auto length = static_cast<std::size_t>(one.slice.length.value);
      for (std::size_t left = length; left > 0;) {
        stack& rows = stacks_[one.slice.sequence.value];
        SLIMPACK_ASSERT(!rows.empty(), "a backward comes after the output layer of its sequences");
        run& last = rows.back();
        const std::size_t n = std::min(left, last.length);
        left -= n, last.length -= n;
        const std::span<const std::byte> from =
            std::span<const std::byte>(last.rows.bytes).subspan((last.first + last.length) * row_, n * row_);
        if (result<void> copied = copy(from, to.subspan((first + left) * row_, n * row_)); !copied) return copied;
        if (last.length > 0) continue;
        let_go(std::move(last.rows));
        rows.pop_back();
      }
      first += length;
    }
    return success();
  }

 private:
  /// Neighbouring tokens of a sequence.
  struct run {
    memory_block rows;    // of a pack
    std::size_t first{};  // row of it
    std::size_t length{};
  };
  using stack = boost::container::small_vector<run, few_pieces>;

  std::vector<stack> stacks_;  // per sequence, tokens ascending
  std::size_t row_;
};

SLIMPACK_DECL messages::messages(message_owner& owner, any_transport& transport, const stage_script& script,
                                 const std::array<std::size_t, message_contents>& widths, bool is_rehearsal)
    : owner_(&owner),
      transport_(&transport),
      script_(&script),
      in_plan_order_(transport.keeps_plan_order()),
      is_rehearsal_(is_rehearsal),
      turned_(std::make_unique<turned_rows>(script.ids(), widths[0])),
      width_(widths) {
  if (in_plan_order_) ends_ = script.transfers.ends(script.code.size());
}

SLIMPACK_DECL messages::~messages() = default;

SLIMPACK_DECL result<call_messages> messages::open(std::size_t at) {
  if (at == 0)
    if (result<void> made = prepare(); !made) return std::move(made).error();
  if (result<void> posted = post(at, &transfer_script::end_of::before); !posted) return std::move(posted).error();
  const instruction& i = script_->code[at];
  if (result<void> came = receive(at); !came) return std::move(came).error();
  call_messages with;
  if (script_->gathers(i)) {
    with.in = bytes_of(i, hidden_rows_.front(), message_content::hidden);
    if (result<void> taken = take(statistics_made_, message_content::statistics); !taken)
      return std::move(taken).error();
    with.statistics = bytes_of(i, statistics_made_, message_content::statistics);
    if (result<void> made = take_gradients(script_->of(i.pass()).size[i.pack.value]); !made)
      return std::move(made).error();
    with.rows = bytes_of(i, gradients_made_, message_content::hidden);
  } else if (script_->takes_statistics(i)) {
    with.in = bytes_of(i, statistics_.front(), message_content::statistics);
  } else if (script_->takes_gradients(i)) {
    if (result<void> taken = take(inputs_.emplace_back(), message_content::hidden); !taken)
      return std::move(taken).error();
    const std::span<std::byte> rows = bytes_of(i, inputs_.back(), message_content::hidden);
    const result<void> handed = turned_->take(
        pieces_of(i), rows,
        [this](std::span<const std::byte> from, std::span<std::byte> to) { return owner_->copy(from, to); },
        [this](buffer memory) { let_go_of_gradients(std::move(memory)); });
    if (!handed) return handed.error();
    with.in = rows;
  } else if (!inputs_.empty()) {
    with.in = bytes_of(i, inputs_.front(), script_->content_in(i));
  }
  if (!script_->targets(i).empty() || script_->gathers(i)) {
    const message_content content = script_->content_out(i);
    if (result<void> taken = take(output_, content); !taken) return std::move(taken).error();
    with.out = bytes_of(i, output_, content);
  }
  if (script_->gathers(i)) {
    partials_.clear();
    for (const buffer& one : inputs_) partials_.push_back(bytes_of(i, one, message_content::partial));
    partials_.push_back(with.out);
    with.partials = partials_;
  }
  return with;
}

SLIMPACK_DECL result<void> messages::finish(std::size_t at) {
  const instruction& i = script_->code[at];
  if (script_->gathers(i)) {  // what it sends are statistics; its own partial rows are read
    turned_->keep(pieces_of(i), std::exchange(gradients_made_, {}));
    give_back(message_content::partial, std::exchange(output_, std::move(statistics_made_)));
    give_back(message_content::hidden, taken_from(hidden_rows_));
    statistics_.push_back(output_);
  }
  if (script_->gives_hidden_rows(i)) hidden_rows_.push_back(output_);
  if (script_->takes_statistics(i)) give_back(message_content::statistics, taken_from(statistics_));
  if (is_next(transfer_script::kind::rows, at)) ++next_;
  if (result<void> posted = post(at, &transfer_script::end_of::after); !posted) return posted;
  const message_content content = script_->gathers(i) ? message_content::statistics : script_->content_out(i);
  std::uint32_t number = 0;
  for (const message_end& to : script_->targets(i)) {
    SLIMPACK_ASSERT(is_next(transfer_script::kind::send, at, number),
                    "a message stands after all that its sender waited for");
    ++next_, ++number;
    transfer& sending = sent_[static_cast<std::size_t>(i.kind)].emplace_back();
    sending.content = content;
    sending.memory = output_;
    const result<any_transport::handle> posted =
        transport_->send(to.rank, to.channel, bytes_of(i, sending.memory, content));
    if (!posted) return posted.error();
    sending.under_way = posted.value();
    // After the last instruction there may be rows of which this rank has none.
    if (result<void> more = post(at, &transfer_script::end_of::after); !more) return more;
  }
  output_ = {};
  for (buffer& one : inputs_)
    give_back(script_->takes_gradients(i) ? message_content::hidden : script_->content_in(i), std::move(one));
  inputs_.clear();
  for (std::deque<transfer>& way : sent_) {
    while (!way.empty()) {
      const result<bool> through = transport_->test(way.front().under_way);
      if (!through) return through.error();
      if (!through.value()) {
        if (!in_plan_order_ || way.size() <= sends_under_way) break;
        // Its memory may be written by work that comes after it: the host need not wait for that.
        if (result<void> ordered = transport_->wait(way.front().under_way); !ordered) return ordered;
      }
      give_back(way.front().content, std::move(way.front().memory));
      way.pop_front();
    }
  }
  return success();
}

SLIMPACK_DECL result<void> messages::complete() {
  for (std::deque<transfer>& way : sent_)
    for (transfer& sending : way)
      if (result<void> through = transport_->wait(sending.under_way); !through) return through;
  return transport_->finish();
}

SLIMPACK_DECL bool messages::is_next(transfer_script::kind what, std::size_t at, std::uint32_t number) const {
  const std::vector<transfer_script::step>& steps = script_->transfers.steps;
  return next_ < steps.size() && steps[next_] == transfer_script::step{what, static_cast<std::uint32_t>(at), number};
}

SLIMPACK_DECL std::span<const piece> messages::pieces_of(const instruction& i) const {
  const piece_list& list = script_->of(i.pass());
  const auto [first, end] = list.range(i.pack.value);
  return std::span(list.pieces).subspan(first, end - first);
}

SLIMPACK_DECL result<void> messages::receive(std::size_t at) {
  const std::size_t sources = script_->sources(script_->code[at]).size();
  for (std::uint32_t number = 0; number < sources; ++number) {
    const auto next = std::find_if(expected_.begin(), expected_.end(),
                                   [&](const transfer& t) { return t.at == at && t.number == number; });
    SLIMPACK_ASSERT(next != expected_.end(), "a message stands before all that its reader has of its own");
    if (result<void> came = transport_->wait(next->under_way); !came) return came;
    inputs_.push_back(std::move(next->memory));
    expected_.erase(next);
  }
  return success();
}

SLIMPACK_DECL void messages::give_back(message_content content, buffer memory) {
  if (memory.owner.use_count() == 1) free_of(content).push_back(std::move(memory));
}

SLIMPACK_DECL messages::buffer messages::taken_from(std::deque<buffer>& all) {
  buffer first = std::move(all.front());
  all.pop_front();
  return first;
}

SLIMPACK_DECL result<void> messages::take(buffer& memory, message_content content) {
  std::vector<buffer>& free = free_of(content);
  if (free.empty()) return make(memory, script_->outline.largest_pack, content);
  memory = std::move(free.back());
  free.pop_back();
  return success();
}

SLIMPACK_DECL result<void> messages::take_gradients(tokens size) {
  if (in_plan_order_) return take(gradients_made_, message_content::hidden);
  return make(gradients_made_, size, message_content::hidden);
}

SLIMPACK_DECL void messages::let_go_of_gradients(buffer memory) {
  if (in_plan_order_) give_back(message_content::hidden, std::move(memory));
}

SLIMPACK_DECL result<void> messages::prepare() {
  if (!in_plan_order_ || is_rehearsal_) return success();
  const std::size_t widest = *std::max_element(width_.begin(), width_.end());
  const std::size_t row = width(message_content::hidden);
  rehearsal::owner owner((static_cast<std::size_t>(script_->outline.largest_pack.value) * widest + row - 1) / row * row,
                         row);
  rehearsal::transport transport;
  messages rehearsed(owner, transport, *script_, width_, true);
  for (std::size_t at = 0; at < script_->code.size(); ++at) {
    if (auto opened = rehearsed.open(at); !opened) return std::move(opened).error();
    if (result<void> finished = rehearsed.finish(at); !finished) return finished;
  }
  for (std::size_t content = 0; content < message_contents; ++content)
    while (free_[content].size() < rehearsed.made_[content])
      if (result<void> made =
              make(free_[content].emplace_back(), script_->outline.largest_pack, static_cast<message_content>(content));
          !made)
        return made;
  return success();
}

SLIMPACK_DECL result<void> messages::make(buffer& memory, tokens pack, message_content content) {
  const std::size_t needed = static_cast<std::size_t>(pack.value) * width(content),
                    row = width(message_content::hidden);
  const tokens asked{static_cast<std::int64_t>((needed + row - 1) / row)};
  memory = owner_->make(asked);
  ++made_[static_cast<std::size_t>(content)];
  if (memory.bytes.size() < needed)
    return error{errc::wrong_message, "make_tensor gave " + std::to_string(memory.bytes.size()) + " bytes for " +
                                          std::to_string(asked.value) + " tokens, which need " +
                                          std::to_string(needed)};
  return success();
}

SLIMPACK_DECL result<void> messages::post(std::size_t of, std::size_t transfer_script::end_of::*place) {
  const std::vector<transfer_script::step>& steps = script_->transfers.steps;
  for (; next_ < steps.size(); ++next_) {
    if (in_plan_order_ && next_ >= ends_[of].*place) break;
    const std::size_t at = steps[next_].at;
    if (steps[next_].what == transfer_script::kind::absent) {
      if (result<void> posted = owner_->stand_by(at); !posted) return posted;
      continue;
    }
    if (steps[next_].what != transfer_script::kind::receive) break;
    const instruction& i = script_->code[at];
    const message_end from = script_->sources(i)[steps[next_].number];
    const message_content content = script_->content_in(i);
    transfer& receiving = expected_.emplace_back();
    receiving.at = at, receiving.number = steps[next_].number;
    if (result<void> taken = take(receiving.memory, content); !taken) return taken;
    const result<any_transport::handle> posted =
        transport_->receive(from.rank, from.channel, bytes_of(i, receiving.memory, content));
    if (!posted) return posted.error();
    receiving.under_way = posted.value();
  }
  return success();
}

}  // namespace slimpack::detail

#endif
