#ifndef SLIMPACK_SERVICE_PLAN_CACHE_HPP
#define SLIMPACK_SERVICE_PLAN_CACHE_HPP

#include <slimpack/concepts/planning.hpp>
#include <slimpack/core/plan_hash.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <utility>

namespace slimpack {

/// A planner that remembers: a batch planned before gets the same plan again, planning time and all.
///
///   slimpack::plan_cache plan_batch{slimpack::planner{{.stages = 8}}};
///
/// Key           the lengths, in order, of one planner: shape and policies, users' own cost models included, are values
///               inside it and never change. Other policies are another planner, with a cache of its own.
/// Order         matters: the same lengths in another order are another batch. To rename the ids of a plan at hand
///               would make plans depend on what a rank happened to plan before, and ranks disagree.
/// Bound         `most` plans; the one not asked for the longest goes first
/// Left out      plans of a search that was stopped, which a later one may better; errors
/// Truncated     marks plans asked for under a stop token, known or not: another rank may not know them, and be stopped
/// Threads       any number may ask. Two that miss the same batch at once both plan it, and keep
///               both, equal, plans.
/// Law           gives what the planner itself would, planning_time apart, as long as nobody asks to stop
/// Errors        those of the planner
/// Complexity    O(most + lengths) to look up, and a copy of the plan
/// Planner   of all replicas, or of the group of one (replica_planner): then it keeps rank_plans
template <batch_planner Planner>
class plan_cache {
  using made = made_by<Planner>;

 public:
  explicit plan_cache(Planner plan_batch, std::size_t most = 64) : plan_batch_(std::move(plan_batch)), most_(most) {}

  [[nodiscard]] result<made> operator()(std::span<const tokens> lengths, std::stop_token stop = {}) {
    const std::uint64_t key = fingerprint(lengths);
    result<made> answer{made{}};
    if (const std::shared_ptr<const made> known = found(key, lengths)) {
      answer = *known;
    } else {
      answer = plan_batch_(lengths, stop);
      if (answer && !stop.stop_requested()) keep(key, std::make_shared<const made>(answer.value()));
    }
    if (answer) part_of(answer.value()).truncated = stop.stop_possible();
    return answer;
  }

 private:
  struct entry {
    std::uint64_t key;
    std::shared_ptr<const made> plan;
  };

  static std::uint64_t fingerprint(std::span<const tokens> lengths) noexcept {
    detail::word_hash h;
    for (const tokens length : lengths) h.add(length);
    return h.value();
  }

  /// The plan of these lengths, which then counts as asked for last; or null.
  std::shared_ptr<const made> found(std::uint64_t key, std::span<const tokens> lengths) {
    const std::lock_guard lock(mutex_);
    const auto at = std::find_if(entries_.begin(), entries_.end(), [&](const entry& e) {
      return e.key == key && std::equal(lengths.begin(), lengths.end(), part_of(*e.plan).lengths.begin(),
                                        part_of(*e.plan).lengths.end());
    });
    if (at == entries_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, at);
    return at->plan;
  }

  void keep(std::uint64_t key, std::shared_ptr<const made> one) {
    const std::lock_guard lock(mutex_);
    entries_.push_front({key, std::move(one)});
    if (entries_.size() > most_) entries_.pop_back();
  }

  Planner plan_batch_;
  std::size_t most_;
  std::mutex mutex_;
  std::list<entry> entries_;  // asked for last first; guarded by mutex_
};

}  // namespace slimpack

#endif
