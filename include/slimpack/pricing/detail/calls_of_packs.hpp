#ifndef SLIMPACK_PRICING_DETAIL_CALLS_OF_PACKS_HPP
#define SLIMPACK_PRICING_DETAIL_CALLS_OF_PACKS_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/workload.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Splits backward packs with a shared row and more into what runs one after the other.
class calls_of_packs {
 public:
  calls_of_packs(std::size_t packs, std::span<const shared_row> shared) : shared_(shared) {
    if (shared_.empty()) return;
    before_.reserve(packs + 1);
    before_.push_back(0);
  }

  /// Adds a slice to the pack, with the accumulator tokens that its sequence opens with it and closes after it.
  void add(const slice& s, bool is_shared, std::int64_t opens, std::int64_t closes) {
    if (shared_.empty()) return;
    const key which{!is_shared, is_shared ? s.sequence : sequence_id{}};  // rows come first
    auto of = std::find_if(open_.begin(), open_.end(), [&](const auto& one) { return one.first == which; });
    if (of == open_.end()) of = open_.insert(open_.end(), {which, {}});
    of->second.tokens += s.length.value, of->second.opens += opens, of->second.closes += closes;
  }

  /// gradients: accumulator tokens before the pack
  void close(std::size_t pack, std::int64_t gradients) {
    if (shared_.empty()) return;
    if (open_.size() > 1) {
      if (!any_) list_others();
      any_ = true;
      std::sort(open_.begin(), open_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& [which, one] : open_) {
        const std::int64_t others = which.first ? 0 : others_of(pack, which.second);
        gradients += one.opens;
        calls_.push_back({one.tokens, others, gradients});
        gradients -= one.closes + others;
      }
    }
    open_.clear();
    before_.push_back(static_cast<std::uint32_t>(calls_.size()));
  }

  void into(workload& w) && {
    if (!any_) calls_.clear(), before_.clear();
    w.calls = std::move(calls_);
    w.calls_before = std::move(before_);
  }

 private:
  struct call {
    std::int64_t tokens{};
    std::int64_t opens{};
    std::int64_t closes{};
  };

  using key = std::pair<bool, sequence_id>;
  using row = std::tuple<std::size_t, sequence_id, std::int64_t>;  // pack, sequence, tokens of others

  void list_others() {
    for (const shared_row& one : shared_)
      if (one.pass == pass::backward) others_.emplace_back(one.pack.value, one.sequence, one.others.value);
    std::sort(others_.begin(), others_.end());
  }
  [[nodiscard]] std::int64_t others_of(std::size_t pack, sequence_id sequence) const {
    const auto found =
        std::lower_bound(others_.begin(), others_.end(), row{pack, sequence, std::numeric_limits<std::int64_t>::min()});
    return found == others_.end() || std::tie(std::get<0>(*found), std::get<1>(*found)) != std::tie(pack, sequence)
               ? 0
               : std::get<2>(*found);
  }

  std::span<const shared_row> shared_;
  bool any_{};
  std::vector<row> others_;                 // of backward rows, once it is known that some pack has several calls
  std::vector<std::pair<key, call>> open_;  // of the pack
  std::vector<backward_call> calls_;
  std::vector<std::uint32_t> before_;
};

}  // namespace slimpack::detail

#endif
