#ifndef SLIMPACK_EXAMPLES_TRAIN_CALIBRATION_HPP
#define SLIMPACK_EXAMPLES_TRAIN_CALIBRATION_HPP

#include "median.hpp"
#include "model/layer_range.hpp"
#include "model/parameters.hpp"
#include "model/vocabulary_share.hpp"
#include "probe.hpp"

#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/costs/profiled.hpp>
#include <slimpack/costs/reduction.hpp>
#include <slimpack/costs/vocabulary_rates.hpp>
#include <slimpack/transports/hooks.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace train {

/// Measures what the planner has to know, with the ranks and the transport that will train: slices of each part, packs,
/// messages, and the gradient reduction. All ranks compute at the same time, since they share a machine's memory and
/// heat in training, too; then each gets the times of all, so that every rank has the same cost model.
///
/// A pack's own time is what joining k short slices saves: (k time of one - time of k) / (k - 1). The time of a slice
/// is its share of its pack less this. Weight gradients that may run apart are timed in a call of their own; what a token
/// takes of them is the least of any pack, and no more than 9 tenths of any backward. A message's time is half of its way there and back, at two sizes. Source derived
/// Of the calls of a spread vocabulary two sizes of packs are timed, and each takes as long as on the slowest stage; V on the last
/// stage includes what it makes of all words. Its messages take as long by token and byte as those of layers.
/// Units     seconds; about `budget` for the slices, or what three rounds of them take
template <class T, class Transport>
class calibration {
 public:
  /// Requires  as probe; on.stages * on.replicas ranks
  calibration(const config& c, const slimpack::shape& on, slimpack::tokens longest, slimpack::weight_gradients weights,
              slimpack::costs::reduction reduction, slimpack::seconds budget, Transport& transport)
      : config_(c),
        shape_(on),
        longest_(longest),
        reduction_(reduction),
        budget_(budget.value),
        transport_(transport),
        probe_(c, on, transport.rank() % on.stages, longest, weights) {}

  /// Errors    those of the transport
  [[nodiscard]] slimpack::result<slimpack::costs::profiled> measure() {
    std::vector<double> own;
    if (slimpack::result<void> together = meet(); !together) return std::move(together).error();
    const auto begin = clock::now();
    for (int rounds = 0; rounds < 3 || since(begin) < budget_; ++rounds) probe_.round();  // the first may be slower
    for (const auto& run : probe_.taken()) own.push_back(median(run.second));
    if (slimpack::result<void> reduced = time_reduction(own); !reduced) return std::move(reduced).error();
    if (slimpack::result<void> sent = time_messages(own); !sent) return std::move(sent).error();
    for (const auto& run : probe_.vocabulary_taken()) own.push_back(median(run.second));
    std::vector<double> all(own.size() * static_cast<std::size_t>(transport_.size()));
    if (slimpack::result<void> gathered = gather(std::span<const double>(own), std::span(all)); !gathered)
      return std::move(gathered).error();
    return cost_of(all);
  }

 private:
  using clock = std::chrono::steady_clock;
  using place = typename probe<T>::place;
  static double since(clock::time_point begin) { return std::chrono::duration<double>(clock::now() - begin).count(); }

  slimpack::result<void> gather(std::span<const double> own, std::span<double> all) {
    return slimpack::all_gather(transport_, std::as_bytes(own), std::as_writable_bytes(all));
  }
  slimpack::result<void> meet() {
    const double here = 0;
    std::vector<double> all(static_cast<std::size_t>(transport_.size()));
    return gather(std::span(&here, 1), std::span(all));
  }

  slimpack::result<void> time_reduction(std::vector<double>& own) {
    std::vector<int> copies;
    for (int rank = transport_.rank() % shape_.stages; rank < transport_.size(); rank += shape_.stages)
      copies.push_back(rank);
    std::vector<double> times(5);
    for (double& time : times) {
      if (slimpack::result<void> together = meet(); !together) return together;
      const auto begin = clock::now();
      if (slimpack::result<void> summed =
              slimpack::all_reduce(transport_, probe_.gradients(), std::span<const int>(copies));
          !summed)
        return summed;
      time = since(begin);
    }
    own.push_back(copies.size() > 1 ? median(times) : 0);
    return slimpack::success();
  }

  /// Between the first two stages of every replica, for a message of no tokens (nearly) and a long one.
  slimpack::result<void> time_messages(std::vector<double>& own) {
    const int stage = transport_.rank() % shape_.stages;
    for (const slimpack::tokens size : {slimpack::tokens{1}, longest_}) {
      std::vector<double> times(shape_.stages > 1 && stage < 2 ? 11 : 0);
      if (slimpack::result<void> together = meet(); !together) return together;
      for (double& time : times) {
        const auto begin = clock::now();
        const int other = transport_.rank() + (stage == 0 ? 1 : -1);
        for (const bool sends : {stage == 0, stage != 0}) {
          const std::span<std::byte> message = probe_.message(size);
          auto moving = sends ? transport_.send(other, channel, message) : transport_.receive(other, channel, message);
          if (!moving) return std::move(moving).error();
          if (slimpack::result<void> moved = transport_.wait(moving.value()); !moved) return moved;
        }
        time = since(begin) / 2;
      }
      own.push_back(times.empty() ? 0 : median(times));
    }
    return slimpack::success();
  }

  /// Of a spread vocabulary: times of all ranks end with those of its calls, by call and size of pack.
  /// message, message_token: of a message of layers
  [[nodiscard]] slimpack::costs::vocabulary_rates rates_of(std::span<const double> all, slimpack::seconds message,
                                                           slimpack::seconds message_token) const {
    using slimpack::vocabulary_call;
    const auto& taken = probe_.vocabulary_taken();
    const std::size_t figures = all.size() / static_cast<std::size_t>(transport_.size());
    std::vector<double> slowest(taken.size());
    for (std::size_t end = figures; end <= all.size(); end += figures)
      for (std::size_t i = 0; i < slowest.size(); ++i) slowest[i] = std::max(slowest[i], all[end - slowest.size() + i]);
    const auto rate_of = [&](vocabulary_call call) {
      auto at = taken.lower_bound({call, 0});
      const auto index = static_cast<std::size_t>(std::distance(taken.begin(), at));
      const auto few = static_cast<double>(at->first.second), many = static_cast<double>(std::next(at)->first.second);
      const double token = std::max(0.0, (slowest[index + 1] - slowest[index]) / (many - few));
      return slimpack::costs::vocabulary_rate{std::max(0.0, slowest[index] - token * few), token};
    };
    const auto rows_of = [&](std::int64_t width) {
      return slimpack::costs::vocabulary_rate{message.value, message_token.value * static_cast<double>(width) / static_cast<double>(config_.hidden)};
    };
    const slimpack::vocabulary_format format = vocabulary_share<T>::format(config_);
    return {.embed = rate_of(vocabulary_call::embed),
            .output = rate_of(vocabulary_call::output),
            .output_weights = rate_of(vocabulary_call::output_weights),
            .embed_gradients = rate_of(vocabulary_call::embed_gradients),
            .embedded = rows_of(config_.hidden),
            .hidden = rows_of(config_.hidden),
            .partial = rows_of(format.partial.width),
            .statistics = rows_of(format.statistics.width),
            .gradients = rows_of(config_.hidden)};
  }

  /// All ranks hold the same places, each of its own stage; after them the reduction and the two messages.
  [[nodiscard]] slimpack::result<slimpack::costs::profiled> cost_of(std::span<const double> all) const {
    using slimpack::pass;
    using slimpack::seconds;
    const auto ranks = static_cast<std::size_t>(transport_.size());
    const std::size_t figures = all.size() / ranks;
    slimpack::costs::profiled::extras beside;
    beside.forward_overhead.resize(static_cast<std::size_t>(shape_.parts()));
    beside.backward_overhead.resize(beside.forward_overhead.size());
    std::vector<slimpack::costs::profiled::sample> samples;
    const seconds not_timed{std::numeric_limits<double>::infinity()};
    std::vector<seconds> weights(static_cast<std::size_t>(shape_.parts()), not_timed);  // of a token
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::span<const double> times = all.subspan(rank * figures, figures);
      const auto part_of = [&](int chunk) { return chunk * shape_.stages + static_cast<int>(rank) % shape_.stages; };
      for (int chunk = 0; chunk < shape_.chunks; ++chunk)
        for (const pass p : {pass::forward, pass::backward}) {
          auto& overheads = p == pass::forward ? beside.forward_overhead : beside.backward_overhead;
          seconds& overhead = overheads[static_cast<std::size_t>(part_of(chunk))];
          overhead = std::max(overhead, seconds{pack_time(times, chunk, p)});
        }
      std::size_t at = 0;
      for (const auto& [where, mine] : probe_.taken()) {
        const seconds time{times[at++]};
        const int part = part_of(where.chunk);
        if (where.weights) {
          seconds& least = weights[static_cast<std::size_t>(part)];
          least = std::min(least, time * (1 / static_cast<double>(where.pieces * where.queries)));
        }
        if (!probe<T>::is_slice(where)) continue;
        const auto& overheads = where.pass == pass::forward ? beside.forward_overhead : beside.backward_overhead;
        samples.push_back({where.pass,
                           part,
                           {where.queries},
                           {where.prefix + where.queries},
                           std::max(time - overheads[static_cast<std::size_t>(part)], time * 0.1) *
                               (1 / static_cast<double>(where.pieces))});
      }
      beside.reduce = std::max(beside.reduce, seconds{times[at]});
      beside.message = std::max(beside.message, seconds{times[at + 1]});
      beside.message_token = std::max(beside.message_token,
                                      seconds{(times[at + 2] - times[at + 1]) / static_cast<double>(longest_.value)});
    }
    for (int stage = 0; stage < shape_.stages; ++stage)
      beside.memory.push_back(model_stage<T>::rates(config_, shape_, stage));
    if (reduction_ == slimpack::costs::reduction::overlapped && shape_.replicas > 1) {
      beside.buckets = buckets_of(beside.reduce);
      beside.reduce = {};
    }
    if (weights.front() < not_timed) {
      for (const slimpack::costs::profiled::sample& s : samples)
        if (s.pass == pass::backward)
          weights[static_cast<std::size_t>(s.part)] =
              std::min(weights[static_cast<std::size_t>(s.part)], s.time * (0.9 / static_cast<double>(s.queries.value)));
      beside.weight_token = std::move(weights);
    }
    if (shape_.vocabulary == slimpack::vocabulary::spread) beside.vocabulary = rates_of(all, beside.message, beside.message_token);
    return slimpack::costs::profiled::make(samples, std::move(beside));
  }

  /// Each chunk is a bucket (model_stage::reduce_part), and so is a stage's share of a spread vocabulary. It takes its share
  /// of what the largest stage takes.
  [[nodiscard]] std::vector<std::vector<slimpack::gradient_bucket>> buckets_of(slimpack::seconds reduce) const {
    std::vector<double> size, of_stage(static_cast<std::size_t>(shape_.stages));
    for (int part = 0; part < shape_.reduced_parts(); ++part) {
      size.push_back(0);
      for (const tensor& t : part < shape_.parts() ? tensors_of(config_, train::part_of(config_, shape_, part))
                                                   : tensors_of(config_, words_of(config_, shape_, part - shape_.parts())))
        size.back() += static_cast<double>(t.size());
      of_stage[static_cast<std::size_t>(part % shape_.stages)] += size.back();
    }
    const double largest = *std::max_element(of_stage.begin(), of_stage.end());
    std::vector<std::vector<slimpack::gradient_bucket>> buckets;
    for (const double parameters : size) buckets.push_back({{0, reduce * (parameters / largest), {}}});
    return buckets;
  }

  [[nodiscard]] double pack_time(std::span<const double> times, int chunk, slimpack::pass pass) const {
    const auto time_of = [&](std::int64_t pieces) {
      const auto at = probe_.taken().find(place{chunk, pass, probe_.shortest().value, 0, pieces});
      return times[static_cast<std::size_t>(std::distance(probe_.taken().begin(), at))];
    };
    const auto k = static_cast<double>(probe<T>::together);
    return (k * time_of(1) - time_of(probe<T>::together)) / (k - 1);
  }

  static constexpr int channel = 1;

  const config& config_;
  slimpack::shape shape_;
  slimpack::tokens longest_;
  slimpack::costs::reduction reduction_;
  double budget_;
  Transport& transport_;
  probe<T> probe_;
};

}  // namespace train

#endif
