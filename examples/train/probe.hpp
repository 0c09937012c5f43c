#ifndef SLIMPACK_EXAMPLES_TRAIN_PROBE_HPP
#define SLIMPACK_EXAMPLES_TRAIN_PROBE_HPP

#include "model/model_stage.hpp"
#include "model/random.hpp"

#include <slimpack/core/pass_timing.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/core/vocabulary.hpp>
#include <slimpack/executors/outgoing.hpp>
#include <slimpack/executors/piece.hpp>

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace train {

/// Runs a stage of the model as training will, on sequences made up for it, and keeps the times of its packs.
/// Units     seconds of wall-clock time of one call of the stage compute
template <class T>
class probe {
 public:
  /// What was run: a slice, or `pieces` equal ones in one pack.
  struct place {
    int chunk{};
    slimpack::pass pass{};
    std::int64_t queries{};
    std::int64_t prefix{};
    std::int64_t pieces{1};
    bool weights{};  ///< weight gradients alone, which a backward has left
    friend auto operator<=>(const place&, const place&) = default;
  };
  using times = std::map<place, std::vector<double>>;
  /// Of the calls of a spread vocabulary, for packs of so many tokens.
  using vocabulary_times = std::map<std::pair<slimpack::vocabulary_call, std::int64_t>, std::vector<double>>;

  /// weights: whether those that run apart are timed, too
  /// Requires  as model_stage; sequences of at most `longest` tokens
  probe(const config& c, const slimpack::shape& on, int stage, slimpack::tokens longest, slimpack::weight_gradients weights)
      : shape_(on),
        stage_(stage),
        longest_(longest.value),
        weights_(weights),
        text_(static_cast<std::size_t>(longest_)),
        model_(
            c, on, stage, [this](slimpack::sequence_id) { return std::span(text_).first(length_); }, 1) {
    for (std::size_t i = 0; i < text_.size(); ++i)
      text_[i] = static_cast<std::uint8_t>(i * 131 % static_cast<std::size_t>(c.vocab));
    const auto width = static_cast<std::size_t>(c.hidden);
    in_.resize(static_cast<std::size_t>(std::max(longest_, company)) * width);
    out_.resize(in_.size());
    for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = static_cast<T>(normal(1, 0, i));
  }
  probe(const probe&) = delete;  // its model reads its text

  /// Every kind of slice once on every chunk: whole sequences of rising length, short ones in company as in training;
  /// the longest cut into slices of all sizes, in two orders, so that each meets several prefixes; and the shortest,
  /// alone and joined. Then whole sequences once more if weight gradients may run apart.
  void round() {
    for (int chunk = 0; chunk < shape_.chunks; ++chunk) {
      for (const std::int64_t length : lengths()) run(chunk, {length}, copies(length));
      std::vector<std::int64_t> slices = mixed();
      run(chunk, slices, 1);
      std::reverse(slices.begin(), slices.end() - 1);  // the last may be off the quantum
      run(chunk, slices, 1);
      for (const std::int64_t pieces : {std::int64_t{1}, together}) run(chunk, {shortest().value}, pieces);
      if (weights_ == slimpack::weight_gradients::apart)
        for (const std::int64_t length : lengths()) run_apart(chunk, length, copies(length));
    }
    if (shape_.vocabulary == slimpack::vocabulary::spread)
      for (const std::int64_t length : {shortest().value, longest_}) run_vocabulary(length, length == longest_ ? copies(length) : 1);
    model_.weights().zero_gradients();
  }

  [[nodiscard]] const times& taken() const noexcept { return times_; }
  [[nodiscard]] const vocabulary_times& vocabulary_taken() const noexcept { return vocabulary_times_; }
  /// The same message as many tokens have in training.
  [[nodiscard]] std::span<std::byte> message(slimpack::tokens size) noexcept {
    const auto elements = static_cast<std::size_t>(size.value * model_.format().width);
    return std::as_writable_bytes(std::span(out_).first(std::min(elements, out_.size())));
  }
  [[nodiscard]] std::span<T> gradients() noexcept { return model_.weights().gradients(); }

  /// Whether a place tells the time of a slice; others are there for the time of a pack.
  [[nodiscard]] static bool is_slice(const place& p) noexcept {
    return !p.weights && (p.prefix > 0 || p.pieces == copies(p.queries));
  }
  /// The slice whose packs of 1 and of `together` differ by what a pack costs beside its slices.
  [[nodiscard]] slimpack::tokens shortest() const noexcept { return {std::min<std::int64_t>(longest_, 16)}; }
  static constexpr std::int64_t together = 8;

 private:
  static constexpr std::int64_t company = 1024;  ///< tokens of a pack of short sequences

  [[nodiscard]] static std::int64_t copies(std::int64_t length) noexcept {
    return std::max<std::int64_t>(company / length, 1);
  }

  /// 16, 32, ... tokens, and the longest.
  [[nodiscard]] std::vector<std::int64_t> lengths() const {
    std::vector<std::int64_t> all;
    for (std::int64_t n = shortest().value; n < longest_; n *= 2) all.push_back(n);
    all.push_back(longest_);
    return all;
  }

  /// Slices of the longest sequence: 1, 2, 4, ... quanta up to half of it, then again from 1.
  [[nodiscard]] std::vector<std::int64_t> mixed() const {
    std::vector<std::int64_t> slices;
    std::int64_t n = shape_.quantum.value;
    for (std::int64_t at = 0; at < longest_; at += slices.back()) {
      slices.push_back(std::min(n, longest_ - at));
      n = 4 * n > longest_ ? shape_.quantum.value : 2 * n;
    }
    return slices;
  }

  /// `copies` sequences of the same slices side by side: forward from the first slices to the last, then back.
  void run(int chunk, const std::vector<std::int64_t>& slices, std::int64_t copies) {
    std::vector<std::vector<slimpack::piece>> packs;
    std::int64_t length = 0;
    for (const std::int64_t n : slices) length += n;
    std::int64_t at = 0;
    for (const std::int64_t n : slices) {
      std::vector<slimpack::piece>& pack = packs.emplace_back();
      for (std::uint32_t s = 0; s < static_cast<std::uint32_t>(copies); ++s)
        pack.push_back({{{s}, {at}, {n}}, {length}, static_cast<std::uint32_t>(chunk), 1});
      at += n;
    }
    length_ = static_cast<std::size_t>(length);
    model_.begin_step({});
    for (const auto& pack : packs) take(pack, slimpack::pass::forward);
    std::reverse(packs.begin(), packs.end());
    for (const auto& pack : packs) take(pack, slimpack::pass::backward);
  }

  /// `copies` whole sequences side by side, their weight gradients last.
  void run_apart(int chunk, std::int64_t length, std::int64_t copies) {
    std::vector<slimpack::piece> pack;
    for (std::uint32_t s = 0; s < static_cast<std::uint32_t>(copies); ++s)
      pack.push_back({{{s}, {0}, {length}}, {length}, static_cast<std::uint32_t>(chunk), 1, true});
    length_ = static_cast<std::size_t>(length);
    model_.begin_step({});
    run(slimpack::pass::forward, pack);
    run(slimpack::pass::backward, pack);
    times_[{chunk, slimpack::pass::backward, length, 0, copies, true}].push_back(
        time_of([&] { model_.weights(pack).value(); }));
  }

  /// Whole sequences side by side through the stage's share of a spread vocabulary.
  void run_vocabulary(std::int64_t length, std::int64_t copies) {
    std::vector<slimpack::piece> pack;
    for (std::uint32_t s = 0; s < static_cast<std::uint32_t>(copies); ++s)
      pack.push_back({{{s}, {0}, {length}}, {length}, static_cast<std::uint32_t>(shape_.chunks), 1});
    length_ = static_cast<std::size_t>(length);
    const std::int64_t size = copies * length;
    const bool is_first = stage_ == 0, is_last = stage_ + 1 == shape_.stages;
    const std::int64_t hidden = model_.format().width, partial = model_.vocabulary_rows().partial.width;
    const std::vector<T> ones(static_cast<std::size_t>(size * partial), T{1});  // of partial rows, sums of exponentials too
    std::vector<T> results(ones.size()), more(ones.size());
    const auto in = [&](bool is_there, std::int64_t width) {
      return is_there ? std::as_bytes(std::span(ones).first(static_cast<std::size_t>(size * width))) : std::span<const std::byte>{};
    };
    const auto out = [&](bool is_there, std::vector<T>& to, std::int64_t width) {
      return is_there ? slimpack::outgoing(std::as_writable_bytes(std::span(to).first(static_cast<std::size_t>(size * width))))
                      : slimpack::outgoing();
    };
    const auto keep = [&](slimpack::vocabulary_call call, const auto& run) {
      vocabulary_times_[{call, size}].push_back(time_of([&] { run().value(); }));
    };
    model_.begin_step({});
    using enum slimpack::vocabulary_call;
    slimpack::outgoing embedded = out(true, results, hidden), own = out(true, results, partial), rows = out(true, more, hidden),
                       gradients = out(!is_first, results, hidden);
    std::vector<T> log_sums(static_cast<std::size_t>(size));
    slimpack::outgoing sums(std::as_writable_bytes(std::span(log_sums)));
    const std::vector<std::span<const std::byte>> partials(static_cast<std::size_t>(shape_.stages), in(true, partial));
    keep(embed, [&] { return model_.embed(pack, in(!is_first, hidden), embedded); });
    keep(output, [&] {
      slimpack::result<void> done = model_.output(pack, in(true, hidden), own);
      return done && is_last ? model_.gather_output(pack, partials, rows, sums) : done;
    });
    keep(output_weights, [&] { return model_.output_weights(pack, in(true, 1)); });
    keep(embed_gradients, [&] { return model_.embed_gradients(pack, in(true, hidden), gradients); });
  }

  /// Runs a pack, and keeps its time.
  void take(std::span<const slimpack::piece> pack, slimpack::pass pass) {
    const slimpack::piece& first = pack.front();
    times_[{static_cast<int>(first.chunk), pass, first.slice.length.value, first.slice.begin.value,
            static_cast<std::int64_t>(pack.size())}]
        .push_back(run(pass, pack));
  }

  double run(slimpack::pass pass, std::span<const slimpack::piece> pack) {
    const slimpack::slice& slice = pack.front().slice;
    const auto chunk = static_cast<int>(pack.front().chunk);
    const int part = chunk * shape_.stages + stage_;
    const bool alone = shape_.vocabulary == slimpack::vocabulary::last;  // else messages come and go everywhere
    const bool starts = alone && part == (pass == slimpack::pass::forward ? 0 : shape_.parts() - 1);
    const bool ends = alone && part == (pass == slimpack::pass::forward ? shape_.parts() - 1 : 0);
    const std::size_t size = pack.size() * static_cast<std::size_t>(slice.length.value * model_.format().width);
    const std::span<const std::byte> in =
        starts ? std::span<const std::byte>{} : std::as_bytes(std::span(in_).first(size));
    slimpack::outgoing out =
        ends ? slimpack::outgoing() : slimpack::outgoing(std::as_writable_bytes(std::span(out_).first(size)));
    return time_of([&] {
      (pass == slimpack::pass::forward ? model_.forward(pack, in, out) : model_.backward(pack, in, out)).value();
    });
  }

  template <class Call>
  static double time_of(const Call& call) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  slimpack::shape shape_;
  int stage_;
  std::int64_t longest_;
  slimpack::weight_gradients weights_;
  std::size_t length_{};  ///< of the sequences that run
  std::vector<std::uint8_t> text_;
  std::vector<T> in_;
  std::vector<T> out_;
  model_stage<T> model_;
  times times_;
  vocabulary_times vocabulary_times_;
};

}  // namespace train

#endif
