#ifndef SLIMPACK_EXAMPLES_CHECK_DEVICE_LINKS_HPP
#define SLIMPACK_EXAMPLES_CHECK_DEVICE_LINKS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/transports/gathered.hpp>
#include <slimpack/transports/hooks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// Laws of a transport of device memory between all ranks of a cluster, and what each of its links takes.
namespace check_device {

/// What a message takes between two ranks, by size: half a round trip.
struct link {
  int from, to;
  bool one_node;
  std::vector<slimpack::seconds> times{};
};

/// 1 byte, then 1 KiB and each four times the one before.
inline std::vector<std::size_t> sizes_up_to(std::size_t largest) {
  std::vector<std::size_t> sizes{1};
  for (std::size_t size = 1024; size <= largest; size *= 4) sizes.push_back(size);
  return sizes;
}

/// Measures one link after the other, by the clock of the first rank's device. Every rank calls it, and gets them all.
template <class Transport>
class link_trial {
  using memory = typename std::remove_cvref_t<decltype(std::declval<Transport&>().device())>::memory;

 public:
  static constexpr int warm_up = 2, round_trips = 10, batches = 5;

  /// node: the same number on all ranks of a node
  /// Errors   those of transport and device
  static slimpack::result<std::vector<link>> all(Transport& t, int node, std::span<const std::size_t> sizes) {
    const slimpack::result<std::vector<int>> told = slimpack::gathered(t, node);
    if (!told) return told.error();
    const std::vector<int>& nodes = told.value();
    auto out = t.device().allocate(sizes.back()), in = t.device().allocate(sizes.back());
    if (!out) return std::move(out).error();
    if (!in) return std::move(in).error();
    link_trial trial(t, std::move(out).value(), std::move(in).value());
    std::vector<link> links;
    for (int from = 0; from < t.size(); ++from)
      for (int to = from + 1; to < t.size(); ++to) {
        link& one = links.emplace_back(
            link{from, to, nodes[static_cast<std::size_t>(from)] == nodes[static_cast<std::size_t>(to)]});
        if (auto measured = trial.measure(one, sizes); !measured) return std::move(measured).error();
      }
    return links;
  }

 private:
  link_trial(Transport& t, memory out, memory in) : t_(t), out_(std::move(out)), in_(std::move(in)) {}

  slimpack::result<void> measure(link& one, std::span<const std::size_t> sizes) {
    one.times.assign(sizes.size(), {});
    for (std::size_t i = 0; i < sizes.size() && (t_.rank() == one.from || t_.rank() == one.to); ++i) {
      if (auto warm = round_trip_of(one, sizes[i], warm_up); !warm) return std::move(warm).error();
      std::vector<slimpack::seconds> batch;
      for (int b = 0; b < batches; ++b) {
        const auto took = round_trip_of(one, sizes[i], round_trips);
        if (!took) return took.error();
        batch.push_back(took.value() * .5);
      }
      std::nth_element(batch.begin(), batch.begin() + batches / 2, batch.end());
      one.times[i] = batch[batches / 2];
    }
    // Others hear of it; the next link begins when all have.
    const auto told = slimpack::gathered(t_, std::span<const slimpack::seconds>(one.times));
    if (!told) return told.error();
    std::copy_n(told.value().begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(one.from) * sizes.size()),
                sizes.size(), one.times.begin());
    return slimpack::success();
  }

  /// As pipelines do it: forward messages one way, backward messages the other.
  slimpack::result<slimpack::seconds> round_trip_of(const link& one, std::size_t size, int times) {
    const bool is_first = t_.rank() == one.from;
    const int peer = is_first ? one.to : one.from;
    const int there = slimpack::channel_of(slimpack::traffic::forward, 1),
              back = slimpack::channel_of(slimpack::traffic::backward, 1);
    const auto begin = t_.mark();
    if (!begin) return begin.error();
    for (int i = 0; i < times; ++i)
      for (const bool sends : {is_first, !is_first}) {
        auto posted = sends ? t_.send(peer, is_first ? there : back, as_span(out_).first(size))
                            : t_.receive(peer, is_first ? back : there, as_span(in_).first(size));
        if (!posted) return std::move(posted).error();
        if (auto ordered = t_.wait(posted.value()); !ordered) return std::move(ordered).error();
      }
    const auto end = t_.mark();
    if (!end) return end.error();
    if (auto ended = t_.finish(); !ended) return std::move(ended).error();
    const auto took = t_.between(begin.value(), end.value());
    if (!took) return took.error();
    return took.value() * (1. / times);
  }

  Transport& t_;
  memory out_, in_;
};

/// A line for people.
inline std::string told(const link& one, std::span<const std::size_t> sizes) {
  char text[160];
  std::snprintf(text, sizeof text, "ranks %3d and %3d, %s: latency %8.2f us, %8.2f GB/s at %zu bytes\n", one.from,
                one.to, one.one_node ? "one node " : "two nodes", 1e6 * one.times.front().value,
                1e-9 * static_cast<double>(sizes.back()) / one.times.back().value, sizes.back());
  return text;
}

/// What `slimpack-plan --cost profiled:DIR` reads of links (io/profile_table.hpp), with the ranks beside it.
inline std::string profile_table(std::span<const link> links, std::span<const std::size_t> sizes,
                                 const std::string& gpu) {
  std::string table = "gpu,op,gpus,gpus_per_node,bytes,ms,from,to\n";
  for (const link& one : links)
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      char row[128];
      std::snprintf(row, sizeof row, ",send_recv,2,%d,%zu,%.6g,%d,%d\n", one.one_node ? 2 : 1, sizes[i],
                    1e3 * one.times[i].value, one.from, one.to);
      table += gpu + row;
    }
  return table;
}

}  // namespace check_device

#endif
