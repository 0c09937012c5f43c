#ifndef SLIMPACK_CORE_LAWS_IMPL_IS_COVERED_IPP
#define SLIMPACK_CORE_LAWS_IMPL_IS_COVERED_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/laws/is_covered.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace slimpack::detail {

/// The slices of all sequences in one pass, each with its place in the order of the sequence's rows.
class slices_of_pass {
 public:
  slices_of_pass(const plan& p, pass direction)
      : plan_(p), pass_(direction), rows_(p.merges.size()), merge_of_(p.lengths.size(), none) {
    for (std::size_t m = 0; m < p.merges.size(); ++m) merge_of_[p.merges[m].sequence.value] = m;
  }

  [[nodiscard]] result<void> check() {
    for (std::uint32_t r = 0; r < plan_.replicas.size(); ++r)
      if (result<void> listed = list(r); !listed) return listed;
    const bool up = pass_ == pass::forward;
    std::sort(all_.begin(), all_.end(), [&](const placed& a, const placed& b) {
      const auto key = [&](const placed& one) {
        return std::tuple(one.slice.sequence.value, one.row, up ? one.slice.begin.value : -one.slice.end().value);
      };
      return key(a) < key(b);
    });
    auto at = all_.begin();
    for (std::uint32_t s = 0; s < plan_.lengths.size(); ++s)
      if (result<void> whole = follow(s, at); !whole) return whole;
    return success();
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  struct placed {
    slimpack::slice slice;
    std::size_t row{};  // of a sequence that is shared; else the pack
  };

  [[nodiscard]] error wrong(std::uint32_t sequence, const std::string& what) const {
    return {errc::invalid_input, "sequence " + std::to_string(sequence) + ' ' + what};
  }

  result<void> list(std::uint32_t replica) {
    const replica_plan& r = plan_.replicas[replica];
    std::vector<sequence_id> own = r.sequences;
    std::sort(own.begin(), own.end());
    const micropacks& packs = r.partition.of(pass_);
    for (std::size_t i = 0; i < packs.size(); ++i)
      for (const slice& one : packs[i]) {
        if (!std::binary_search(own.begin(), own.end(), one.sequence))
          return wrong(one.sequence.value,
                       "has a slice on replica " + std::to_string(replica) + ", which does not list it");
        const std::size_t m = merge_of_[one.sequence.value];
        all_.push_back({one, m == none ? i : row_of(m, replica, i)});
        if (all_.back().row == none)
          return wrong(one.sequence.value, "has a slice in " + std::string(name_of(pass_)) + " pack " +
                                               std::to_string(i) + " of replica " + std::to_string(replica) +
                                               ", which no row of those that share it names");
      }
    return success();
  }

  /// The row that names a pack of a replica; none where no row does.
  [[nodiscard]] std::size_t row_of(std::size_t m, std::uint32_t replica, std::size_t pack) {
    const merge& shared = plan_.merges[m];
    std::vector<by_pack>& rows = rows_[m];
    if (rows.empty()) {
      for (std::size_t row = 0; row < shared.of(pass_).size(); ++row)
        for (std::size_t k = 0; k < shared.of(pass_)[row].size() && k < shared.replicas.size(); ++k)
          if (const pack_id of_row = shared.of(pass_)[row][k]; of_row != merge::none)
            rows.push_back({shared.replicas[k], of_row.value, row});
      std::sort(rows.begin(), rows.end());
    }
    const auto found =
        std::lower_bound(rows.begin(), rows.end(), by_pack{replica, static_cast<std::uint32_t>(pack), 0});
    const bool is_there = found != rows.end() && std::get<0>(*found) == replica && std::get<1>(*found) == pack;
    return is_there ? std::get<2>(*found) : none;
  }

  /// Goes along a sequence, from where its slices begin in the order of all to where they end.
  result<void> follow(std::uint32_t s, std::vector<placed>::iterator& at) const {
    const bool up = pass_ == pass::forward;
    const tokens length = plan_.lengths[s], quantum = plan_.shape.quantum;
    tokens due = up ? tokens{} : length;
    for (; at != all_.end() && at->slice.sequence.value == s; ++at) {
      const slice& one = at->slice;
      if ((up ? one.begin : one.end()) != due)
        return wrong(s, "runs tokens " + std::to_string(one.begin.value) + " to " + std::to_string(one.end().value) +
                            ' ' + name_of(pass_) + ", where token " + std::to_string(due.value) + " comes next");
      if (one.begin.value % quantum.value != 0)
        return wrong(s, "is cut at token " + std::to_string(one.begin.value) + ", no multiple of the quantum, " +
                            std::to_string(quantum.value));
      due = up ? one.end() : one.begin;
    }
    if (due == (up ? length : tokens{})) return success();
    return wrong(s, "of " + std::to_string(length.value) + " tokens ends at token " + std::to_string(due.value) + ' ' +
                        name_of(pass_) + ": each token must run once");
  }

  using by_pack = std::tuple<std::uint32_t, std::uint32_t, std::size_t>;  // replica, pack, row
  const plan& plan_;
  pass pass_;
  std::vector<placed> all_;
  std::vector<std::vector<by_pack>> rows_;  // of each merge
  std::vector<std::size_t> merge_of_;       // by sequence
};

}  // namespace slimpack::detail

namespace slimpack {

SLIMPACK_DECL result<void> is_covered(const plan& p) {
  const bool has_backward = std::any_of(p.replicas.begin(), p.replicas.end(),
                                        [](const replica_plan& r) { return r.partition.backward.size() > 0; });
  if (result<void> forward = detail::slices_of_pass(p, pass::forward).check(); !forward || !has_backward)
    return forward;
  return detail::slices_of_pass(p, pass::backward).check();
}

}  // namespace slimpack

#endif
