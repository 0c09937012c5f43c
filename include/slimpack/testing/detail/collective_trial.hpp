#ifndef SLIMPACK_TESTING_DETAIL_COLLECTIVE_TRIAL_HPP
#define SLIMPACK_TESTING_DETAIL_COLLECTIVE_TRIAL_HPP

#include <slimpack/concepts/running.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/testing/transport_trial.hpp>
#include <slimpack/transports/hooks.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

namespace slimpack::testing::detail {

/// One rank's part in trying the collectives of a transport.
template <transport Transport>
class collective_trial : protected transport_trial<Transport> {
 protected:
  using base = transport_trial<Transport>;
  using base::any_key, base::any_size, base::of_rank, base::gather;
  using base::base;
  using base::gathered_, base::memory_, base::t_, base::rank_, base::size_, base::common_, base::report_;

  /// Law 6, once.
  result<void> collectives() {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, any_size(1000)}) {
      const std::uint64_t key = any_key();
      std::vector<std::byte> own(size);
      fill(own, of_rank(key, rank_));
      if (result<void> done = gather(own); !done) return done;
      for (int r = 0; r < size_; ++r)
        report_.check(6,
                      filled(std::span(gathered_).subspan(static_cast<std::size_t>(r) * size, size), of_rank(key, r)),
                      "all_gather gives every rank's bytes in order of rank", "rank", rank_, "has not those of", r);
    }
    const int colours = static_cast<int>(common_.between(1, size_));
    std::vector<int> group;
    std::vector<int> colour_of;
    for (int r = 0; r < size_; ++r) colour_of.push_back(static_cast<int>(common_.between(1, colours)));
    for (int r = 0; r < size_; ++r)
      if (colour_of[static_cast<std::size_t>(r)] == colour_of[static_cast<std::size_t>(rank_)]) group.push_back(r);
    const std::size_t counts[] = {0, 1, any_size(100), any_size(300000)};
    for (const std::size_t count : counts) {
      if (result<void> done = sums<float>(count, group); !done) return done;
      if (result<void> done = sums<double>(count, group); !done) return done;
    }
    return success();
  }

 private:
  /// Random numbers from -1 to 1: the sum is right to rounding, and has the same bits on all members.
  template <class T>
  result<void> sums(std::size_t count, const std::vector<int>& group) {
    const std::uint64_t key = any_key();
    const auto of = [&](int rank, std::size_t i) {
      return static_cast<T>(static_cast<double>(word(of_rank(key, rank), i) >> 11) * 0x1p-52 - 1);
    };
    const auto memory = memory_.take(count * sizeof(T));
    if (!memory) return memory.error();
    const std::span<T> data(reinterpret_cast<T*>(memory.value().data()), count);
    for (std::size_t i = 0; i < count; ++i) data[i] = of(rank_, i);
    if (result<void> done = all_reduce(t_, data, std::span<const int>(group)); !done) return done;
    if (result<void> done = finish(t_); !done) return done;
    double worst = 0;
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < count; ++i) {
      double sum = 0;
      for (const int r : group) sum += static_cast<double>(of(r, i));
      worst = std::max(worst, std::abs(static_cast<double>(data[i]) - sum));
      std::uint64_t bits = 0;
      std::memcpy(&bits, &data[i], sizeof(T));
      hash = word(hash, bits);
    }
    const double members = static_cast<double>(group.size());
    report_.check(6, worst <= members * members * static_cast<double>(std::numeric_limits<T>::epsilon()),
                  "all_reduce adds up", "rank", rank_, "of", group.size(), "members,", count, "elements, off by",
                  worst);
    if (result<void> done = gather(std::as_bytes(std::span(&hash, 1))); !done) return done;
    for (const int r : group)
      report_.check(6, std::memcmp(&gathered_[static_cast<std::size_t>(r) * sizeof hash], &hash, sizeof hash) == 0,
                    "all_reduce gives every member the same bits", "rank", rank_, "and", r, "elements", count);
    return success();
  }
};

}  // namespace slimpack::testing::detail

#endif
