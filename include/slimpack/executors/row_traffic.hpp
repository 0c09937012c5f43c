#ifndef SLIMPACK_EXECUTORS_ROW_TRAFFIC_HPP
#define SLIMPACK_EXECUTORS_ROW_TRAFFIC_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/soundness/detail/sound_packs.hpp>
#include <slimpack/executors/detail/shared/shared_sequences.hpp>
#include <slimpack/executors/sharing.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace slimpack::executors {

/// What a rank sends to those that share sequences with it, in one step.
struct row_traffic {
  by_pass<std::int64_t> messages;
  by_pass<std::int64_t> bytes;
  friend constexpr bool operator==(const row_traffic&, const row_traffic&) = default;
};

/// What a rank of the plan will send, to the byte.
/// Formula   forward: in each layer, to each other sharer, keys and values of the rank's tokens of the row that come
///           before that sharer's last token; backward: to each owner, the gradients of those of its tokens of the row
///           that come before this rank's last token. So at most m (m - 1) messages a row, layer and pass of m sharers.
///           Where rows go round: in each layer rows of all parcels but the next sharer's, m - 1 messages, and sums of
///           all, m messages; where proxies carry them, the legs that the rank sends instead, its own and a proxy's
/// Shapes    chunks: the format of each chunk of the rank's stage
/// Requires  as stage plans are: rank = replica * stages + stage
/// Errors    invalid_input: a rank that the plan has not, packs that are not sound (core/soundness/is_sound.hpp)
/// Source    derived            Complexity  O(rows * sharers * slices of a pack), and that of asking
[[nodiscard]] inline result<row_traffic> row_traffic_of(const plan& p, int rank, std::span<const row_format> chunks) {
  if (p.shape.stages < 1 || rank < 0 || static_cast<std::size_t>(rank / p.shape.stages) >= p.replicas.size())
    return error{errc::invalid_input, "the plan has no rank " + std::to_string(rank)};
  if (const result<void> packs = slimpack::detail::sound_packs(p, slimpack::detail::extent::listed); !packs)
    return packs.error();
  const slimpack::detail::shared_sequences shared(p, static_cast<std::uint32_t>(rank / p.shape.stages));
  row_traffic sum;
  for (const slimpack::detail::shared_sequence& s : shared.all())
    for (const pass way : both_passes)
      for (const slimpack::detail::row_part& row : s.rows[way])
        for (const row_format& f : chunks) {
          const auto add = [&](std::int64_t tokens_sent, const message_format& one) {
            const auto bytes_sent = tokens_sent * static_cast<std::int64_t>(one.bytes_per_token());
            sum.messages[way] += bytes_sent > 0 ? f.layers : 0;
            sum.bytes[way] += f.layers * bytes_sent;
          };
          if (s.exchange == exchange::keep) {
            std::vector<std::int64_t> to(s.sharers.size());  // tokens, per sharer
            if (way == pass::forward) to = row.sent;
            for (std::size_t i = 0; i < row.others.size() && way == pass::backward; ++i)
              to[row.owner[i]] += row.others[i].length.value;
            for (const std::int64_t n : to) add(n, f.kept(way));
          }
          for (std::size_t hop = 1; hop <= row.parcels.size(); ++hop) {
            const parcel_format& round = f.going_round(s.exchange, way);
            const auto add_both = [&](std::int64_t tokens_sent) {
              if (hop < row.parcels.size()) add(tokens_sent, round.rows);
              add(tokens_sent, round.sums);
            };
            const auto held_by = [&](std::size_t k) {
              std::int64_t held = 0;
              for (const slice& one : row.parcels[s.owner_in(k, hop - 1)]) held += one.length.value;
              return held;
            };
            const std::uint32_t own = s.sharers[s.self];
            if (!s.sends_in_legs(own)) add_both(held_by(s.self));
            for (const leg& l : s.legs) {
              if (l.from != own) continue;
              const leg_rows rows = rows_of(l, held_by(s.place_of(l.sender)));
              add_both(rows.end - rows.begin);
            }
          }
        }
  return sum;
}

}  // namespace slimpack::executors

#endif
