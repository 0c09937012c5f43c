#ifndef SLIMPACK_EXECUTORS_DETAIL_MESSAGES_MESSAGES_HPP
#define SLIMPACK_EXECUTORS_DETAIL_MESSAGES_MESSAGES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/executors/detail/messages/memory_block.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/executors/message_format.hpp>
#include <slimpack/transports/detail/any_transport.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace slimpack::detail {

/// What an instruction reads and writes, valid until it has ended.
struct call_messages {
  std::span<const std::byte> in;  ///< empty at the ends of the pipeline, as `out` is
  std::span<std::byte> out;
  // Of V on the last stage:
  std::span<const std::span<const std::byte>> partials{};  ///< of all stages; the last is what `out` gets
  std::span<std::byte> rows{};                             ///< gradients of hidden rows
  std::span<std::byte> statistics{};
};

class turned_rows;  // detail/shared/turned_rows.hpp

/// The messages of one stage in a step, in the plan's order of all transfers: receives are posted as early as that lets
/// them be, or, over a transport that wants them at their place (transports/hooks.hpp), right before the first of this
/// rank's instructions and transfers that comes after them. Sends under way, and the memory of both. Every buffer holds
/// the largest message of its content, so that each can be used again for any: when all that were sent from it are
/// through, and nothing on this stage will read it. What V gives others on its own stage is handed on here, as if by
/// messages.
class messages {
 public:
  /// formats: of the compute, by content               Requires  what is not copied outlives it
  messages(message_owner& owner, any_transport& transport, const stage_script& script,
           const std::array<message_format, message_contents>& formats)
      : messages(owner, transport, script,
                 {formats[0].bytes_per_token(), formats[1].bytes_per_token(), formats[2].bytes_per_token()}, false) {}
  messages(const messages&) = delete;
  messages& operator=(const messages&) = delete;
  ~messages();

  /// What instruction `at` of the program reads, and memory for what it writes, valid until `finish`. Instructions are
  /// asked about in order.
  result<call_messages> open(std::size_t at);

  /// Sends what was written, and takes back the memory of what was read. The rows of the instruction are exchanged.
  result<void> finish(std::size_t at);

  /// Waits for every message. Buffers stay until then: on a stream, a wait alone does not say that they are free.
  result<void> complete();

 private:
  static constexpr std::size_t sends_under_way =
      2;  // of a kind of instruction, where work is issued long before it runs

  using buffer = memory_block;
  struct transfer {
    buffer memory;
    any_transport::handle under_way;
    std::size_t at{};           // instruction that reads it
    std::uint32_t number{};     // of those that it reads
    message_content content{};  // of one that is sent
  };

  /// widths: bytes of a token, by content; is_rehearsal: over what `rehearsal` has
  messages(message_owner& owner, any_transport& transport, const stage_script& script,
           const std::array<std::size_t, message_contents>& widths, bool is_rehearsal);

  [[nodiscard]] bool is_next(transfer_script::kind what, std::size_t at, std::uint32_t number = 0) const;
  [[nodiscard]] std::size_t width(message_content content) const { return width_[static_cast<std::size_t>(content)]; }
  [[nodiscard]] std::vector<buffer>& free_of(message_content content) {
    return free_[static_cast<std::size_t>(content)];
  }
  [[nodiscard]] std::span<std::byte> bytes_of(const instruction& i, const buffer& memory,
                                              message_content content) const {
    return memory.bytes.first(static_cast<std::size_t>(script_->of(i.pass()).size[i.pack.value].value) *
                              width(content));
  }
  [[nodiscard]] std::span<const piece> pieces_of(const instruction& i) const;

  /// Waits for all that an instruction reads from others.
  result<void> receive(std::size_t at);

  /// Memory that nothing here reads any more: free once all messages that read it are through.
  void give_back(message_content content, buffer memory);
  [[nodiscard]] static buffer taken_from(std::deque<buffer>& all);
  /// Memory for the largest message of its content, used before or made now.
  result<void> take(buffer& memory, message_content content);
  /// Memory for the gradients of a pack's hidden rows, which wait for their B: made for the pack and destroyed after
  /// it, or, where all memory is made before the program, one of these.
  result<void> take_gradients(tokens size);
  void let_go_of_gradients(buffer memory);

  /// Where transfers have a place: makes all memory that the program will need at once, since a device may make its
  /// host wait for memory.
  result<void> prepare();
  /// Tensors are asked for by tokens of hidden rows, of which wider rows take several.
  result<void> make(buffer& memory, tokens pack, message_content content);

  /// Posts receives that stand before what this rank has to send or to exchange next: all, or those whose place has
  /// come before an instruction, or after it. Memory is put where it stays before a message may use it.
  result<void> post(std::size_t of, std::size_t transfer_script::end_of::*place);

  message_owner* owner_;
  any_transport* transport_;
  const stage_script* script_;
  bool in_plan_order_;  // transfers have a place
  bool is_rehearsal_;
  std::size_t next_{};                         // of the script's transfers
  std::vector<transfer_script::end_of> ends_;  // by instruction, where transfers have a place
  std::vector<transfer> expected_;
  // Of the running instruction:
  std::vector<buffer> inputs_;
  buffer output_;
  buffer gradients_made_, statistics_made_;  // of V on the last stage
  std::vector<std::span<const std::byte>> partials_;
  // On the last stage, by pack in run order:
  std::deque<buffer> hidden_rows_;  // from the last part's F to V
  std::deque<buffer> statistics_;   // from V to U
  std::unique_ptr<turned_rows> turned_;
  std::array<std::size_t, message_contents> width_;                  // bytes of a token, by content
  std::array<std::deque<transfer>, instruction_kinds.size()> sent_;  // by kind of the sender
  std::array<std::vector<buffer>, message_contents> free_;           // by content
  std::array<std::size_t, message_contents> made_{};                 // how many tensors, by content
};

}  // namespace slimpack::detail

/// What the messages of a stage run over before a step, to find out how much memory they need at once: no bytes move.
namespace slimpack::detail::rehearsal {

/// Where no transfer is through before somebody waits for it.
class transport final : public any_transport {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  [[nodiscard]] int number_of(int rank) const override { return rank; }
  [[nodiscard]] result<handle> send(int, int, std::span<const std::byte>) override { return handle{}; }
  [[nodiscard]] result<handle> receive(int, int, std::span<std::byte>) override { return handle{}; }
  [[nodiscard]] result<bool> test(handle) override { return false; }
  [[nodiscard]] result<void> wait(handle) override { return success(); }
  void abort(std::string_view) override {}
  [[nodiscard]] result<void> all_gather(std::span<const std::byte>, std::span<std::byte>) override { return success(); }
  [[nodiscard]] result<void> finish() override { return success(); }
  [[nodiscard]] bool keeps_plan_order() const noexcept override { return true; }
  [[nodiscard]] bool moves_device_memory() const noexcept override { return true; }
  void expect_points(std::size_t) override {}
  [[nodiscard]] result<void> point() override { return success(); }
  [[nodiscard]] result<std::vector<seconds>> times() override { return std::vector<seconds>{}; }
};

/// All tensors lie in the same place, which nobody touches.
class owner final : public message_owner {
 public:
  /// most: bytes of the largest tensor; width: of a token
  owner(std::size_t most, std::size_t width) : place_(new std::byte[most]), width_(width) {}

  [[nodiscard]] memory_block make(tokens size) override {
    // Each has an owner of its own, since messages count who has a tensor.
    return {std::make_shared<int>(), {place_.get(), static_cast<std::size_t>(size.value) * width_}};
  }
  [[nodiscard]] result<void> copy(std::span<const std::byte>, std::span<std::byte>) override { return success(); }
  [[nodiscard]] result<void> stand_by(std::size_t) override { return success(); }

 private:
  std::unique_ptr<std::byte[]> place_;
  std::size_t width_;
};

}  // namespace slimpack::detail::rehearsal

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/executors/impl/messages.ipp>
#endif

#endif
