#ifndef SLIMPACK_EXECUTORS_IMPL_RUNNING_SUMS_IPP
#define SLIMPACK_EXECUTORS_IMPL_RUNNING_SUMS_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/executors/detail/running_sums.hpp>

#include <algorithm>

namespace slimpack::detail {

SLIMPACK_DECL running_sums::running_sums(any_transport& transport, std::vector<int> group, std::array<int, 2> channels,
                                         bool have_place)
    : transport_(&transport), group_(std::move(group)), channels_(channels), have_place_(have_place) {
  self_ = static_cast<std::size_t>(std::find(group_.begin(), group_.end(), transport.rank()) - group_.begin());
}

SLIMPACK_DECL result<void> running_sums::start(std::span<std::byte> data, std::size_t size, adder add) {
  job& one = jobs_.emplace_back();
  one.data = data;
  one.size = size;
  one.add = add;
  one.blocks.resize(group_.size());
  for (std::size_t member = 0; member < group_.size(); ++member) {
    if (member == self_) continue;
    one.blocks[member].resize(block(one, self_).size());
    if (result<void> posted = post(one, member, channels_[0], one.blocks[member], block(one, member)); !posted)
      return posted;
  }
  return success();
}

SLIMPACK_DECL result<void> running_sums::progress() {
  for (std::size_t k = 0; k < jobs_.size(); ++k) {
    job& one = jobs_[k];
    if (one.is_shared) continue;
    const result<bool> came = through(one);
    if (!came) return came.error();
    if (!came.value()) break;  // results are sent in the order of the sums
    if (result<void> shared = share(one); !shared) return shared;
  }
  return success();
}

SLIMPACK_DECL result<void> running_sums::complete() {
  for (job& one : jobs_) {
    if (!one.is_shared) {
      if (result<void> came = wait(one); !came) return came;
      if (result<void> shared = share(one); !shared) return shared;
    }
  }
  for (job& one : jobs_)
    if (result<void> ended = wait(one); !ended) return ended;
  jobs_.clear();
  for (const auto& sum : later_)
    if (result<void> done = sum(); !done) return done;
  later_.clear();
  return success();
}

SLIMPACK_DECL std::span<std::byte> running_sums::block(const job& one, std::size_t member) const {
  const std::size_t count = one.data.size() / one.size;
  const std::size_t first = count * member / group_.size();
  return one.data.subspan(first * one.size, (count * (member + 1) / group_.size() - first) * one.size);
}

SLIMPACK_DECL result<void> running_sums::share(job& one) {
  const std::span<std::byte> own = block(one, self_);
  one.blocks[self_].assign(own.begin(), own.end());
  std::copy(one.blocks[0].begin(), one.blocks[0].end(), own.begin());
  for (std::size_t member = 1; member < group_.size(); ++member) one.add(own, one.blocks[member]);
  one.blocks.clear();
  one.is_shared = true;
  for (std::size_t member = 0; member < group_.size(); ++member) {
    if (member == self_) continue;
    if (result<void> posted = post(one, member, channels_[1], block(one, member), own); !posted) return posted;
  }
  return success();
}

SLIMPACK_DECL result<void> running_sums::post(job& one, std::size_t member, int channel, std::span<std::byte> in,
                                              std::span<const std::byte> out) {
  for (const bool sends : {self_<member, self_> member}) {
    if (sends ? out.empty() : in.empty()) continue;
    const result<any_transport::handle> moving =
        sends ? transport_->send(group_[member], channel, out) : transport_->receive(group_[member], channel, in);
    if (!moving) return moving.error();
    one.under_way.push_back(moving.value());
  }
  return success();
}

SLIMPACK_DECL result<bool> running_sums::through(job& one) {
  for (; !one.under_way.empty(); one.under_way.pop_front()) {
    const result<bool> ended = transport_->test(one.under_way.front());
    if (!ended || !ended.value()) return ended;
  }
  return true;
}

SLIMPACK_DECL result<void> running_sums::wait(job& one) {
  for (; !one.under_way.empty(); one.under_way.pop_front())
    if (result<void> ended = transport_->wait(one.under_way.front()); !ended) return ended;
  return success();
}

}  // namespace slimpack::detail

#endif
