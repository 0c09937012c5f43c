#ifndef SLIMPACK_TRANSPORTS_IMPL_RENDEZVOUS_IPP
#define SLIMPACK_TRANSPORTS_IMPL_RENDEZVOUS_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/transports/detail/rendezvous.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <thread>
#include <utility>

namespace slimpack::detail {

SLIMPACK_DECL rendezvous::rendezvous(int source, int destination, int number)
    : source_(source), destination_(destination), number_(number) {
  grow();
  for (place& p : places_) p.at = blocks_.front().get();
}

SLIMPACK_DECL rendezvous::met rendezvous::send(std::span<const std::byte> from) {
  meeting& m = enter(sender);
  m.from = from;
  return arrive(m, sender);
}

SLIMPACK_DECL rendezvous::met rendezvous::receive(std::span<std::byte> to) {
  meeting& m = enter(receiver);
  m.to = to;
  return arrive(m, receiver);
}

SLIMPACK_DECL void rendezvous::leave(side s) {
  const std::lock_guard lock(mutex_);  // no block goes away meanwhile
  for (std::uint64_t i = completed_.load(); i < places_[s].next; ++i) {
    meeting& m = (*blocks_[i / block_size - first_block_])[i % block_size];
    if (m.arrived.fetch_or(left) != (bit(sender) | bit(receiver))) continue;  // not met, or the other has left first
    while (!complete(i)) std::this_thread::yield();
  }
}

SLIMPACK_DECL void rendezvous::reset() {
  for (auto& b : blocks_) clear(*b);
  std::move(blocks_.begin() + 1, blocks_.end(), std::back_inserter(spare_));
  blocks_.resize(1);
  first_block_ = 0;
  for (place& p : places_) p = {0, 0, blocks_.front().get()};
  completed_.store(0);
  mismatch_.store(none);
}

SLIMPACK_DECL rendezvous::meeting& rendezvous::enter(side s) {
  place& p = places_[s];
  if (p.next / block_size != p.block_number) next_block(p);
  return (*p.at)[p.next % block_size];
}

SLIMPACK_DECL rendezvous::met rendezvous::arrive(meeting& m, side s) {
  const std::uint64_t index = places_[s].next++;
  const unsigned others = m.arrived.fetch_or(bit(s), std::memory_order_acq_rel);
  if ((others & left) != 0) return met::never;
  if (others == 0) return met::not_yet;
  if (m.from.size() != m.to.size() && mismatch_.load() == none) {
    sizes_ = {m.from.size(), m.to.size()};
    mismatch_.store(index);
  }
  if (mismatch_.load() == none && !m.from.empty()) std::memcpy(m.to.data(), m.from.data(), m.from.size());
  completed_.store(index + 1);
  return met::now;
}

SLIMPACK_DECL void rendezvous::next_block(place& p) {
  const std::lock_guard lock(mutex_);
  ++p.block_number;
  if (p.block_number - first_block_ == blocks_.size()) grow();
  p.at = blocks_[p.block_number - first_block_].get();
  if (std::min(places_[sender].block_number, places_[receiver].block_number) == first_block_) return;
  clear(*blocks_.front());
  spare_.push_back(std::move(blocks_.front()));
  blocks_.erase(blocks_.begin());
  ++first_block_;
}

SLIMPACK_DECL void rendezvous::grow() {
  if (spare_.empty()) spare_.push_back(std::make_unique<block>());
  blocks_.push_back(std::move(spare_.back()));
  spare_.pop_back();
}

SLIMPACK_DECL void rendezvous::clear(block& b) noexcept {
  for (meeting& m : b) m.arrived.store(0, std::memory_order_relaxed);
}

}  // namespace slimpack::detail

#endif
