#ifndef SLIMPACK_EXECUTORS_DETAIL_MESSAGES_HPP
#define SLIMPACK_EXECUTORS_DETAIL_MESSAGES_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/detail/flow.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/executors/detail/call_messages.hpp>
#include <slimpack/executors/detail/message_owner.hpp>
#include <slimpack/executors/detail/rehearsal.hpp>
#include <slimpack/executors/detail/shared/turned_rows.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/executors/hooks.hpp>
#include <slimpack/executors/outgoing.hpp>
#include <slimpack/transports/hooks.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// The messages of one stage in a step, in the plan's order of all transfers: receives are posted as early as that lets
/// them be, or, over a transport that wants them at their place (transports/hooks.hpp), right before the first of this rank's
/// instructions and transfers that comes after them. Sends under way, and the memory of both. Every buffer holds the largest
/// message of its content, so that each can be used again for any: when all that were sent from it are through, and nothing on
/// this stage will read it. What the calls of a spread vocabulary give others on their own stage is handed on here, as if by
/// messages.
template <class Tensor, class Transport>
class messages {
 public:
  /// hidden: of the compute's format; ends: vocabulary_format_of it            Requires  what is not copied outlives it
  messages(message_owner<Tensor>& owner, Transport& transport, const stage_script& script, const message_format& hidden,
           const vocabulary_format& ends)
      : messages(owner, transport, script,
                 {hidden.bytes_per_token(), ends.partial.bytes_per_token(), ends.statistics.bytes_per_token()}) {}
  /// widths: bytes of a token, by content
  messages(message_owner<Tensor>& owner, Transport& transport, const stage_script& script,
           const std::array<std::size_t, message_contents>& widths)
      : owner_(&owner), transport_(&transport), script_(&script), turned_(script.ids(), widths[0]), width_(widths) {
    if constexpr (keeps_plan_order<Transport>()) ends_ = script.transfers.ends(script.code.size());
  }

  /// What instruction `at` of the program reads, and memory for what it writes, valid until `finish`. Instructions are asked
  /// about in order.
  result<call_messages> open(std::size_t at) {
    if (at == 0)
      if (result<void> made = prepare(); !made) return std::move(made).error();
    if (result<void> posted = post(at, &transfer_script::end_of::before); !posted) return std::move(posted).error();
    const instruction& i = script_->code[at];
    if (result<void> came = receive(at); !came) return std::move(came).error();
    call_messages with;
    if (script_->gathers(i)) {
      with.in = bytes_of(i, hidden_rows_.front(), message_content::hidden);
      if (result<void> taken = take(statistics_made_, message_content::statistics); !taken) return std::move(taken).error();
      with.statistics = bytes_of(i, statistics_made_, message_content::statistics);
      if (result<void> made = take_gradients(script_->of(i.pass).size[i.pack.value]); !made) return std::move(made).error();
      with.rows = bytes_of(i, gradients_made_, message_content::hidden);
    } else if (script_->takes_statistics(i)) {
      with.in = bytes_of(i, statistics_.front(), message_content::statistics);
    } else if (script_->takes_gradients(i)) {
      if (result<void> taken = take(inputs_.emplace_back(), message_content::hidden); !taken) return std::move(taken).error();
      const std::span<std::byte> rows = bytes_of(i, inputs_.back(), message_content::hidden);
      const result<void> handed = turned_.take(pieces_of(i), rows, [](Tensor& t) { return writable_bytes(t); },
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

  /// Sends what was written, and takes back the memory of what was read. The rows of the instruction are exchanged.
  result<void> finish(std::size_t at) {
    const instruction& i = script_->code[at];
    if (script_->gathers(i)) {  // what it sends are statistics; its own partial rows are read
      turned_.keep(pieces_of(i), std::exchange(gradients_made_, nullptr));
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
      SLIMPACK_ASSERT(is_next(transfer_script::kind::send, at, number), "a message stands after all that its sender waited for");
      ++next_, ++number;
      transfer& sending = sent_[static_cast<std::size_t>(flow_of(i))].emplace_back();
      sending.content = content;
      sending.memory = output_;
      auto posted = transport_->send(to.rank, to.channel, bytes_of(i, sending.memory, content));
      if (!posted) return std::move(posted).error();
      sending.under_way.emplace(std::move(posted).value());
      // After the last instruction there may be rows of which this rank has none.
      if (result<void> more = post(at, &transfer_script::end_of::after); !more) return more;
    }
    output_ = nullptr;
    for (buffer& one : inputs_) give_back(script_->takes_gradients(i) ? message_content::hidden : script_->content_in(i), std::move(one));
    inputs_.clear();
    for (std::deque<transfer>& way : sent_) {
      while (!way.empty()) {
        result<bool> through = transport_->test(*way.front().under_way);
        if (!through) return std::move(through).error();
        if (!through.value()) {
          if (!keeps_plan_order<Transport>() || way.size() <= sends_under_way) break;
          // Its memory may be written by work that comes after it: the host need not wait for that.
          if (result<void> ordered = transport_->wait(*way.front().under_way); !ordered) return ordered;
        }
        give_back(way.front().content, std::move(way.front().memory));
        way.pop_front();
      }
    }
    return success();
  }

  /// How many tensors were made, by content.
  [[nodiscard]] const std::array<std::size_t, message_contents>& made() const noexcept { return made_; }

  /// Waits for every message. Buffers stay until then: on a stream, a wait alone does not say that they are free.
  result<void> complete() {
    for (std::deque<transfer>& way : sent_)
      for (transfer& sending : way)
        if (result<void> through = transport_->wait(*sending.under_way); !through) return through;
    return slimpack::finish(*transport_);
  }

 private:
  static constexpr std::size_t sends_under_way = 2;  // of a flow, where work is issued long before it runs

  using buffer = std::shared_ptr<Tensor>;  // tensors stay where they are made: their bytes may lie within them
  struct transfer {
    buffer memory;
    std::optional<typename Transport::handle> under_way;
    std::size_t at{};           // instruction that reads it
    std::uint32_t number{};     // of those that it reads
    message_content content{};  // of one that is sent
  };

  [[nodiscard]] bool is_next(transfer_script::kind what, std::size_t at, std::uint32_t number = 0) const {
    const std::vector<transfer_script::step>& steps = script_->transfers.steps;
    return next_ < steps.size() && steps[next_] == transfer_script::step{what, static_cast<std::uint32_t>(at), number};
  }

  [[nodiscard]] std::size_t width(message_content content) const { return width_[static_cast<std::size_t>(content)]; }
  [[nodiscard]] std::vector<buffer>& free_of(message_content content) { return free_[static_cast<std::size_t>(content)]; }
  [[nodiscard]] std::span<std::byte> bytes_of(const instruction& i, const buffer& memory, message_content content) const {
    return writable_bytes(*memory).first(static_cast<std::size_t>(script_->of(i.pass).size[i.pack.value].value) * width(content));
  }
  [[nodiscard]] std::span<const piece> pieces_of(const instruction& i) const {
    const piece_list& list = script_->of(i.pass);
    const auto [first, end] = list.range(i.pack.value);
    return std::span(list.pieces).subspan(first, end - first);
  }

  /// Waits for all that an instruction reads from others.
  result<void> receive(std::size_t at) {
    const std::size_t sources = script_->sources(script_->code[at]).size();
    for (std::uint32_t number = 0; number < sources; ++number) {
      const auto next = std::find_if(expected_.begin(), expected_.end(), [&](const transfer& t) { return t.at == at && t.number == number; });
      SLIMPACK_ASSERT(next != expected_.end(), "a message stands before all that its reader has of its own");
      if (result<void> came = transport_->wait(*next->under_way); !came) return came;
      inputs_.push_back(std::move(next->memory));
      expected_.erase(next);
    }
    return success();
  }

  /// Memory that nothing here reads any more: free once all messages that read it are through.
  void give_back(message_content content, buffer memory) {
    if (memory.use_count() == 1) free_of(content).push_back(std::move(memory));
  }
  [[nodiscard]] static buffer taken_from(std::deque<buffer>& all) {
    buffer first = std::move(all.front());
    all.pop_front();
    return first;
  }

  /// Memory for the largest message of its content, used before or made now.
  result<void> take(buffer& memory, message_content content) {
    std::vector<buffer>& free = free_of(content);
    if (free.empty()) return make(memory, script_->outline.largest_pack, content);
    memory = std::move(free.back());
    free.pop_back();
    return success();
  }
  /// Memory for the gradients of a pack's hidden rows, which wait for their B: made for the pack and destroyed after it, or, where
  /// all memory is made before the program, one of these.
  result<void> take_gradients([[maybe_unused]] tokens size) {
    if constexpr (keeps_plan_order<Transport>()) return take(gradients_made_, message_content::hidden);
    return make(gradients_made_, size, message_content::hidden);
  }
  void let_go_of_gradients([[maybe_unused]] buffer memory) {
    if constexpr (keeps_plan_order<Transport>()) give_back(message_content::hidden, std::move(memory));
  }

  /// Where transfers have a place: makes all memory that the program will need at once, since a device may make its host wait for
  /// memory.
  result<void> prepare() {
    if constexpr (keeps_plan_order<Transport>() && !std::is_same_v<Transport, rehearsal::transport>) {
      std::size_t widest = 0;
      for (const std::size_t w : width_) widest = std::max(widest, w);
      const std::size_t row = width(message_content::hidden);
      rehearsal::owner owner((static_cast<std::size_t>(script_->outline.largest_pack.value) * widest + row - 1) / row * row, row);
      rehearsal::transport transport;
      messages<rehearsal::tensor, rehearsal::transport> rehearsed(owner, transport, *script_, width_);
      for (std::size_t at = 0; at < script_->code.size(); ++at) {
        if (auto opened = rehearsed.open(at); !opened) return std::move(opened).error();
        if (result<void> finished = rehearsed.finish(at); !finished) return finished;
      }
      for (std::size_t content = 0; content < message_contents; ++content)
        while (free_[content].size() < rehearsed.made()[content])
          if (result<void> made = make(free_[content].emplace_back(), script_->outline.largest_pack, static_cast<message_content>(content)); !made)
            return made;
    }
    return success();
  }

  /// Tensors are asked for by tokens of hidden rows, of which wider rows take several.
  result<void> make(buffer& memory, tokens pack, message_content content) {
    const std::size_t needed = static_cast<std::size_t>(pack.value) * width(content), row = width(message_content::hidden);
    const tokens asked{static_cast<std::int64_t>((needed + row - 1) / row)};
    memory = buffer(new Tensor(owner_->make(asked)));
    ++made_[static_cast<std::size_t>(content)];
    if (writable_bytes(*memory).size() < needed)
      return error{errc::wrong_message, "make_tensor gave " + std::to_string(writable_bytes(*memory).size()) + " bytes for " +
                                            std::to_string(asked.value) + " tokens, which need " + std::to_string(needed)};
    return success();
  }

  /// Posts receives that stand before what this rank has to send or to exchange next: all, or those whose place has come
  /// before an instruction, or after it. Memory is put where it stays before a message may use it.
  result<void> post(std::size_t of, std::size_t transfer_script::end_of::*place) {
    const std::vector<transfer_script::step>& steps = script_->transfers.steps;
    for (; next_ < steps.size(); ++next_) {
      if constexpr (keeps_plan_order<Transport>())
        if (next_ >= ends_[of].*place) break;
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
      auto posted = transport_->receive(from.rank, from.channel, bytes_of(i, receiving.memory, content));
      if (!posted) return std::move(posted).error();
      receiving.under_way.emplace(std::move(posted).value());
    }
    return success();
  }

  message_owner<Tensor>* owner_;
  Transport* transport_;
  const stage_script* script_;
  std::size_t next_{};            // of the script's transfers
  std::vector<transfer_script::end_of> ends_;  // by instruction, where transfers have a place
  std::vector<transfer> expected_;
  // Of the running instruction:
  std::vector<buffer> inputs_;
  buffer output_;
  buffer gradients_made_, statistics_made_;  // of V on the last stage
  std::vector<std::span<const std::byte>> partials_;
  // On the last stage, where the vocabulary is spread, by pack in run order:
  std::deque<buffer> hidden_rows_;  // from the last part's F to V
  std::deque<buffer> statistics_;   // from V to U
  turned_rows<Tensor> turned_;
  std::array<std::size_t, message_contents> width_;  // bytes of a token, by content
  std::array<std::deque<transfer>, flows> sent_;
  std::array<std::vector<buffer>, message_contents> free_;  // by content
  std::array<std::size_t, message_contents> made_{};
};

}  // namespace slimpack::detail

#endif
