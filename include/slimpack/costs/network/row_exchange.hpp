#ifndef SLIMPACK_COSTS_NETWORK_ROW_EXCHANGE_HPP
#define SLIMPACK_COSTS_NETWORK_ROW_EXCHANGE_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/memory/memory.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/mixer.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/network/network.hpp>
#include <slimpack/costs/network/placement.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::costs {

/// What a transfer between nodes takes that goes in x strands over as many adapters (core/merge.hpp).
/// Formula   of V bytes in n segments: a = V (x - 1) / (x n inside) that the sender's link carries to its proxies, or
///           the hearer's from its own, b = V / (x n between) that each adapter carries. The first segment takes a + b
///           + a, and each of the others follows after the longest of these:
///             2 latency inside + latency between + 2 a + b + (n - 1) max(a, b)
///           With one segment the legs run one after the other
/// Source    Zeppelin (arXiv:2509.21841), its routing: b n becomes b_intra n (x - 1) / x + b_inter n / x + b_intra n (x
///           - 1) / x; the form for several segments is derived: three legs are the stages of a pipeline
/// Units     bytes in, seconds out            Errors    none
struct relayed_transfer {
  seconds inside;   ///< a: a segment, to all proxies of a node or from them
  seconds between;  ///< b: a segment of a strand
  seconds latency;  ///< of the three legs together
  int segments{1};

  /// abreast: so many neighbouring ranks send at the same time, each its own transfer
  /// Requires  strands >= 2, segments >= 1            Complexity  that of network
  [[nodiscard]] static relayed_transfer of(const network& net, bytes size, int strands, int segments, int abreast = 1) {
    const placement& place = net.place();
    const rank_group inside{2, 1, place.island < place.gpus_per_node ? 2 : 1}, between{2, 2, 2};
    const seconds near = net.send_receive(inside, {}), far = net.send_receive(between, {});
    const double part = 1.0 / strands / segments;
    return {net.send_receive(inside, size * ((strands - 1) * part)) - near,
            net.send_receive(between, size * part, abreast) - far, near * 2 + far, segments};
  }

  [[nodiscard]] constexpr seconds flow() const noexcept {
    return inside * 2 + between + std::max(inside, between) * (segments - 1.0);
  }
  [[nodiscard]] constexpr seconds time() const noexcept { return latency + flow(); }
};

/// What a replica waits for while it exchanges a row with those that share it, beside what it computes meanwhile: over
/// the slowest link between two of m sharers, in m - 1 rounds in each of which everybody sends to one and hears one.
/// Formula   keep     (m - 1) latency + bytes / bandwidth in each layer, the bytes those that it sends or those that it
///                    receives, whichever are more, less the attention of its tokens to what lies before the row, which
///                    is there already: 2 e bytes for a token's e key and value elements forward, 4 e for their
///                    gradients backward, which are added up in fp32
///           ring     (m - 1) (latency + max(0, rows - attention / m)) in each layer, rows being 2 e k / m bytes for
///                    the k keys up to the row's end; backward also m (latency + sums), the gradients of these keys, 4
///                    e k / m bytes, which wait for what each sharer adds, and come home
///           queries  the same, forward and backward, with rows of 2 q n bytes for q query elements of the replica's
///                    own n tokens and sums of 4 o n for o output elements; backward rows of 2 (q + o) n, queries and
///                    gradients of outputs, and sums of 4 q n, gradients of queries
///           Where attention is computed again, ring and queries go round as in forward again, too; what is kept is
///           there. All of it `exposed` times, since compute waits (costs::slowdown)
///           Windows and chunks of R tokens send less: a sharer has two runs of a row, before each of which its queries
///           see at most R - 1 keys, so of k tokens that travel as keys no more than 2 (R - 1) do. A state passes
///           through the 2 m runs of a row one after the other, 2 m - 1 handovers of it in each layer that has one,
///           beside what each run computes from no state; derived
///           A handover between nodes that is relayed (core/merge.hpp) takes costs::relayed_transfer's time, its
///           latencies among them, and no attention covers its legs inside nodes: all segments are spread before it,
///           and gathered after it, so that these legs do not overlap either. A round takes at least what its other
///           handovers do: those between nodes that are not relayed, and those of a proxy inside its node, beside a
///           strand
/// Source    keep: derived; it hides as soon as the part before the row is long enough. Ring attention
///           (arXiv:2310.01889), which covers a handover by the attention to what the last one brought; queries that
///           travel instead of a long prefix, Yang et al. (arXiv:2411.01783); what travels when is sharing::rotate's
///           (executors/sharing.hpp). Relays: costs::relayed_transfer
/// Units     tokens in, seconds out            Errors    none            Complexity  that of network
class row_exchange {
 public:
  /// layers: on each part; exposed: by how much communication that is waited for slows down in a step (costs::slowdown)
  row_exchange(const model_shape& model, const shape& on, std::span<const int> layers, recompute what, network net,
               double exposed = 1)
      : net_(std::move(net)), shape_(on), exposed_(exposed) {
    const double ratio = net_.device().backward_attention_ratio;
    const bool again = repeats_attention(what);
    int next = 0;
    for (const int count : layers) {
      double keys = 0, queries = 0, outputs = 0;
      layers_of_part made{};
      for (const int end = next + count; next < end; ++next) {
        const layer l = layer::of(model, model.kind(next), on.tensor);
        if (l.state_bytes > 0) {
          made.states += 1, made.state_bytes += l.state_bytes;
          continue;
        }
        keys += l.kv_elements, queries += l.query, outputs += l.output;
        made.layers += l.kv_elements > 0 ? 1 : 0;
        if (l.span.reach > 0 && l.span.how != mixing::top_k) made.near.push_back({l.span.reach, l.kv_elements});
      }
      for (auto& [reach, share] : made.near) share = share / keys;
      const double bytes_of_one = 2.0 / on.context / std::max(made.layers, 1.0);  // of a layer, for one GPU
      const round forward{{bytes_of_one * keys, 0}, {bytes_of_one * queries, bytes_of_one * 2 * outputs}, 1};
      const round backward{{bytes_of_one * keys, bytes_of_one * 2 * keys},
                           {bytes_of_one * (queries + outputs), bytes_of_one * 2 * queries},
                           1};
      made.kept = {forward.key.rows, backward.key.sums};
      made.rounds = {{forward}, {backward}};
      if (again) {
        made.rounds.backward.push_back(forward);
        made.rounds.backward[0].attention = ratio / (ratio + 1);
        made.rounds.backward[1].attention = 1 / (ratio + 1);
      }
      parts_.push_back(std::move(made));
    }
  }

  /// attention: what the replica's own slices of the row take for it in this pass
  [[nodiscard]] seconds operator()(const shared_row& row, std::span<const slice> mine, seconds attention, pass p,
                                   int part) const {
    double own = 0, pairs = 0;
    for (const slice& s : mine) own += static_cast<double>(s.length.value), pairs += s.pairs();
    const layers_of_part& of = parts_[static_cast<std::size_t>(part)];
    const auto sharers = static_cast<double>(row.sharers.size());
    const rank_group between = net_.place().between(shape_, row.sharers, part % shape_.stages);
    const seconds states = passed(of, between, sharers);
    if (of.layers == 0) return states;
    if (row.exchange == exchange::keep) {
      const auto most = static_cast<double>(std::max(row.others, row.sent).value);
      if (most == 0) return states;
      const handover one = direct(between, {of.kept[p] * of.seen(most)});
      const seconds latency = one.latency, flow = one.flow;
      const double share = own * static_cast<double>(row.begin.value) / pairs;  // of the attention, to what lies before
      const seconds before = attention * (share * of.rounds[p].front().attention);
      return std::max(seconds{}, (latency * (sharers - 1) + flow) * of.layers - before) * exposed_ + states;
    }
    const bool is_ring = row.exchange == exchange::ring;
    const double held = is_ring ? of.seen(static_cast<double>(row.end.value) / sharers) : own;  // tokens of a parcel
    const bool is_relayed = !row.relays.empty() && between.nodes > 1;
    const bool has_direct = is_relayed && crosses_directly(row, part % shape_.stages);
    const auto hop_of = [&](double size) {
      return is_relayed ? relayed(row, between, has_direct, {size}) : direct(between, {size});
    };
    seconds all{};
    for (const round& r : of.rounds[p]) {
      const parcel_bytes& each = is_ring ? r.key : r.query;
      const handover rows = hop_of(each.rows * held);
      all += (rows.latency * of.layers +
              std::max(rows.bare * of.layers, rows.flow * of.layers - attention * (r.attention / sharers))) *
             (sharers - 1);
      if (each.sums > 0) all += hop_of(each.sums * held).time * (of.layers * sharers);
    }
    return all * exposed_ + states;
  }
  /// Whether two parts answer alike, whichever replicas share.            Complexity  O(replicas)
  [[nodiscard]] bool alike(int part, int other) const {
    return parts_[static_cast<std::size_t>(part)] == parts_[static_cast<std::size_t>(other)] &&
           net_.place().alike(shape_, part % shape_.stages, other % shape_.stages);
  }

 private:
  struct parcel_bytes {
    double rows{};  // bytes of a token in a layer
    double sums{};  // that wait for what each sharer adds
    friend constexpr bool operator==(const parcel_bytes&, const parcel_bytes&) = default;
  };
  struct round {
    parcel_bytes key;    // of its keys and values, and their gradients
    parcel_bytes query;  // of its queries, and outputs or gradients of queries
    double attention{};  // that runs with it, of the pass's
    friend constexpr bool operator==(const round&, const round&) = default;
  };
  /// A round of transfers between neighbours, and which part of it no attention covers.
  struct handover {
    seconds latency;
    seconds flow;
    seconds time;    // both
    seconds bare{};  // of the flow, what none covers in any case
  };
  [[nodiscard]] int abreast() const noexcept { return shape_.tensor * shape_.context; }
  [[nodiscard]] handover direct(const rank_group& between, bytes size) const {
    const seconds latency = net_.send_receive(between, {});
    const seconds time = net_.send_receive(between, size, abreast());
    return {latency, time - latency, time};
  }
  /// The longest of those that go round at the same time.
  [[nodiscard]] handover relayed(const shared_row& row, const rank_group& between, bool has_direct, bytes size) const {
    handover longest = has_direct ? direct(between, size) : handover{};
    const auto add = [&](const handover& one) {
      if (one.time > longest.time) longest = one;
    };
    for (const relay& r : row.relays) {
      const auto strands = static_cast<int>(r.out.size());
      const relayed_transfer one = relayed_transfer::of(net_, size, strands, static_cast<int>(r.segments), abreast());
      const seconds bare = one.inside * (2.0 * one.segments), flow = std::max(one.flow(), bare);
      add({one.latency, flow, one.latency + flow, bare});
      add(direct({2, 1, std::min(between.islands, 2)}, size * (1 + 1.0 / strands)));
    }
    return longest;
  }
  /// Whether some handover of the ring leaves its node without a relay.            Complexity  O(sharers * relays)
  [[nodiscard]] bool crosses_directly(const shared_row& row, int stage) const {
    for (std::size_t k = 0; k < row.sharers.size(); ++k) {
      const std::uint32_t from = row.sharers[k], to = row.sharers[(k + 1) % row.sharers.size()];
      const auto is_of_it = [&](const relay& r) { return r.out.front() == from; };
      const std::uint32_t both[]{std::min(from, to), std::max(from, to)};
      if (net_.place().between(shape_, both, stage).nodes > 1 &&
          std::none_of(row.relays.begin(), row.relays.end(), is_of_it))
        return true;
    }
    return false;
  }

  struct layers_of_part {
    double layers{};                                    // with attention
    std::vector<std::pair<std::int64_t, double>> near;  // reach of windows and chunks, and their share of key bytes
    double states{}, state_bytes{};                     // layers with a state, and bytes of all of these
    by_pass<double> kept;  // bytes of a token's keys and values in a layer, or of their gradients
    by_pass<std::vector<round>> rounds;

    /// Of so many tokens that travel as keys, how many do in the mean over bytes.
    [[nodiscard]] double seen(double all) const noexcept {
      double less = 0;
      for (const auto& [reach, share] : near) less += share * std::max(0.0, all - 2 * static_cast<double>(reach - 1));
      return all - less;
    }
    friend bool operator==(const layers_of_part&, const layers_of_part&) = default;
  };

  /// States through the runs of a row.
  [[nodiscard]] seconds passed(const layers_of_part& of, const rank_group& between, double sharers) const {
    if (of.states == 0) return {};
    return direct(between, {of.state_bytes / of.states}).time * (of.states * (2 * sharers - 1)) * exposed_;
  }

  network net_;
  shape shape_;
  double exposed_;
  std::vector<layers_of_part> parts_;
};

}  // namespace slimpack::costs

#endif
