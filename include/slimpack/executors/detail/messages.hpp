#ifndef SLIMPACK_EXECUTORS_DETAIL_MESSAGES_HPP
#define SLIMPACK_EXECUTORS_DETAIL_MESSAGES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/executors/detail/row_exchange.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/executors/detail/stand_by.hpp>
#include <slimpack/executors/hooks.hpp>
#include <slimpack/executors/outgoing.hpp>
#include <slimpack/transports/hooks.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// The bytes of a message's memory, whatever the compute's make_tensor makes.
template <class Tensor>
[[nodiscard]] std::span<std::byte> writable_bytes(Tensor& tensor) {
  if constexpr (requires { std::as_writable_bytes(std::span{tensor}); })
    return std::as_writable_bytes(std::span{tensor});
  else
    return as_span(tensor);
}

/// The messages of one stage in a step, in the plan's order of all transfers: receives are posted as early as that lets
/// them be. Sends under way, and the memory of both. Every buffer holds the largest message, so that each can be used again
/// for any.
template <class Compute, class Transport>
class messages {
 public:
  messages(Compute& compute, Transport& transport, const stage_script& script, row_exchange<Transport>& exchange)
      : compute_(&compute), transport_(&transport), script_(&script), exchange_(&exchange), width_(compute.format().bytes_per_token()) {}

  /// What instruction `at` of the program reads, valid until `finish`; empty at the ends of the pipeline.
  /// Instructions are asked about in order.
  result<std::span<const std::byte>> input(std::size_t at) {
    if (result<void> posted = post(); !posted) return std::move(posted).error();
    if (!script_->source(script_->code[at]).exists()) return std::span<const std::byte>{};
    const auto next = std::find_if(expected_.begin(), expected_.end(), [&](const transfer& t) { return t.at == at; });
    SLIMPACK_ASSERT(next != expected_.end(), "a message stands before all that its reader has of its own");
    if (result<void> came = transport_->wait(*next->under_way); !came) return std::move(came).error();
    input_ = std::move(next->memory);
    expected_.erase(next);
    return std::span<const std::byte>(bytes(*input_, at));
  }

  /// Memory for what instruction `at` writes; empty at the ends of the pipeline.
  result<std::span<std::byte>> output(std::size_t at) {
    if (!script_->target(script_->code[at]).exists()) return std::span<std::byte>{};
    if (result<void> taken = take(output_); !taken) return std::move(taken).error();
    return bytes(*output_, at);
  }

  /// Sends what was written, and takes back the memory of what was read. The rows of the instruction are exchanged.
  result<void> finish(std::size_t at) {
    const instruction& i = script_->code[at];
    if (is_next(transfer_script::kind::rows, at)) ++next_;
    if (result<void> posted = post(); !posted) return posted;
    if (output_) {
      SLIMPACK_ASSERT(is_next(transfer_script::kind::send, at), "a message stands after all that its sender waited for");
      ++next_;
      const message_end to = script_->target(i);
      transfer& sending = sent_[i.pass == pass::forward ? 0 : 1].emplace_back();
      sending.memory = std::move(output_);
      auto posted = transport_->send(to.rank, to.channel, bytes(*sending.memory, at));
      if (!posted) return std::move(posted).error();
      sending.under_way.emplace(std::move(posted).value());
      // After the last instruction there may be rows of which this rank has none.
      if (result<void> more = post(); !more) return more;
    }
    if (input_) free_.push_back(std::move(input_));
    for (std::deque<transfer>& way : sent_) {
      while (!way.empty()) {
        result<bool> through = transport_->test(*way.front().under_way);
        if (!through) return std::move(through).error();
        if (!through.value()) break;
        free_.push_back(std::move(way.front().memory));
        way.pop_front();
      }
    }
    return success();
  }

  /// Waits for every message. Buffers stay until then: on a stream, a wait alone does not say that they are free.
  result<void> complete() {
    for (std::deque<transfer>& way : sent_)
      for (transfer& sending : way)
        if (result<void> through = transport_->wait(*sending.under_way); !through) return through;
    return slimpack::finish(*transport_);
  }

 private:
  using tensor = decltype(make_tensor(std::declval<Compute&>(), tokens{}));
  using buffer = std::unique_ptr<tensor>;  // tensors stay where they are made: their bytes may lie within them
  struct transfer {
    buffer memory;
    std::optional<typename Transport::handle> under_way;
    std::size_t at{};  // instruction that reads it
  };

  [[nodiscard]] bool is_next(transfer_script::kind what, std::size_t at) const {
    const std::vector<transfer_script::step>& steps = script_->transfers.steps;
    return next_ < steps.size() && steps[next_] == transfer_script::step{what, static_cast<std::uint32_t>(at)};
  }

  [[nodiscard]] std::size_t size(std::size_t at) const {
    const instruction& i = script_->code[at];
    return static_cast<std::size_t>(script_->of(i.pass).size[i.pack.value].value) * width_;
  }
  [[nodiscard]] std::span<std::byte> bytes(tensor& memory, std::size_t at) const {
    return writable_bytes(memory).first(size(at));
  }

  result<void> take(buffer& memory) {
    if (!free_.empty()) {
      memory = std::move(free_.back());
      free_.pop_back();
      return success();
    }
    memory.reset(new tensor(make_tensor(*compute_, script_->outline.largest_pack)));
    const std::size_t needed = static_cast<std::size_t>(script_->outline.largest_pack.value) * width_;
    if (writable_bytes(*memory).size() < needed)
      return error{errc::wrong_message, "make_tensor gave " + std::to_string(writable_bytes(*memory).size()) + " bytes for " +
                                            std::to_string(script_->outline.largest_pack.value) + " tokens, which need " +
                                            std::to_string(needed)};
    return success();
  }

  /// Posts all receives that stand before what this rank has to send or to exchange next. Memory is put where it stays
  /// before a message may use it.
  result<void> post() {
    const std::vector<transfer_script::step>& steps = script_->transfers.steps;
    for (; next_ < steps.size(); ++next_) {
      const std::size_t at = steps[next_].at;
      if (steps[next_].what == transfer_script::kind::absent) {
        if (result<void> posted = stand_by(*compute_, *exchange_, *script_, at); !posted) return posted;
        continue;
      }
      if (steps[next_].what != transfer_script::kind::receive) break;
      const message_end from = script_->source(script_->code[at]);
      transfer& receiving = expected_.emplace_back();
      receiving.at = at;
      if (result<void> taken = take(receiving.memory); !taken) return taken;
      auto posted = transport_->receive(from.rank, from.channel, bytes(*receiving.memory, at));
      if (!posted) return std::move(posted).error();
      receiving.under_way.emplace(std::move(posted).value());
    }
    return success();
  }

  Compute* compute_;
  Transport* transport_;
  const stage_script* script_;
  row_exchange<Transport>* exchange_;
  std::size_t width_;
  std::size_t next_{};            // of the script's transfers
  std::vector<transfer> expected_;
  buffer input_;                  // of the running instruction
  buffer output_;
  std::deque<transfer> sent_[2];  // per pass
  std::vector<buffer> free_;
};

}  // namespace slimpack::detail

#endif
