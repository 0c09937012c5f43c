#ifndef SLIMPACK_EXECUTORS_DETAIL_MESSAGES_CHECKSUM_HPP
#define SLIMPACK_EXECUTORS_DETAIL_MESSAGES_CHECKSUM_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

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

}  // namespace slimpack::detail

#endif
