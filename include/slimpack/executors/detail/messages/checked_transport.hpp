#ifndef SLIMPACK_EXECUTORS_DETAIL_MESSAGES_CHECKED_TRANSPORT_HPP
#define SLIMPACK_EXECUTORS_DETAIL_MESSAGES_CHECKED_TRANSPORT_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/transports/detail/any_transport.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// 64 bits of any bytes. Messages of one size that differ in one word of 8 bytes never agree in the lane of that word;
/// others, and those of another seed or size, agree with a probability near 2^-64.
/// Source    XXH64 (Y. Collet, xxHash), over words of the host's order, which both ends of a message have
/// Complexity O(bytes), four words at a time
[[nodiscard]] inline std::uint64_t checksum(std::span<const std::byte> data, std::uint64_t seed) noexcept {
  constexpr std::uint64_t p1 = 0x9E3779B185EBCA87, p2 = 0xC2B2AE3D27D4EB4F, p3 = 0x165667B19E3779F9,
                          p4 = 0x85EBCA77C2B2AE63, p5 = 0x27D4EB2F165667C5;
  const auto round = [](std::uint64_t lane, std::uint64_t word) { return std::rotl(lane + word * p2, 31) * p1; };
  const auto word_at = [&](std::size_t at) {
    std::uint64_t word;
    std::memcpy(&word, data.data() + at, sizeof(word));
    return word;
  };
  std::size_t at = 0;
  std::uint64_t sum = seed + p5;
  if (data.size() >= 32) {
    std::array<std::uint64_t, 4> lanes{seed + p1 + p2, seed + p2, seed, seed - p1};
    for (; at + 32 <= data.size(); at += 32)
      for (std::size_t k = 0; k < 4; ++k) lanes[k] = round(lanes[k], word_at(at + 8 * k));
    sum = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
    for (const std::uint64_t lane : lanes) sum = (sum ^ round(0, lane)) * p1 + p4;
  }
  sum += data.size();
  for (; at + 8 <= data.size(); at += 8) sum = std::rotl(sum ^ round(0, word_at(at)), 27) * p1 + p4;
  if (at + 4 <= data.size()) {
    std::uint32_t half;
    std::memcpy(&half, data.data() + at, sizeof(half));
    sum = std::rotl(sum ^ (half * p1), 23) * p2 + p3, at += 4;
  }
  for (; at < data.size(); ++at) sum = std::rotl(sum ^ (std::to_integer<std::uint64_t>(data[at]) * p5), 11) * p1;
  sum = (sum ^ (sum >> 33)) * p2;
  sum = (sum ^ (sum >> 29)) * p3;
  return sum ^ (sum >> 32);
}

/// A transport of host memory, behind each of whose messages goes another of 8 bytes with its checksum, on the same
/// channel. The checksum is of the bytes, and of who sends them to whom as which message of a channel: so one that is
/// cut short, changed, left out or exchanged for another is found by its receiver. What hooks of transports do by
/// themselves (all_gather) goes unchecked.
/// Errors    wrong_message: a receiver that has other bytes than their sender had; it names both, and what the message
///           is
/// Complexity of a message, one pass over its bytes on either side, and one message more
class checked_transport final : public any_transport {
 public:
  /// Requires  `under` outlives it; every rank of a step has one of its own
  explicit checked_transport(any_transport& under) : under_(&under) {}

  /// What checksums have taken on this rank.
  [[nodiscard]] seconds spent() const noexcept { return spent_; }

  [[nodiscard]] int rank() const override { return under_->rank(); }
  [[nodiscard]] int size() const override { return under_->size(); }
  [[nodiscard]] int number_of(int rank) const override { return under_->number_of(rank); }
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
