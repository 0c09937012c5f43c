#ifndef SLIMPACK_EXAMPLES_TRAIN_PRICES_HPP
#define SLIMPACK_EXAMPLES_TRAIN_PRICES_HPP

#include "model/layer_range.hpp"
#include "model/model_stage.hpp"
#include "model/parameters.hpp"
#include "model/vocabulary_share.hpp"

#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/costs/vocabulary_rates.hpp>
#include <slimpack/executors/call_time.hpp>
#include <slimpack/executors/outgoing.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/profiling/stage_profile.hpp>
#include <slimpack/profiling/stopwatch.hpp>
#include <slimpack/transports/gathered.hpp>

#include "median.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace train {

/// Each chunk is a bucket (model_stage::reduce_part), and so is a stage's share of a spread vocabulary. It takes its
/// share of what the largest stage takes.
[[nodiscard]] inline std::vector<std::vector<slimpack::gradient_bucket>> buckets_of(const config& c,
                                                                                    const slimpack::shape& on,
                                                                                    slimpack::seconds reduce) {
  std::vector<double> size, of_stage(static_cast<std::size_t>(on.stages));
  for (int part = 0; part < on.reduced_parts(); ++part) {
    size.push_back(0);
    for (const tensor& t :
         part < on.parts() ? tensors_of(c, part_of(c, on, part)) : tensors_of(c, words_of(c, on, part - on.parts())))
      size.back() += static_cast<double>(t.size());
    of_stage[static_cast<std::size_t>(part % on.stages)] += size.back();
  }
  const double largest = *std::max_element(of_stage.begin(), of_stage.end());
  std::vector<std::vector<slimpack::gradient_bucket>> buckets;
  for (const double parameters : size) buckets.push_back({{0, reduce * (parameters / largest), {}}});
  return buckets;
}

/// Times the calls of a vocabulary that is spread over the stages, which the library's driver leaves out: of packs of
/// two sizes, each as long as on the slowest stage, or where stages have unequal shares of the words, as on the slowest
/// copy of its own. V on the last stage includes what it makes of all words. Messages
/// take as long by token and byte as those of layers.
template <class T>
class vocabulary_probe {
 public:
  /// stage: whose documents are at least `longest` long
  vocabulary_probe(const config& c, const slimpack::shape& on, int number, model_stage<T>& stage,
                   slimpack::tokens longest)
      : config_(c), shape_(on), number_(number), stage_(stage), longest_(longest.value) {}

  /// Errors    those of the transport
  template <class Transport>
  [[nodiscard]] slimpack::result<std::vector<slimpack::costs::vocabulary_rates>> measure(
      const slimpack::profiling::stage_profile& layers, Transport& transport) {
    for (int round = 0; round < 3; ++round)
      for (const std::int64_t length : {std::min<std::int64_t>(longest_, 16), longest_})
        run(length, length == longest_ ? std::max<std::int64_t>(company / length, 1) : 1);
    std::vector<double> own;
    for (const auto& taken : taken_) own.push_back(median(taken.second));
    const slimpack::result<std::vector<double>> all = slimpack::gathered(transport, std::span<const double>(own));
    if (!all) return all.error();
    std::vector<slimpack::costs::vocabulary_rates> rates;
    const std::size_t shares = shape_.words.empty() ? 1 : shape_.words.size();
    for (std::size_t share = 0; share < shares; ++share) {
      std::vector<double> slowest(own.size());
      for (std::size_t i = 0; i < all.value().size(); ++i)
        if (double& longest = slowest[i % own.size()]; i / own.size() % shares == share)
          longest = std::max(longest, all.value()[i]);
      rates.push_back(rates_of(slowest, layers));
    }
    return rates;
  }

 private:
  static constexpr std::int64_t company = 1024;  ///< tokens of a pack of short sequences

  [[nodiscard]] slimpack::costs::vocabulary_rates rates_of(std::span<const double> slowest,
                                                           const slimpack::profiling::stage_profile& layers) const {
    using slimpack::instruction_kind;
    const auto rate_of = [&](instruction_kind call) {
      const auto at = taken_.lower_bound({call, 0});
      const auto index = static_cast<std::size_t>(std::distance(taken_.begin(), at));
      const auto few = static_cast<double>(at->first.second), many = static_cast<double>(std::next(at)->first.second);
      const double token = std::max(0.0, (slowest[index + 1] - slowest[index]) / (many - few));
      return slimpack::costs::vocabulary_rate{std::max(0.0, slowest[index] - token * few), token};
    };
    const auto rows_of = [&](std::int64_t width) {
      return slimpack::costs::vocabulary_rate{
          layers.message.value,
          layers.message_token.value * static_cast<double>(width) / static_cast<double>(config_.hidden)};
    };
    const slimpack::vocabulary_format format = vocabulary_share<T>::format(config_);
    return {.embed = rate_of(instruction_kind::embed),
            .output = rate_of(instruction_kind::output),
            .output_weights = rate_of(instruction_kind::output_weights),
            .embed_gradients = rate_of(instruction_kind::embed_gradients),
            .embedded = rows_of(config_.hidden),
            .hidden = rows_of(config_.hidden),
            .partial = rows_of(format.partial.width),
            .statistics = rows_of(format.statistics.width),
            .gradients = rows_of(config_.hidden)};
  }

  /// Whole sequences side by side through the stage's share of the words.
  void run(std::int64_t length, std::int64_t copies) {
    std::vector<slimpack::piece> pack;
    for (std::uint32_t s = 0; s < static_cast<std::uint32_t>(copies); ++s)
      pack.push_back({{{0}, {0}, {length}}, {length}, static_cast<std::uint32_t>(shape_.chunks), 0});
    const std::int64_t size = copies * length;
    const bool is_first = number_ == 0, is_last = number_ + 1 == shape_.stages;
    const std::int64_t hidden = stage_.format().width, partial = stage_.vocabulary_rows().partial.width;
    const std::vector<T> ones(static_cast<std::size_t>(size * partial), T{1});  // of partial rows, sums of exponentials
                                                                                // too
    std::vector<T> results(ones.size()), more(ones.size());
    const auto in = [&](bool is_there, std::int64_t width) {
      return is_there ? std::as_bytes(std::span(ones).first(static_cast<std::size_t>(size * width)))
                      : std::span<const std::byte>{};
    };
    const auto out = [&](bool is_there, std::vector<T>& to, std::int64_t width) {
      return is_there ? slimpack::outgoing(
                            std::as_writable_bytes(std::span(to).first(static_cast<std::size_t>(size * width))))
                      : slimpack::outgoing();
    };
    const auto keep = [&](slimpack::instruction_kind call, const auto& once) {
      slimpack::profiling::host_stopwatch watch;
      watch.start();
      once().value();
      const slimpack::call_time took = watch.stop();  // by the clock that calls of layers are priced by
      taken_[{call, size}].push_back((took.processor > slimpack::seconds{} ? took.processor : took.clock).value);
    };
    stage_.begin_step({});
    using enum slimpack::instruction_kind;
    slimpack::outgoing embedded = out(true, results, hidden), own = out(true, results, partial),
                       rows = out(true, more, hidden), gradients = out(!is_first, results, hidden);
    std::vector<T> log_sums(static_cast<std::size_t>(size));
    slimpack::outgoing sums(std::as_writable_bytes(std::span(log_sums)));
    const std::vector<std::span<const std::byte>> partials(static_cast<std::size_t>(shape_.stages), in(true, partial));
    keep(embed, [&] { return stage_.embed(pack, in(!is_first, hidden), embedded); });
    keep(output, [&] {
      slimpack::result<void> done = stage_.output(pack, in(true, hidden), own);
      return done && is_last ? stage_.gather_output(pack, partials, rows, sums) : done;
    });
    keep(output_weights, [&] { return stage_.output_weights(pack, in(true, 1)); });
    keep(embed_gradients, [&] { return stage_.embed_gradients(pack, in(true, hidden), gradients); });
  }

  const config& config_;
  slimpack::shape shape_;
  int number_;
  model_stage<T>& stage_;
  std::int64_t longest_;
  std::map<std::pair<slimpack::instruction_kind, std::int64_t>, std::vector<double>> taken_;  ///< for packs of so many
                                                                                              ///< tokens
};

}  // namespace train

#endif
