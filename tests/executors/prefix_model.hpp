#ifndef SLIMPACK_TESTS_EXECUTORS_PREFIX_MODEL_HPP
#define SLIMPACK_TESTS_EXECUTORS_PREFIX_MODEL_HPP

#include <slimpack/concepts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack {

/// A model small enough to check by hand and causal as attention is: part k turns x into
///     y_t = x_t + w_k (x_0 + ... + x_t),    hence    dx_t = dy_t + w_k (dy_t + ... + dy_last),
///     dw_k = sum of dy_t (x_0 + ... + x_t).
/// Tokens are small integers, and so are the loss's gradients, so that doubles hold every number exactly and
/// a step gives the same bits however it is cut.
struct prefix_model {
  static double token(sequence_id s, std::int64_t t) { return static_cast<double>((s.value * 7 + t * 3) % 5 - 2); }
  static double slope(sequence_id s, std::int64_t t) { return static_cast<double>((s.value * 5 + t * 11) % 7 - 3); }
  static double weight(int part) { return part % 3 == 2 ? -1 : part % 3; }

  struct gradients {
    double loss{};
    std::vector<double> weight;  // per part
  };

  /// Loss and gradients of whole sequences, without slices, stages or messages.
  static gradients whole(std::span<const tokens> lengths, int parts) {
    gradients g;
    g.weight.resize(static_cast<std::size_t>(parts));
    for (std::uint32_t i = 0; i < lengths.size(); ++i) {
      const sequence_id s{i};
      const auto n = static_cast<std::size_t>(lengths[i].value);
      std::vector<std::vector<double>> sum(static_cast<std::size_t>(parts), std::vector<double>(n));
      std::vector<double> x(n), dy(n);
      for (std::size_t t = 0; t < n; ++t) x[t] = token(s, static_cast<std::int64_t>(t));
      for (int k = 0; k < parts; ++k) {
        double running = 0;
        for (std::size_t t = 0; t < n; ++t) {
          sum[static_cast<std::size_t>(k)][t] = running += x[t];
          x[t] += weight(k) * running;
        }
      }
      for (std::size_t t = 0; t < n; ++t) {
        dy[t] = slope(s, static_cast<std::int64_t>(t));
        g.loss += dy[t] * x[t];
      }
      for (int k = parts; k-- > 0;) {
        double later = 0;
        for (std::size_t t = n; t-- > 0;) {
          g.weight[static_cast<std::size_t>(k)] += dy[t] * sum[static_cast<std::size_t>(k)][t];
          later += dy[t];
          dy[t] += weight(k) * later;
        }
      }
    }
    return g;
  }
};

/// One stage of it; `width` copies of each number make a token's message. The forms of the concept derive from it.
/// scale: of all weights; with one below 1 values stay small over many parts
class prefix_stage {
 public:
  prefix_stage(int stage, int stages, int chunks, std::int64_t width = 1, double scale = 1)
      : stage_(stage),
        stages_(stages),
        chunks_(chunks),
        width_(width),
        scale_(scale),
        gradient_(static_cast<std::size_t>(chunks)),
        before_(static_cast<std::size_t>(chunks)),
        later_(static_cast<std::size_t>(chunks)) {}

  [[nodiscard]] message_format format() const { return {width_, element_type::float64}; }
  [[nodiscard]] int chunks() const { return chunks_; }
  [[nodiscard]] double loss() const { return loss_; }
  [[nodiscard]] std::span<const double> gradient() const { return gradient_; }  // per chunk
  [[nodiscard]] int part(std::uint32_t chunk) const { return static_cast<int>(chunk) * stages_ + stage_; }

  template <class Group>
  result<void> reduce(Group& group) {
    return group.sum(std::span<double>(gradient_));
  }

  void zero() {
    loss_ = 0;
    gradient_.assign(gradient_.size(), 0);
  }

 protected:
  [[nodiscard]] std::span<double> gradient_of(std::uint32_t chunk) { return std::span(gradient_).subspan(chunk, 1); }

  /// Runs a piece and returns x_0 + ... + x_t of its tokens.
  std::vector<double> run_forward(const piece& p, std::span<const std::byte> in, std::span<std::byte> out) {
    const auto n = static_cast<std::size_t>(p.slice.length.value);
    const auto w = static_cast<std::size_t>(width_);
    const double weight = scale_ * prefix_model::weight(part(p.chunk));
    const std::span<const double> x = as<double>(in);
    double& running = before_[p.chunk][p.slice.sequence];
    if (p.is_first()) running = 0;
    std::vector<double> sums(n);
    auto* y = reinterpret_cast<double*>(out.data());
    for (std::size_t t = 0; t < n; ++t) {
      const std::int64_t at = p.slice.begin.value + static_cast<std::int64_t>(t);
      const double value = x.empty() ? prefix_model::token(p.slice.sequence, at) : x[t * w + w - 1];
      sums[t] = running += value;
      const double result = value + weight * running;
      if (part(p.chunk) == stages_ * chunks_ - 1) loss_ += prefix_model::slope(p.slice.sequence, at) * result * real(p);
      for (std::size_t c = 0; c < w && !out.empty(); ++c) y[t * w + c] = result;
    }
    return sums;
  }

  void run_backward(const piece& p, std::span<const double> sums, std::span<const std::byte> in,
                    std::span<std::byte> out) {
    const auto n = static_cast<std::size_t>(p.slice.length.value);
    const auto w = static_cast<std::size_t>(width_);
    const double weight = scale_ * prefix_model::weight(part(p.chunk));
    const std::span<const double> dy = as<double>(in);
    double& later = later_[p.chunk][p.slice.sequence];
    if (p.is_last()) later = 0;
    auto* dx = reinterpret_cast<double*>(out.data());
    for (std::size_t t = n; t-- > 0;) {
      const std::int64_t at = p.slice.begin.value + static_cast<std::int64_t>(t);
      const double value = dy.empty() ? prefix_model::slope(p.slice.sequence, at) * real(p) : dy[t * w + w - 1];
      if (p.weights_apart)
        left_[{p.chunk, p.slice.sequence, at}] = value;
      else
        gradient_[p.chunk] += value * sums[t];
      later += value;
      for (std::size_t c = 0; c < w && !out.empty(); ++c) dx[t * w + c] = value + weight * later;
    }
  }

  /// The weight gradients that run_backward left of a piece.
  void run_weights(const piece& p, std::span<const double> sums) {
    for (std::int64_t at = p.slice.begin.value; at < p.slice.end().value; ++at) {
      const auto dy = left_.find({p.chunk, p.slice.sequence, at});
      gradient_[p.chunk] += dy->second * sums[static_cast<std::size_t>(at - p.slice.begin.value)];
      left_.erase(dy);
    }
  }
  [[nodiscard]] std::size_t left() const { return left_.size(); }
  void forget() { left_.clear(); }

 private:
  static double real(const piece& p) { return p.loss_weight > 0 ? 1 : 0; }  // what an idle replica runs has no weight

  int stage_, stages_, chunks_;
  std::int64_t width_;
  double scale_;
  double loss_{};
  std::vector<double> gradient_;
  std::vector<std::map<sequence_id, double>> before_, later_;                    // per chunk
  std::map<std::tuple<std::uint32_t, sequence_id, std::int64_t>, double> left_;  // dy of tokens whose W is to come
};

/// By piece, with a state that the runtime keeps: an autograd graph. Move-only.
class prefix_by_piece : public prefix_stage {
 public:
  using prefix_stage::prefix_stage;
  class state {
   public:
    explicit state(std::vector<double> sums) : sums_(std::make_unique<std::vector<double>>(std::move(sums))) {}
    [[nodiscard]] std::span<const double> sums() const { return *sums_; }

   private:
    std::unique_ptr<std::vector<double>> sums_;
  };
  result<state> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    return state{run_forward(p, in, out.bytes())};
  }
  result<void> backward(const piece& p, state s, std::span<const std::byte> in, outgoing& out) {
    run_backward(p, s.sums(), in, out.bytes());
    return success();
  }
  void discard(const piece&, state) {}
};

/// By pack, with states.
class prefix_by_pack : public prefix_stage {
 public:
  using prefix_stage::prefix_stage;
  using state = std::vector<double>;
  result<void> forward(std::span<const piece> pack, std::span<state> states, std::span<const std::byte> in,
                       outgoing& out) {
    std::span<std::byte> to = out.bytes();
    for (std::size_t k = 0; k < pack.size(); ++k) {
      const std::size_t size = static_cast<std::size_t>(pack[k].slice.length.value) * format().bytes_per_token();
      states[k] = run_forward(pack[k], in.empty() ? in : in.first(size), to.empty() ? to : to.first(size));
      if (!in.empty()) in = in.subspan(size);
      if (!to.empty()) to = to.subspan(size);
    }
    return success();
  }
  result<void> backward(std::span<const piece> pack, std::span<state> states, std::span<const std::byte> in,
                        outgoing& out) {
    std::span<std::byte> to = out.bytes();
    for (std::size_t k = 0; k < pack.size(); ++k) {
      const std::size_t size = static_cast<std::size_t>(pack[k].slice.length.value) * format().bytes_per_token();
      run_backward(pack[k], states[k], in.empty() ? in : in.first(size), to.empty() ? to : to.first(size));
      if (!in.empty()) in = in.subspan(size);
      if (!to.empty()) to = to.subspan(size);
    }
    return success();
  }
  void discard(const piece&, state) {}
};

/// By piece, without results: a trainer whose layers cannot fail.
class prefix_that_cannot_fail : public prefix_stage {
 public:
  using prefix_stage::prefix_stage;
  using state = std::vector<double>;
  state forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    return run_forward(p, in, out.bytes());
  }
  void backward(const piece& p, const state& sums, std::span<const std::byte> in, outgoing& out) {
    run_backward(p, sums, in, out.bytes());
  }
  void discard(const piece&, const state&) {}
};

/// Without states: one arena per sequence, reached by token (backward cut anywhere, or at the forward cuts).
template <backward_cuts Cuts>
class prefix_in_arena : public prefix_stage {
 public:
  static constexpr backward_cuts cuts = Cuts;
  using prefix_stage::prefix_stage;
  result<void> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    std::vector<double>& sums = arena_[{p.chunk, p.slice.sequence}];
    sums.resize(static_cast<std::size_t>(p.sequence_length.value));
    const std::vector<double> here = run_forward(p, in, out.bytes());
    std::copy(here.begin(), here.end(), sums.begin() + p.slice.begin.value);
    return success();
  }
  result<void> backward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    const std::vector<double>& sums = arena_.at({p.chunk, p.slice.sequence});
    run_backward(p, std::span(sums).subspan(static_cast<std::size_t>(p.slice.begin.value)), in, out.bytes());
    if (p.is_first()) arena_.erase({p.chunk, p.slice.sequence});
    return success();
  }
  void discard(const piece& p) { arena_.erase({p.chunk, p.slice.sequence}); }
  [[nodiscard]] bytes held() const { return {static_cast<double>(arena_.size())}; }

 private:
  std::map<std::pair<std::uint32_t, sequence_id>, std::vector<double>> arena_;
};

/// The same, which can leave weight gradients to a call of their own; by piece, or by pack.
template <backward_cuts Cuts, bool ByPack>
class prefix_splitting : public prefix_stage {
 public:
  static constexpr backward_cuts cuts = Cuts;
  static constexpr bool splits_weight_gradients = true;
  using prefix_stage::prefix_stage;

  void forward(const piece& p, std::span<const std::byte> in, outgoing& out) requires(!ByPack) {
    fore(p, in, out.bytes());
  }
  void backward(const piece& p, std::span<const std::byte> in, outgoing& out) requires(!ByPack) {
    back(p, in, out.bytes());
  }
  void weights(const piece& p) requires(!ByPack) { rest(p); }

  void forward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) requires ByPack {
    each(pack, in, out, [this](const piece& p, auto from, auto to) { fore(p, from, to); });
  }
  void backward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) requires ByPack {
    each(pack, in, out, [this](const piece& p, auto from, auto to) { back(p, from, to); });
  }
  void weights(std::span<const piece> pack) requires ByPack {
    for (const piece& p : pack) rest(p);
  }

  void discard(const piece& p) { arena_.erase({p.chunk, p.slice.sequence}), forget(); }
  [[nodiscard]] bytes held() const { return {static_cast<double>(arena_.size() + left())}; }

 private:
  void fore(const piece& p, std::span<const std::byte> in, std::span<std::byte> out) {
    std::vector<double>& sums = arena_[{p.chunk, p.slice.sequence}];
    sums.resize(static_cast<std::size_t>(p.sequence_length.value));
    const std::vector<double> here = run_forward(p, in, out);
    std::copy(here.begin(), here.end(), sums.begin() + p.slice.begin.value);
  }
  void back(const piece& p, std::span<const std::byte> in, std::span<std::byte> out) {
    run_backward(p, sums_of(p), in, out);
    if (p.is_first() && !p.weights_apart) arena_.erase({p.chunk, p.slice.sequence});
  }
  void rest(const piece& p) {
    run_weights(p, sums_of(p));
    if (p.is_first()) arena_.erase({p.chunk, p.slice.sequence});
  }
  std::span<const double> sums_of(const piece& p) const {
    return std::span(arena_.at({p.chunk, p.slice.sequence})).subspan(static_cast<std::size_t>(p.slice.begin.value));
  }
  template <class Call>
  void each(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out, const Call& call) {
    std::span<std::byte> to = out.bytes();
    for (const piece& p : pack) {
      const std::size_t size = static_cast<std::size_t>(p.slice.length.value) * format().bytes_per_token();
      call(p, in.empty() ? in : in.first(size), to.empty() ? to : to.first(size));
      if (!in.empty()) in = in.subspan(size);
      if (!to.empty()) to = to.subspan(size);
    }
  }

  std::map<std::pair<std::uint32_t, sequence_id>, std::vector<double>> arena_;
};

}  // namespace slimpack

#endif
