#ifndef SLIMPACK_COSTS_NETWORK_NETWORK_HPP
#define SLIMPACK_COSTS_NETWORK_NETWORK_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/costs/kernels/origin.hpp>
#include <slimpack/costs/model/gpu.hpp>
#include <slimpack/costs/network/collective.hpp>
#include <slimpack/costs/network/collective_table.hpp>
#include <slimpack/costs/network/placement.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::costs {

/// What messages and collectives cost on nodes of GPUs, each alone on the machine: traffic.hpp has what they cost in
/// training, and of which size they are there.
///
/// The first that knows answers:
///   1. a table of the operation (costs::collective_table), by where the group is: in an island, a node, across nodes;
///   2. a table of another operation there, at equal bytes on the wire: rings reach one bus bandwidth in all.
///      Across nodes it takes at least what the ranks of one node would take;
///   3. the links of costs::gpu: t = latency + bytes on the wire / bandwidth. Across nodes the latency is a tree's,
///      ceil(log2 nodes) between and one inside; rings go through all nodes, so k ranks of a node share its adapters,
///      one each as long as there are so many, and as long as the links inside keep up: bandwidth = min(inside, k
///      between). A message, and each message of an all-to-all, uses one adapter; GPUs that share one share its
///      bandwidth.
///
/// Source    alpha-beta model; ring volumes of NCCL (costs::collective); 2 and the sums over nodes are derived
/// Units     bytes as NCCL's tests count them in, seconds out
/// Law       time does not fall with size; a group of one rank takes no time
class network {
 public:
  /// Links of the GPU only.
  explicit network(gpu device) : device_(std::move(device)), place_{device_.gpus_per_node, device_.gpus_per_node} {}

  /// Links, and what was measured on this kind of GPU. The links say which machine is meant: measurements inside a
  /// node, or across nodes, whose bandwidth is more than a factor of 2 off the link's are of another kind of box or
  /// cluster, and left out with a note. Samples that name another `gpu` or `node` are another collection; of those that
  /// know an operation, the one with the least noise answers.
  /// Of an operation and ranks with times of one size only, nothing follows for others: left out, too.
  /// Errors    those of collective_table::make            Complexity  O(samples log samples)
  [[nodiscard]] static result<network> make(gpu device, std::span<const collective_sample> samples) {
    network made(std::move(device));
    std::map<std::pair<std::string, std::string>, std::size_t> known;  // places of collections, in order of appearance
    std::vector<std::vector<collective_sample>> collections;
    for (const collective_sample& s : made.of_several_sizes(samples)) {
      const auto [at, fresh] = known.try_emplace({s.gpu, s.node}, collections.size());
      if (fresh) collections.emplace_back();
      collections[at->second].push_back(s);
    }
    for (std::vector<collective_sample>& own : collections)
      if (std::optional<error> wrong = made.add(std::move(own))) return std::move(*wrong);
    std::stable_sort(made.tables_.begin(), made.tables_.end(),
                     [](const collective_table& a, const collective_table& b) { return a.noise() < b.noise(); });
    return made;
  }

  /// Which measurements were left out, and why.
  [[nodiscard]] std::span<const std::string> notes() const noexcept { return notes_; }
  [[nodiscard]] bool measured() const noexcept { return !tables_.empty(); }
  /// Whether a measurement was taken, one of those that the network was made from.
  [[nodiscard]] bool uses(const collective_sample& s) const { return used_.contains(key_of(s)); }
  [[nodiscard]] const gpu& device() const noexcept { return device_; }
  [[nodiscard]] const placement& place() const noexcept { return place_; }
  /// abreast: so many neighbouring ranks send at the same time, and share adapters where a node has fewer than GPUs
  [[nodiscard]] link link_of(const rank_group& group, int abreast = 1) const noexcept {
    if (group.nodes < 2) return device_.inside;
    return {device_.between.latency, device_.between.bandwidth / crowd(abreast)};
  }

  [[nodiscard]] seconds send_receive(const rank_group& group, bytes message, int abreast = 1) const {
    return time(collective::send_receive, group, group.nodes < 2 ? message : message * crowd(abreast));
  }
  [[nodiscard]] seconds all_reduce(const rank_group& group, bytes buffer) const {
    return time(collective::all_reduce, group, buffer);
  }
  [[nodiscard]] seconds all_gather(const rank_group& group, bytes gathered) const {
    return time(collective::all_gather, group, gathered);
  }
  [[nodiscard]] seconds reduce_scatter(const rank_group& group, bytes input) const {
    return time(collective::reduce_scatter, group, input);
  }
  /// `between`: of what goes to other nodes, the share that crosses. Below 1 where what several ranks of a node want
  /// crosses once and is handed on inside by the rank that got it: by the links, since tables know no such operation.
  [[nodiscard]] seconds all_to_all(const rank_group& group, bytes sent, double between = 1) const {
    if (group.nodes < 2 || between >= 1) return time(collective::all_to_all, group, sent);
    const double on_a_node = static_cast<double>(group.ranks) / group.nodes;
    const double shared = on_a_node / adapters_of(on_a_node);
    return crossing(group, sent.value * (on_a_node - 1) / on_a_node,
                    sent.value * between * (group.nodes - 1.0) / group.nodes * shared);
  }
  [[nodiscard]] seconds time(collective op, const rank_group& group, bytes size) const {
    return answered(op, group, size).time;
  }
  [[nodiscard]] origin source(collective op, const rank_group& group, bytes size) const {
    return answered(op, group, size).source;
  }

 private:
  using answer = collective_table::answer;

  /// Takes the measurements of one collection that are of this machine.
  [[nodiscard]] std::optional<error> add(std::vector<collective_sample> own) {
    for (const bool across : {false, true}) {
      if (own.empty()) return std::nullopt;
      const result<collective_table> table = collective_table::make(own);
      if (!table) return table.error();
      const link& wire = across ? device_.between : device_.inside;
      const std::optional<collective_table::peak> most = table.value().bandwidth(across);
      // Small sizes tell latencies, not bandwidths.
      if (!most || most->wire.value / wire.bandwidth <= wire.latency.value) continue;
      if (most->bandwidth <= 2 * wire.bandwidth && wire.bandwidth <= 2 * most->bandwidth) continue;
      const std::string where = across ? " across nodes" : " inside a node";
      notes_.push_back("collectives of " + own.front().gpu + (own.front().node.empty() ? "" : " ") + own.front().node +
                       where + " left out: " + in_gigabytes(most->bandwidth) + " a GPU, while the link of " +
                       device_.name + " has " + in_gigabytes(wire.bandwidth) + "; describe that link to use them");
      std::erase_if(own, [&](const collective_sample& s) { return (s.ranks > s.ranks_per_node) == across; });
    }
    if (own.empty()) return std::nullopt;
    result<collective_table> table = collective_table::make(own);
    if (!table) return std::move(table).error();
    place_.island = std::min(place_.island, table.value().island().value_or(place_.island));
    tables_.push_back(std::move(table).value());
    for (const collective_sample& s : own) used_.insert(key_of(s));
    return std::nullopt;
  }

  /// What samples of a curve have in common.
  using curve_key = std::tuple<std::string, std::string, collective, int, int>;
  static curve_key key_of(const collective_sample& s) { return {s.gpu, s.node, s.op, s.ranks, s.ranks_per_node}; }

  /// The samples without those that are alone with their size; each such group is noted once.
  [[nodiscard]] std::vector<collective_sample> of_several_sizes(std::span<const collective_sample> samples) {
    struct sizes {
      bytes first;
      bool several{};
      bool noted{};
    };
    std::map<curve_key, sizes> groups;
    for (const collective_sample& s : samples) {
      sizes& of = groups.try_emplace(key_of(s), sizes{s.size}).first->second;
      of.several = of.several || s.size != of.first;
    }
    std::vector<collective_sample> kept;
    for (const collective_sample& s : samples) {
      sizes& of = groups.at(key_of(s));
      if (of.several) {
        kept.push_back(s);
      } else if (!std::exchange(of.noted, true)) {
        notes_.push_back(std::string(name_of(s.op)) + " of " + std::to_string(s.ranks) + " ranks on " + s.gpu +
                         ": times of one size only say nothing of others, left out");
      }
    }
    return kept;
  }
  static std::string in_gigabytes(double bandwidth) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g GB/s", bandwidth / 1e9);
    return text;
  }

  [[nodiscard]] answer answered(collective op, const rank_group& group, bytes size) const {
    if (group.ranks < 2) return {{}, origin::measured};
    for (const collective_table& table : tables_)
      if (const std::optional<answer> known = table(op, group, size)) return *known;
    // An all-to-all across nodes is no ring: each rank has its own adapter for what it sends to other nodes.
    if (op == collective::all_to_all && group.nodes > 1) return {modelled(op, group, size), origin::modelled};
    for (const collective other : {collective::all_gather, collective::reduce_scatter, collective::all_reduce,
                                   collective::all_to_all, collective::send_receive}) {
      const bytes alike = size * (traffic_per_byte(op, group.ranks) / traffic_per_byte(other, group.ranks));
      for (const collective_table& table : tables_)
        if (const std::optional<answer> known = table(other, group, alike))
          return {std::max(known->time, within_a_node(op, group, size)), origin::derived};
    }
    return {modelled(op, group, size), origin::modelled};
  }

  [[nodiscard]] seconds within_a_node(collective op, const rank_group& group, bytes size) const {
    return group.nodes > 1 ? time(op, place_.adjacent(group.ranks / group.nodes), size) : seconds{};
  }

  [[nodiscard]] seconds modelled(collective op, const rank_group& group, bytes size) const {
    const link& inside = device_.inside;
    const link& between = device_.between;
    const double ranks = group.ranks;
    const double on_a_node = ranks / group.nodes;
    const double wire = size.value * traffic_per_byte(op, group.ranks);
    if (group.nodes == 1) return {inside.latency.value + wire / inside.bandwidth};
    if (op == collective::send_receive) return {latency_of(group) + wire / between.bandwidth};
    if (op == collective::all_to_all)
      return crossing(group, size.value * (on_a_node - 1) / ranks,
                      size.value * (ranks - on_a_node) / ranks * (on_a_node / adapters_of(on_a_node)));
    return {latency_of(group) + wire / std::min(inside.bandwidth, adapters_of(on_a_node) * between.bandwidth)};
  }
  /// Adapters that ranks of a node have between them: one each, as long as there are so many.
  [[nodiscard]] double adapters_of(double on_a_node) const noexcept {
    return std::min(on_a_node, static_cast<double>(device_.adapters()));
  }
  /// How many of so many neighbouring GPUs share an adapter.
  [[nodiscard]] double crowd(int abreast) const noexcept {
    const int of_one = device_.gpus_per_node / device_.adapters();
    const int used = std::max(1, std::min((abreast + of_one - 1) / of_one, device_.adapters()));
    return std::max(1.0, static_cast<double>(std::min(abreast, device_.gpus_per_node)) / used);
  }
  /// Of a group on several nodes.
  [[nodiscard]] double latency_of(const rank_group& group) const {
    return device_.between.latency.value * std::bit_width(static_cast<unsigned>(group.nodes - 1)) +
           (group.ranks > group.nodes ? device_.inside.latency.value : 0);
  }
  /// Bytes of a rank that go to others of its node and to other nodes, at the same time.
  [[nodiscard]] seconds crossing(const rank_group& group, double inside, double between) const {
    return {latency_of(group) + std::max(inside / device_.inside.bandwidth, between / device_.between.bandwidth)};
  }

  gpu device_;
  placement place_;
  std::vector<collective_table> tables_;
  std::vector<std::string> notes_;
  std::set<curve_key> used_;
};

}  // namespace slimpack::costs

#endif
