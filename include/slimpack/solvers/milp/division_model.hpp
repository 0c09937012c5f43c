#ifndef SLIMPACK_SOLVERS_MILP_DIVISION_MODEL_HPP
#define SLIMPACK_SOLVERS_MILP_DIVISION_MODEL_HPP

#include <slimpack/solvers/divide/balance.hpp>
#include <slimpack/solvers/milp/model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace slimpack::detail {

/// Phase 1 as a mixed-integer program: each sequence to one replica or, in equal parts, to as many as its degree says.
/// Minimises the largest load, then, as far as the search's gap shows it, the most tokens.
///
/// Variables
///   degree(s, m)   m replicas share sequence s; one for those that need not be shared
///   on(s, m, g)    replica g is one of them
/// Replicas are alike, so a sequence uses the first that those before it, heaviest first, have left untouched.
/// Source    derived: phase 1 of a planner in two phases with DP-Merge (arXiv:2509.26246), whose program is not public
class milp_division {
 public:
  struct item {
    double work{};
    double tokens{};
    std::uint32_t least{1};  ///< sharers
    std::uint32_t most{1};
  };
  using placement = std::vector<std::vector<std::uint32_t>>;  ///< replicas of each item

  /// Requires  1 <= least <= most <= replicas for each item
  milp_division(std::span<const item> items, std::uint32_t replicas)
      : items_(items.begin(), items.end()), replicas_(replicas) {
    order_.resize(items.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return items[a].most != items[b].most ? items[a].most > items[b].most : items[a].work > items[b].work;
    });
    double work = 0;
    double tokens = 0;
    double part = 0;  // of an item, that no replica can avoid
    for (const item& i : items_) work += i.work, tokens += i.tokens, part = std::max(part, i.work / i.most);
    scale_ = work;
    const linear_sum load = model_.number(work > 0 ? std::max(part / work, 1.0 / replicas) : 0, 1, 1);
    const linear_sum held = model_.number(0, 1, tie);
    std::vector<linear_sum> loads(replicas);
    std::vector<linear_sum> tokens_on(replicas);
    std::uint32_t touched = 0;
    for (const std::size_t s : order_) {
      const item& i = items_[s];
      linear_sum degrees;
      for (std::uint32_t m = i.least; m <= i.most; ++m) {
        choices_.push_back({s, m, i.least == i.most ? linear_sum{1} : model_.binary(), {}});
        choice& c = choices_.back();
        degrees.add(c.chosen);
        linear_sum sharers;
        for (std::uint32_t g = 0; g < std::min(replicas, touched + m); ++g) {
          c.on.push_back(model_.binary());
          sharers.add(c.on.back());
          loads[g].add(c.on.back(), work > 0 ? i.work / m / work : 0);
          tokens_on[g].add(c.on.back(), tokens > 0 ? i.tokens / m / tokens : 0);
        }
        equal(sharers, static_cast<double>(m) * c.chosen);
      }
      if (i.least < i.most) equal(degrees, 1);
      touched = std::min(replicas, touched + i.most);
    }
    for (std::uint32_t g = 0; g < replicas; ++g) {
      model_.at_least(load, loads[g]);
      model_.at_least(held, tokens_on[g]);
    }
  }

  [[nodiscard]] const milp_model& model() const noexcept { return model_; }
  /// A load that the objective proves: what is left when the most tokens are taken off.
  [[nodiscard]] double load_of(double objective) const noexcept { return (objective - tie) * scale_; }

  /// A start: what must or may be shared by the fewest whose parts are no more than the mean, on the lightest replicas;
  /// the rest balanced around it.
  [[nodiscard]] placement balanced() const {
    placement found(items_.size());
    std::vector<double> loads(replicas_);
    std::vector<std::size_t> rest;
    std::vector<double> weights;
    for (std::size_t s = 0; s < items_.size(); ++s) {
      const item& i = items_[s];
      if (i.most == 1) {
        rest.push_back(s);
        weights.push_back(i.work);
        continue;
      }
      std::uint32_t degree = i.least;
      while (degree < i.most && i.work / degree * replicas_ > scale_) ++degree;
      std::vector<std::uint32_t> lightest(replicas_);
      std::iota(lightest.begin(), lightest.end(), 0u);
      std::stable_sort(lightest.begin(), lightest.end(),
                       [&](std::uint32_t a, std::uint32_t b) { return loads[a] < loads[b]; });
      found[s].assign(lightest.begin(), lightest.begin() + degree);
      std::sort(found[s].begin(), found[s].end());
      for (const std::uint32_t g : found[s]) loads[g] += i.work / degree;
    }
    const std::vector<std::uint32_t> of_rest = solvers::balance(weights, loads);
    for (std::size_t k = 0; k < rest.size(); ++k) found[rest[k]] = {of_rest[k]};
    return found;
  }

  /// The values of a known placement, with its replicas renamed in the order in which sequences use them.
  [[nodiscard]] std::vector<double> values_of(const placement& known) const {
    std::vector<double> values;
    for (const milp_model::column& c : model_.columns()) values.push_back(c.low);
    const auto set = [&](const linear_sum& v, double value) {
      if (!v.terms.empty()) values[static_cast<std::size_t>(v.terms.front().variable)] = value;
    };
    std::vector<std::uint32_t> name(replicas_, replicas_);
    std::uint32_t named = 0;
    std::vector<double> load(replicas_), tokens(replicas_);
    for (const choice& c : choices_) {
      if (known[c.item].size() != c.sharers) continue;
      set(c.chosen, 1);
      for (const std::uint32_t g : known[c.item]) {
        if (name[g] == replicas_) name[g] = named++;
        set(c.on[name[g]], 1);
        load[name[g]] += items_[c.item].work / c.sharers;
        tokens[name[g]] += items_[c.item].tokens / c.sharers;
      }
    }
    double all = 0;
    for (const item& i : items_) all += i.tokens;
    values[0] = scale_ > 0 ? *std::max_element(load.begin(), load.end()) / scale_ : 0;
    values[1] = all > 0 ? *std::max_element(tokens.begin(), tokens.end()) / all : 0;
    return values;
  }

  [[nodiscard]] placement placement_of(const std::vector<double>& values) const {
    placement found(items_.size());
    for (const choice& c : choices_)
      for (std::uint32_t g = 0; g < c.on.size(); ++g)
        if (c.on[g].at(values) > 0.5) found[c.item].push_back(g);
    return found;
  }

 private:
  static constexpr double tie = 1e-6;  // of the most tokens against the largest load

  struct choice {
    std::size_t item{};
    std::uint32_t sharers{};
    linear_sum chosen;
    std::vector<linear_sum> on;  // by replica
  };

  void equal(const linear_sum& a, const linear_sum& b) {
    model_.at_least(a, b);
    model_.at_least(b, a);
  }

  std::vector<item> items_;
  std::uint32_t replicas_;
  std::vector<std::size_t> order_;
  double scale_{};  // work of all
  milp_model model_;
  std::vector<choice> choices_;
};

}  // namespace slimpack::detail

#endif
