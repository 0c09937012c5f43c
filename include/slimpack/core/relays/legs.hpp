#ifndef SLIMPACK_CORE_RELAYS_LEGS_HPP
#define SLIMPACK_CORE_RELAYS_LEGS_HPP

#include <cstdint>
#include <span>
#include <vector>

namespace slimpack {

/// How rows that go round the sharers of a sequence cross from one node to the next: in strands, one over the adapter
/// of each of several sharers. out[i] sends strand i to in[i]. The first of `out` has the rows and the first of `in`
/// gets them; all others are proxies, which hand on what is not theirs. So strand 0 has one leg, and each other three:
/// from the first of `out` to its proxy, across, and from that proxy to the first of `in`.
/// Shapes    out, in: as many each, at least two; nobody twice
/// Source    the routing of Zeppelin (arXiv:2509.21841); that its proxies are sharers of the same sequence is derived:
///           they are at the same rotation, so that each can post its legs there
struct relay {
  std::vector<std::uint32_t> out;  ///< replicas on the sender's node
  std::vector<std::uint32_t> in;   ///< replicas on the hearer's node
  std::uint32_t segments{1};       ///< of each strand, one behind the other: a leg may begin with one before it has the
                                   ///< next

  friend bool operator==(const relay&, const relay&) = default;
};

inline constexpr std::uint32_t most_segments = 4096;  ///< of a strand

/// What a leg does with its strand.
enum class leg_step : std::uint8_t {
  spread,  ///< to a proxy on the sender's node
  cross,   ///< to another node
  gather,  ///< from a proxy on the hearer's node
};

/// A transfer of one segment of a strand between two sharers.
struct leg {
  leg_step step{};
  std::uint32_t from{};
  std::uint32_t to{};
  std::uint32_t route{};  ///< which of its merge's relays
  std::uint32_t strand{};
  std::uint32_t segment{};
  std::uint32_t strands{1};   ///< that its relay has
  std::uint32_t segments{1};  ///< of each
  std::uint32_t sender{};     ///< whose rows it carries
  std::uint32_t hearer{};     ///< to whom

  friend bool operator==(const leg&, const leg&) = default;
};

/// All legs of relays in the one order in which each sharer posts those that it takes part in: segment by segment, what
/// was spread crosses while the next segment is spread; what has crossed is gathered at the end.
/// Law       of a segment of a strand: spread, then cross, then gather            Complexity  O(legs)
[[nodiscard]] inline std::vector<leg> legs_in_order(std::span<const relay> relays) {
  std::uint32_t most = 0;
  for (const relay& r : relays) most = r.segments < most ? most : r.segments;
  std::vector<leg> order;
  const auto add = [&](leg_step step, std::uint32_t segment) {
    for (std::uint32_t n = 0; n < relays.size(); ++n) {
      const relay& r = relays[n];
      if (segment >= r.segments) continue;
      for (std::uint32_t i = step == leg_step::cross ? 0 : 1; i < r.out.size(); ++i)
        order.push_back({step,
                         step == leg_step::spread  ? r.out.front()
                         : step == leg_step::cross ? r.out[i]
                                                   : r.in[i],
                         step == leg_step::spread  ? r.out[i]
                         : step == leg_step::cross ? r.in[i]
                                                   : r.in.front(),
                         n, i, segment, static_cast<std::uint32_t>(r.out.size()), r.segments, r.out.front(),
                         r.in.front()});
    }
  };
  for (std::uint32_t segment = 0; segment <= most; ++segment) {
    add(leg_step::spread, segment);
    if (segment > 0) add(leg_step::cross, segment - 1);
  }
  for (std::uint32_t segment = 0; segment < most; ++segment) add(leg_step::gather, segment);
  return order;
}

/// Rows [begin, end) of a parcel.
struct leg_rows {
  std::int64_t begin{};
  std::int64_t end{};
};

/// The rows of a leg's strand, and those of its segment of the strand. A parcel has `count` rows, which strands share
/// as evenly as whole rows let them.
[[nodiscard]] constexpr leg_rows strand_rows(const leg& l, std::int64_t count) noexcept {
  return {count * l.strand / l.strands, count * (l.strand + std::int64_t{1}) / l.strands};
}
[[nodiscard]] constexpr leg_rows rows_of(const leg& l, std::int64_t count) noexcept {
  const auto [begin, end] = strand_rows(l, count);
  return {begin + (end - begin) * l.segment / l.segments,
          begin + (end - begin) * (l.segment + std::int64_t{1}) / l.segments};
}

}  // namespace slimpack

#endif
