#ifndef SLIMPACK_EXECUTORS_DETAIL_RUNNING_SUMS_HPP
#define SLIMPACK_EXECUTORS_DETAIL_RUNNING_SUMS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/transports/hooks.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Sums over a group of ranks that go on while the program runs. Each member adds up one block of the data, in rising order
/// of rank, and sends it to all others. So a sum has the same bits on every member, whenever it runs.
/// Every member starts the same sums in the same order. Sends and receives of a sum are under way at once; nothing waits
/// but in `complete`.
/// A transport with an all_reduce of its own may hold data where this host cannot add: it sums itself, at once where it says
/// that this only issues work (starts_all_reduce) and sums have a place among its transfers, else in `complete`.
template <class Transport>
class running_sums {
 public:
  /// group: ranks in rising order, this one among them; channels: two that are free; have_place: whether sums that a transport
  /// issues at once cannot wait for each other, where it runs one thing at a time (stage_script::sums_have_place)
  running_sums(Transport& transport, std::vector<int> group, std::array<int, 2> channels, bool have_place)
      : transport_(&transport), group_(std::move(group)), channels_(channels), have_place_(have_place) {
    self_ = static_cast<std::size_t>(std::find(group_.begin(), group_.end(), transport.rank()) - group_.begin());
  }

  /// Begins to add `data` over the group, in place.
  /// Requires  data that stays, and that nobody touches, until `complete` has returned
  template <class T>
  result<void> start(std::span<T> data) {
    if (group_.size() < 2 || data.empty()) return success();
    if constexpr (sums_itself<T>) {
      if (!starts_all_reduce<Transport>() || !have_place_) return later(data);
      are_issued_ = true;
      return slimpack::all_reduce(*transport_, data, std::span<const int>(group_));
    } else {
      job& one = jobs_.emplace_back();
      one.data = std::as_writable_bytes(data);
      one.size = sizeof(T);
      one.add = [](std::span<std::byte> into, std::span<const std::byte> from) {
        T* const sum = reinterpret_cast<T*>(into.data());
        const T* const more = reinterpret_cast<const T*>(from.data());
        for (std::size_t i = 0; i < into.size() / sizeof(T); ++i) sum[i] += more[i];
      };
      return begin(one);
    }
  }

  /// Whether the transport was given sums that end when it has finished.
  [[nodiscard]] bool are_issued() const noexcept { return are_issued_; }

  /// Goes on with what has come meanwhile.
  result<void> progress() {
    for (std::size_t k = 0; k < jobs_.size(); ++k) {
      job& one = jobs_[k];
      if (one.is_shared) continue;
      result<bool> came = through(one);
      if (!came) return std::move(came).error();
      if (!came.value()) break;  // results are sent in the order of the sums
      if (result<void> shared = share(one); !shared) return shared;
    }
    return success();
  }

  /// Waits for all sums.
  result<void> complete() {
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
      if (result<void> done = sum(*transport_, group_); !done) return done;
    later_.clear();
    return success();
  }

 private:
  template <class T>
  static constexpr bool sums_itself = requires(Transport& t, std::span<T> data, std::span<const int> group) {
    { t.all_reduce(data, group) } -> std::same_as<result<void>>;
  };

  struct job {
    std::span<std::byte> data;
    std::size_t size{};  // of an element
    void (*add)(std::span<std::byte>, std::span<const std::byte>){};
    std::vector<std::vector<std::byte>> blocks;  // of this rank's block, what each other member has
    std::deque<typename Transport::handle> under_way;
    bool is_shared{};    // added up and on its way to the others
  };

  [[nodiscard]] std::span<std::byte> block(const job& one, std::size_t member) const {
    const std::size_t count = one.data.size() / one.size;
    const std::size_t first = count * member / group_.size();
    return one.data.subspan(first * one.size, (count * (member + 1) / group_.size() - first) * one.size);
  }

  result<void> begin(job& one) {
    one.blocks.resize(group_.size());
    for (std::size_t member = 0; member < group_.size(); ++member) {
      if (member == self_) continue;
      one.blocks[member].resize(block(one, self_).size());
      if (result<void> posted = post(one, member, channels_[0], one.blocks[member], block(one, member)); !posted) return posted;
    }
    return success();
  }

  /// Adds up this rank's block, which all have sent, and exchanges it for those of the others.
  result<void> share(job& one) {
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

  /// Receives from a member and sends to it; nothing where there is nothing. Of two members the first sends first, and
  /// members are asked in order: so all transfers of a sum have one order, even where one moves at a time.
  result<void> post(job& one, std::size_t member, int channel, std::span<std::byte> in, std::span<const std::byte> out) {
    for (const bool sends : {self_ < member, self_ > member}) {
      if (sends ? out.empty() : in.empty()) continue;
      auto moving = sends ? transport_->send(group_[member], channel, out) : transport_->receive(group_[member], channel, in);
      if (!moving) return std::move(moving).error();
      one.under_way.push_back(std::move(moving).value());
    }
    return success();
  }

  result<bool> through(job& one) {
    for (; !one.under_way.empty(); one.under_way.pop_front()) {
      result<bool> ended = transport_->test(one.under_way.front());
      if (!ended || !ended.value()) return ended;
    }
    return true;
  }
  result<void> wait(job& one) {
    for (; !one.under_way.empty(); one.under_way.pop_front())
      if (result<void> ended = transport_->wait(one.under_way.front()); !ended) return ended;
    return success();
  }

  template <class T>
  result<void> later(std::span<T> data) {
    later_.push_back([data](Transport& transport, std::span<const int> group) { return slimpack::all_reduce(transport, data, group); });
    return success();
  }

  Transport* transport_;
  std::vector<int> group_;
  std::array<int, 2> channels_;
  bool have_place_;
  bool are_issued_{};
  std::size_t self_{};
  std::deque<job> jobs_;
  std::vector<std::function<result<void>(Transport&, std::span<const int>)>> later_;
};

}  // namespace slimpack::detail

#endif
