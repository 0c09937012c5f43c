#ifndef SLIMPACK_COSTS_CALIBRATED_HPP
#define SLIMPACK_COSTS_CALIBRATED_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/costs/detail/estimation.hpp>
#include <slimpack/costs/kernels/detail/kernel_scales.hpp>
#include <slimpack/costs/kernels/kernel_samples.hpp>
#include <slimpack/costs/kernels/wave_model.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::costs {

/// A wave model whose constants are fitted to measurements, a handful or hundreds.
///
/// Minimised are squares of log(model / measured) over 8 %, what the model misses large tables by, and of the distance
/// of each constant from where it starts, over how much it differs between the kernels of the published tables: few
/// points move the constants they tell of, many move all. Constants are fitted as logarithms (a share of gaps as its
/// odds), so that none leaves its range.
///
/// Which points tell most is a question the model can answer, if it knows that it is wrong: `probes` chooses, one after
/// the other, those that lower the expected squared error over all candidates most. Unknown are the constants, and what
/// the model misses with any constants, which is alike at like shapes:
///   covariance(i, j) = sum over constants of d_i d_j + 0.08^2 exp(-|log2 shape_i - log2 shape_j| / 2),
/// where d is half of what a move of the constant by its spread each way changes of log time. The second term keeps
/// points from crowding at the ends, where slopes are steepest and the model is worst: fitted there, constants would
/// serve the ends alone, the more so the more points.
/// Of a table with many rows, 2000 are fitted to: they tell the few constants as well, and a fit takes a second or two
/// at most.
///
/// Source    derived; maximum a posteriori under normal priors, Gauss-Newton; choice: detail/telling_places.hpp
/// Errors    invalid_input, see fit            Complexity  O(points x constants) evaluations of the model a step
class calibrated {
 public:
  /// Either list may be empty: its constants stay. Of several attention kernels the reference of costs::attention_table
  /// counts; a backward counts where it was measured.
  /// Of more than 2000 points those count that divide them evenly by what the model says they take, the shortest and
  /// the longest among them.
  /// Errors    invalid_input: times that are not above 0, sizes below 1, fewer than 3 points, points whose work is so
  ///           alike (all within a factor of 8) that launch and rate cannot be told apart
  [[nodiscard]] static result<calibrated> fit(const wave_model& start, std::span<const attention_sample> attention,
                                              std::span<const product_sample> products) {
    const result<wave_model::attention_constants> a = fitted<slimpack::detail::attention_scales>(start, attention);
    if (!a) return a.error();
    const result<wave_model::product_constants> p = fitted<slimpack::detail::product_scales>(start, products);
    if (!p) return p.error();
    return calibrated(wave_model(start.device(), a.value(), p.value()));
  }

  /// Places in `candidates` of the points to measure on a new GPU, the most telling first. Times are not read. Fewer
  /// points are the first of more. The first two are as far apart as fit asks for, where any are. Of more than 2000
  /// candidates every second, third ... is considered, so that at least 2000, or `count`, remain.
  /// Requires  sizes as fit            Complexity  O(count x min(candidates, 4000)^2)
  [[nodiscard]] static std::vector<std::size_t> probes(const wave_model& start,
                                                       std::span<const attention_sample> candidates,
                                                       std::size_t count) {
    return chosen<slimpack::detail::attention_scales>(start, {candidates.begin(), candidates.end()}, count);
  }
  [[nodiscard]] static std::vector<std::size_t> probes(const wave_model& start,
                                                       std::span<const product_sample> candidates, std::size_t count) {
    return chosen<slimpack::detail::product_scales>(start, {candidates.begin(), candidates.end()}, count);
  }

  [[nodiscard]] const wave_model& model() const noexcept { return model_; }

 private:
  static constexpr double noise = 0.08;     // of a time, and by which the model misses it
  static constexpr double likeness = 2;     // doublings over which misses become unlike, by a factor of e
  static constexpr double least_range = 8;  // of times, to tell launch from rate
  static constexpr std::size_t most_candidates = 2000;
  static constexpr std::size_t most_points = 2000;  // that a fit looks at; no shipped GPU has as many

  explicit calibrated(wave_model model) : model_(std::move(model)) {}

  /// The misses of a model whose constants lie `by` spreads from where they start, over the noise.
  template <class Scales>
  static Eigen::VectorXd misses(const wave_model& start, const std::vector<typename Scales::sample>& samples,
                                const Eigen::VectorXd& by) {
    const wave_model model = moved<Scales>(start, by);
    std::vector<double> all;
    for (const typename Scales::sample& s : samples) Scales::misses(model, s, all);
    return Eigen::Map<const Eigen::VectorXd>(all.data(), static_cast<Eigen::Index>(all.size())) / noise;
  }
  template <class Scales>
  static wave_model moved(const wave_model& start, const Eigen::VectorXd& by) {
    const Eigen::Map<const Eigen::VectorXd> spread(Scales::spread.data(), by.size());
    return Scales::model(start, Scales::numbers(Scales::of(start)) + by.cwiseProduct(spread));
  }

  /// Keeps most_points of more points. In order of size, so that no regular step through a table meets the same column
  /// alone.
  template <class Sample>
  static void keep_evenly(std::vector<Sample>& samples, std::vector<double>& sizes) {
    std::vector<std::size_t> order(samples.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sizes[a] < sizes[b]; });
    std::vector<Sample> kept;
    std::vector<double> kept_sizes;
    for (std::size_t i = 0; i < most_points; ++i) {
      const std::size_t at = order[i * (samples.size() - 1) / (most_points - 1)];
      kept.push_back(samples[at]), kept_sizes.push_back(sizes[at]);
    }
    samples = std::move(kept), sizes = std::move(kept_sizes);
  }

  template <class Scales>
  static result<typename Scales::constants> fitted(const wave_model& start,
                                                   std::span<const typename Scales::sample> all) {
    if (all.empty()) return Scales::of(start);
    result<std::vector<typename Scales::sample>> samples = Scales::usable(start, all);
    if (!samples) return samples.error();
    std::vector<double> sizes;
    for (const typename Scales::sample& s : samples.value()) sizes.push_back(Scales::modelled(start, s).value);
    if (sizes.size() > most_points) keep_evenly(samples.value(), sizes);
    std::sort(sizes.begin(), sizes.end());
    const auto places = std::unique(sizes.begin(), sizes.end()) - sizes.begin();
    if (places < 3)
      return error{errc::invalid_input, std::to_string(places) + " points of " + Scales::name +
                                            ", at least 3 different ones are needed to fit a wave model"};
    if (sizes[static_cast<std::size_t>(places - 1)] < least_range * sizes[0])
      return error{errc::invalid_input,
                   std::string("all points of ") + Scales::name +
                       " are of like size: launch and rate cannot be told apart within a factor of 8"};
    const Eigen::VectorXd by = slimpack::detail::least_squares(
        [&](const Eigen::VectorXd& x) { return misses<Scales>(start, samples.value(), x); },
        static_cast<Eigen::Index>(Scales::spread.size()));
    return Scales::of(moved<Scales>(start, by));
  }

  template <class Scales>
  static std::vector<std::size_t> chosen(const wave_model& start, std::vector<typename Scales::sample> candidates,
                                         std::size_t count) {
    if (candidates.empty()) return {};
    const std::size_t step = std::max<std::size_t>(1, candidates.size() / std::max(most_candidates, count));
    std::vector<typename Scales::sample> kept;
    for (std::size_t i = 0; i < candidates.size(); i += step) kept.push_back(candidates[i]);
    std::vector<double> sizes;
    for (typename Scales::sample& s : kept) {
      Scales::forget_times(s);
      sizes.push_back(Scales::modelled(start, s).value);
    }
    const auto points = static_cast<Eigen::Index>(kept.size());
    const auto constants = static_cast<Eigen::Index>(Scales::spread.size());
    Eigen::MatrixXd moves(points, constants);
    for (Eigen::Index i = 0; i < constants; ++i) {
      const Eigen::VectorXd by = Eigen::VectorXd::Unit(constants, i);
      moves.col(i) = (misses<Scales>(start, kept, by) - misses<Scales>(start, kept, -by)) / 2;
    }
    Eigen::MatrixXd logs(static_cast<Eigen::Index>(Scales::likeness_sizes(candidates.front()).size()), points);
    for (Eigen::Index i = 0; i < points; ++i) {
      const auto at = Scales::likeness_sizes(kept[static_cast<std::size_t>(i)]);
      for (Eigen::Index d = 0; d < logs.rows(); ++d) logs(d, i) = std::log2(at[static_cast<std::size_t>(d)]);
    }
    Eigen::MatrixXd covariance = moves * moves.transpose();
    for (Eigen::Index i = 0; i < points; ++i)
      covariance.col(i) +=
          (-(logs.colwise() - logs.col(i)).colwise().norm().array() / likeness).exp().matrix().transpose();
    std::vector<std::size_t> places =
        slimpack::detail::telling_places(std::move(covariance), sizes, least_range, count);
    for (std::size_t& place : places) place *= step;
    return places;
  }

  wave_model model_;
};

}  // namespace slimpack::costs

#endif
