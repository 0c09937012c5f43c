#ifndef SLIMPACK_EXECUTORS_DETAIL_MESSAGES_CHECKED_TRANSPORT_HPP
#define SLIMPACK_EXECUTORS_DETAIL_MESSAGES_CHECKED_TRANSPORT_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/transports/detail/any_transport.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// A transport of host memory, behind each of whose messages goes another of 8 bytes with its checksum, on the same
/// channel. The checksum is of the bytes, and of who sends them to whom as which message of a channel: so one that is
/// cut short, changed, left out or exchanged for another is found by its receiver. What hooks of transports do by
/// themselves (all_gather) goes unchecked.
/// Errors    wrong_message: a receiver that has other bytes than their sender had; it names both, and what the message
///           is
/// Complexity of a message, one pass over its bytes on either side, and one message more
class checked_transport final : public any_transport {
 public:
  /// trainer_rank: packflow's; may be empty            Requires  both outlive it; every rank of a step has one of its
  /// own
  checked_transport(any_transport& under, const std::function<int(int)>& trainer_rank)
      : under_(&under), trainer_rank_(&trainer_rank) {}

  /// What checksums have taken on this rank.
  [[nodiscard]] seconds spent() const noexcept { return spent_; }

  [[nodiscard]] int rank() const override { return under_->rank(); }
  [[nodiscard]] int size() const override { return under_->size(); }
  [[nodiscard]] result<handle> send(int peer, int channel, std::span<const std::byte> data) override;
  [[nodiscard]] result<handle> receive(int peer, int channel, std::span<std::byte> data) override;
  [[nodiscard]] result<bool> test(handle h) override;
  [[nodiscard]] result<void> wait(handle h) override;
  void abort(std::string_view reason) override { under_->abort(reason); }

  [[nodiscard]] result<void> all_gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    return under_->all_gather(own, all);
  }
  [[nodiscard]] result<void> finish() override { return under_->finish(); }
  [[nodiscard]] bool keeps_plan_order() const noexcept override { return under_->keeps_plan_order(); }
  [[nodiscard]] bool moves_device_memory() const noexcept override { return under_->moves_device_memory(); }

  void expect_points(std::size_t count) override { under_->expect_points(count); }
  [[nodiscard]] result<void> point() override { return under_->point(); }
  [[nodiscard]] result<std::vector<seconds>> times() override { return under_->times(); }

 private:
  /// A message and its checksum on their way.
  struct pair {
    handle data, sum;
    bool data_is_through{}, sum_is_through{};
    std::span<const std::byte> received{};  // of a receiver
    bool receives{};
    int peer{}, channel{};
    std::uint64_t number{};    // of the messages from one rank to another on a channel
    std::uint64_t checksum{};  // as its sender says
  };
  using way = std::pair<int, int>;  // peer and channel

  [[nodiscard]] std::size_t opened();
  [[nodiscard]] std::string name(int rank) const;
  [[nodiscard]] std::uint64_t checksum_of(std::span<const std::byte> data, int from, int to, int channel,
                                          std::uint64_t number);
  /// Ends a pair that is through.
  [[nodiscard]] result<void> ended(std::size_t at);

  any_transport* under_;
  const std::function<int(int)>* trainer_rank_;
  std::deque<pair> pairs_;  // their checksums stay where they are
  std::vector<std::size_t> free_;
  std::map<way, std::uint64_t> sent_, received_;
  seconds spent_{};
};

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/executors/impl/checked_transport.ipp>
#endif

#endif
