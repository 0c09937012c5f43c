#ifndef SLIMPACK_COSTS_CALIBRATED_HPP
#define SLIMPACK_COSTS_CALIBRATED_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/costs/detail/least_squares.hpp>
#include <slimpack/costs/kernels/detail/kernel_scales.hpp>
#include <slimpack/costs/kernels/kernel_samples.hpp>
#include <slimpack/costs/kernels/wave_model.hpp>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <algorithm>
#include <cstddef>
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
/// Which points tell most is a question the model can answer: `probes` chooses, one after the other, those that lower
/// the expected squared error over all candidates most (a greedy I-optimal design).
/// Source    derived; maximum a posteriori under normal priors, Gauss-Newton
/// Errors    invalid_input, see fit            Complexity  O(points x constants) evaluations of the model a step
class calibrated {
 public:
  /// Either list may be empty: its constants stay. Of several attention kernels the reference of costs::attention_table
  /// counts; a backward counts where it was measured.
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

  /// Places in `candidates` of the points to measure on a new GPU, the most telling first. Times are not read.
  /// Requires  sizes as fit            Complexity  O(count x candidates) after the model's derivatives
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
  static constexpr double noise = 0.08;

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

  template <class Scales>
  static result<typename Scales::constants> fitted(const wave_model& start,
                                                   std::span<const typename Scales::sample> all) {
    if (all.empty()) return Scales::of(start);
    const result<std::vector<typename Scales::sample>> samples = Scales::usable(start, all);
    if (!samples) return samples.error();
    std::vector<double> sizes;
    for (const typename Scales::sample& s : samples.value()) sizes.push_back(Scales::modelled(start, s).value);
    std::sort(sizes.begin(), sizes.end());
    const auto places = std::unique(sizes.begin(), sizes.end()) - sizes.begin();
    if (places < 3)
      return error{errc::invalid_input, std::to_string(places) + " points of " + Scales::name +
                                            ", at least 3 different ones are needed to fit a wave model"};
    if (sizes[static_cast<std::size_t>(places - 1)] < 8 * sizes[0])
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
    for (typename Scales::sample& s : candidates) Scales::forget_times(s);
    const auto constants = static_cast<Eigen::Index>(Scales::spread.size());
    const Eigen::MatrixXd rows =
        slimpack::detail::derivatives([&](const Eigen::VectorXd& x) { return misses<Scales>(start, candidates, x); },
                                      Eigen::VectorXd::Zero(constants));
    const Eigen::MatrixXd asked = rows.transpose() * rows;
    Eigen::MatrixXd known = Eigen::MatrixXd::Identity(constants, constants);
    std::vector<std::size_t> places;
    while (places.size() < std::min(count, candidates.size())) {
      const Eigen::LDLT<Eigen::MatrixXd> solver = known.ldlt();
      Eigen::Index best = 0;
      double most = -1;
      for (Eigen::Index i = 0; i < rows.rows(); ++i) {
        const Eigen::VectorXd row = rows.row(i);
        const Eigen::VectorXd told = solver.solve(row);
        const double gain = told.dot(asked * told) / (1 + row.dot(told));
        const bool taken = std::find(places.begin(), places.end(), static_cast<std::size_t>(i)) != places.end();
        if (!taken && gain > most) most = gain, best = i;
      }
      known += rows.row(best).transpose() * rows.row(best);
      places.push_back(static_cast<std::size_t>(best));
    }
    return places;
  }

  wave_model model_;
};

}  // namespace slimpack::costs

#endif
