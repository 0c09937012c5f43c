#ifndef SLIMPACK_TESTS_NETS_RECORDED_STEP_HPP
#define SLIMPACK_TESTS_NETS_RECORDED_STEP_HPP

#include "../executors/everywhere.hpp"
#include "net_stage.hpp"
#include "plan_texts.hpp"

#include <slimpack/executors/packflow.hpp>
#include <slimpack/transports/threads.hpp>
#include <slimpack/transports/traffic.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::tests {

/// Threads as ranks, of which each notes what it sends, in order. Sums beside the program go on when messages come, so
/// that their order is noted for each route alone. Channel 0, for agreement before and after a step, is left out.
class recording_threads {
 public:
  explicit recording_threads(int ranks) : world_(ranks, {.time_out = {20}}), sent_(static_cast<std::size_t>(ranks)) {}

  struct messages {
    std::map<std::pair<int, int>, std::string> sums;  // by peer and channel
    std::string others;
  };

  class port {
   public:
    using handle = transports::threads::handle;
    port(transports::threads::port to, messages& sent) : to_(std::move(to)), sent_(&sent) {}

    [[nodiscard]] int rank() const { return to_.rank(); }
    [[nodiscard]] int size() const { return to_.size(); }
    result<handle> send(int peer, int channel, std::span<const std::byte> bytes) {
      const bool is_sum = traffic_on(channel) == traffic::collectives;
      std::string& noted = is_sum ? sent_->sums[{peer, channel}] : sent_->others;
      if (channel > 0)
        noted += std::to_string(peer) + '.' + std::to_string(channel) + ' ' + std::to_string(bytes.size()) + '\n';
      return to_.send(peer, channel, bytes);
    }
    result<handle> receive(int peer, int channel, std::span<std::byte> bytes) {
      return to_.receive(peer, channel, bytes);
    }
    result<bool> test(handle& h) { return to_.test(h); }
    result<void> wait(handle& h) { return to_.wait(h); }
    void abort(std::string_view reason) { to_.abort(reason); }

   private:
    transports::threads::port to_;
    messages* sent_;
  };

  [[nodiscard]] port endpoint(int rank) { return {world_.endpoint(rank), sent_[static_cast<std::size_t>(rank)]}; }
  [[nodiscard]] std::string sent() const {
    std::string all;
    for (const messages& one : sent_) {
      all += one.others;
      for (const auto& [route, sums] : one.sums) all += sums;
      all += '\n';
    }
    return all;
  }

 private:
  transports::threads world_;
  std::vector<messages> sent_;  // by rank
};

/// A compute for each rank of a plan.
template <class Stage>
[[nodiscard]] std::vector<Stage> stages_of(const shape& on) {
  std::vector<Stage> stages;
  for (int rank = 0; rank < on.stages * on.replicas; ++rank)
    stages.emplace_back(rank % on.stages, on.stages, on.chunks, on.vocabulary == vocabulary::spread);
  return stages;
}

/// Runs a step on threads, then an evaluation where there is one, and adds losses and gradients, what ranks sent, and
/// what their reports say besides times.
/// plans: of each rank, a plan or the part of its group
template <class Stage, class Plan>
void add_step(stored_values& net, const std::string& name, const std::vector<const Plan*>& plans) {
  const plan& any = part_of(*plans.front());
  const std::size_t ranks = plans.size();
  std::string gradients, reports;
  const auto note = [&](std::size_t rank, const result<step_report>& report) {
    EXPECT_TRUE(report) << name << ", rank " << rank << ": " << report.error().detail;
    if (!report) return;
    const step_report& r = report.value();
    gradients += bits(r.loss_sum) + '\n';
    for (const timed_instruction& i : r.timeline) reports += name_of(i.instruction, any.shape.chunks) + ' ';
    reports += std::to_string(r.valid_tokens.value) + ' ' + std::to_string(r.processed.value) + ' ' +
               bits(r.exchanged.value) + ' ' + bits(r.lent.value) + ' ' + std::to_string(r.loan_messages) + ' ' +
               std::to_string(r.peak_tokens.value) + '\n';
  };
  if (!is_forward_only(any)) {
    std::vector<Stage> stages = stages_of<Stage>(any.shape);
    recording_threads world(static_cast<int>(ranks));
    const auto made = reports_of(world, ranks, [&](std::size_t rank, auto& endpoint) {
      return executors::packflow<>{}.execute(*plans[rank], stages[rank], endpoint);
    });
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      note(rank, made[rank]);
      for (const double g : stages[rank].found()) gradients += bits(g) + ' ';
    }
    net.add(name, "sent", world.sent());
  }
  if (any.shape.vocabulary == vocabulary::last) {
    std::vector<Stage> stages = stages_of<Stage>(any.shape);
    recording_threads world(static_cast<int>(ranks));
    const auto made = reports_of(world, ranks, [&](std::size_t rank, auto& endpoint) {
      return executors::packflow<>{}.evaluate(*plans[rank], stages[rank], endpoint);
    });
    for (std::size_t rank = 0; rank < ranks; ++rank) note(rank, made[rank]);
    net.add(name, "sent by an evaluation", world.sent());
  }
  net.add(name, "gradients", gradients);
  net.add(name, "reports", reports);
}
template <class Stage>
void add_step(stored_values& net, const std::string& name, const plan& p) {
  add_step<Stage>(net, name, std::vector<const plan*>(static_cast<std::size_t>(ranks_of(p)), &p));
}

}  // namespace slimpack::tests

#endif
