#ifndef SLIMPACK_TRANSPORTS_DETAIL_THREADS_WORLD_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_THREADS_WORLD_HPP

#include <slimpack/transports/detail/parking.hpp>
#include <slimpack/transports/detail/rendezvous.hpp>
#include <slimpack/transports/detail/step_gate.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <tuple>
#include <vector>

namespace slimpack::detail {

/// What the ranks of one process share: the channels between them, and each one's place to wait.
class threads_world {
 public:
  using side = rendezvous::side;

  threads_world(std::size_t ranks, patience p) : patience_(p), gate_(ranks), seats_(ranks) {
    for (seat& s : seats_)
      for (auto& peers : s.channels) peers.resize(ranks);
  }

  [[nodiscard]] std::size_t size() const noexcept { return seats_.size(); }
  [[nodiscard]] const detail::patience& patience() const noexcept { return patience_; }
  [[nodiscard]] step_gate& gate() noexcept { return gate_; }
  [[nodiscard]] parking& waits(int rank) noexcept { return seats_[static_cast<std::size_t>(rank)].waits; }

  /// The channel on which `rank` is the side named, made at its first use.
  [[nodiscard]] rendezvous& channel(std::size_t rank, side s, std::size_t peer, std::size_t number) {
    std::vector<rendezvous*>& known = seats_[rank].channels[s][peer];
    if (number < known.size() && known[number] != nullptr) return *known[number];
    if (number >= known.size()) known.resize(number + 1);
    return *(known[number] = s == side::sender ? &make(rank, peer, number) : &make(peer, rank, number));
  }

  void abort(std::size_t rank, std::string_view reason) {
    gate_.raise(rank, reason);
    wake_all();
    for (const side s : {side::sender, side::receiver})
      for (auto& peer : seats_[rank].channels[s])
        for (rendezvous* r : peer)
          if (r != nullptr) r->leave(s);
    gate_.leave(rank, [this] {
      const std::lock_guard lock(mutex_);
      for (auto& [ends, r] : channels_) r->reset();
    });
    wake_all();
  }

 private:
  struct alignas(64) seat {
    parking waits;
    std::vector<std::vector<rendezvous*>> channels[2];  // by side, peer and number; of the rank's thread only
  };

  [[nodiscard]] rendezvous& make(std::size_t source, std::size_t destination, std::size_t number) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<rendezvous>& r = channels_[{source, destination, number}];
    if (!r)
      r = std::make_unique<rendezvous>(static_cast<int>(source), static_cast<int>(destination),
                                       static_cast<int>(number));
    return *r;
  }

  void wake_all() {
    for (seat& s : seats_) s.waits.wake();
  }

  detail::patience patience_;
  step_gate gate_;
  std::vector<seat> seats_;
  std::mutex mutex_;
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::unique_ptr<rendezvous>> channels_;
};

}  // namespace slimpack::detail

#endif
