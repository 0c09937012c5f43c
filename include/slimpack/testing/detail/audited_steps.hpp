#ifndef SLIMPACK_TESTING_DETAIL_AUDITED_STEPS_HPP
#define SLIMPACK_TESTING_DETAIL_AUDITED_STEPS_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/solvers/solution.hpp>
#include <slimpack/testing/detail/audited_compute.hpp>
#include <slimpack/testing/detail/compute_steps.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::testing::detail {

/// Steps of one document that three replicas share in given rows, with all that they exchange written down.
/// Requires  one chunk
template <class Model>
class audited_steps {
 public:
  using steps_of = compute_steps<Model>;
  using compute = typename steps_of::compute;
  using outcome = typename steps_of::outcome;

  static constexpr int replicas_ = 3;  // so that a faulty one is not one of each two

  struct place {
    int stage{};
    int layer{};
  };

  struct outcome_and_logs {
    bool ran{};
    outcome all{};
    std::vector<exchange_log> logs{};  // per rank
  };

  audited_steps(const steps_of& steps, const compute_options& o, int stages) : steps_(steps), o_(o), stages_(stages) {
    auto all = steps.fresh(stages);
    for (int stage = 0; stage < stages; ++stage)
      for (int layer = 0; layer < all.computes[static_cast<std::size_t>(stage)]->rows(0).layers; ++layer)
        layers_.push_back({stage, layer});
  }

  using part = std::pair<int, tokens>;  // which replica runs the tokens up to which

  /// A sequence in these rows, each of the same replicas.
  [[nodiscard]] solution rows(const std::vector<std::vector<part>>& all, exchange how = exchange::keep) const {
    solution made{std::vector<replica_solution>(static_cast<std::size_t>(replicas_)), {}};
    for (replica_solution& r : made.replicas) r.programs.resize(static_cast<std::size_t>(stages_));
    merge& m = made.merges.emplace_back();
    m.exchange = how;
    for (const part& p : all.front()) m.replicas.push_back(static_cast<std::uint32_t>(p.first));
    std::sort(m.replicas.begin(), m.replicas.end());
    m.replicas.erase(std::unique(m.replicas.begin(), m.replicas.end()), m.replicas.end());
    std::vector<std::vector<std::pair<std::size_t, slice>>> slices(all.size());  // (replica, what it runs)
    for (tokens at{}; std::vector<std::pair<std::size_t, slice>> & row : slices)
      for (const part& p : all[static_cast<std::size_t>(&row - slices.data())])
        row.push_back({static_cast<std::size_t>(p.first), {{0}, at, p.second - at}}), at = p.second;
    for (const std::uint32_t r : m.replicas) made.replicas[r].sequences = {{0}};
    for (const pass p : both_passes)
      for (std::size_t row = 0; row < slices.size(); ++row) {
        std::vector<std::pair<std::size_t, slice>> parts = slices[nth_place(p, row, slices.size())];
        if (p == pass::backward) std::reverse(parts.begin(), parts.end());
        for (const auto& [replica, one] : parts) made.replicas[replica].partition.of(p).append(one);
        const pack_id pack{static_cast<std::uint32_t>(row)};
        for (const std::uint32_t r : m.replicas) {
          made.replicas[r].partition.of(p).close();
          for (program& code : made.replicas[r].programs) code.push_back({pass_kind(p), pack});
        }
        m.of(p).emplace_back(m.replicas.size(), pack);
      }
    return made;
  }

  [[nodiscard]] std::size_t rank_of(int replica, int stage) const {
    return static_cast<std::size_t>(replica * stages_ + stage);
  }

  /// A step of the document, in which what `rank` takes is changed.
  [[nodiscard]] outcome_and_logs run(const document& of, const solution& how, std::size_t rank = 0,
                                     nudge change = {}) const {
    auto all = steps_.fresh(stages_, replicas_);
    std::deque<audited_compute<compute>> audited;  // none is moved
    for (std::size_t r = 0; r < all.computes.size(); ++r)
      audited.emplace_back(*all.computes[r], r == rank ? change : nudge{});
    const std::span<const document> batch(&of, 1);
    const auto reports = steps_.step(all, steps_.planned(batch, stages_, replicas_, how), batch, -1, 0,
                                     [&](std::size_t r, compute&) -> audited_compute<compute>& { return audited[r]; });
    outcome_and_logs found{true, {}, {}};
    for (const result<step_report>& r : reports) found.ran = found.ran && r.has_value();
    if (!found.ran) return found;
    found.all = {reports[0].value().loss_sum, 0, steps_.gradients_of_all(all, stages_, replicas_)};
    for (const audited_compute<compute>& one : audited) found.logs.push_back(one.log());
    return found;
  }

  [[nodiscard]] static std::string name_of(const place& at) {
    return "layer " + std::to_string(at.layer) + " of stage " + std::to_string(at.stage);
  }
  static std::string name_of(int replica) { return "replica " + std::to_string(replica); }

  /// Whether all that one wrote down of a layer is what another did, of the tokens that both have.
  template <class Key>
  [[nodiscard]] bool same_rows(const std::map<Key, exchange_log::rows>& one,
                               const std::map<Key, exchange_log::rows>& other, const Key& layer) const {
    const auto a = one.find(layer);
    const auto b = other.find(layer);
    if (a == one.end() || b == other.end()) return true;
    std::vector<double> found, expected;
    for (const auto& [token, row] : a->second) {
      const auto same = b->second.find(token);
      if (same == b->second.end()) continue;
      found.insert(found.end(), row.begin(), row.end());
      expected.insert(expected.end(), same->second.begin(), same->second.end());
    }
    return steps_.alike(found, expected);
  }

 protected:
  const steps_of& steps_;
  const compute_options& o_;
  int stages_;
  std::vector<place> layers_;  // in order of forward
};

}  // namespace slimpack::testing::detail

#endif
