#ifndef SLIMPACK_EXAMPLES_DEVICE_LAYER_STAGE_HPP
#define SLIMPACK_EXAMPLES_DEVICE_LAYER_STAGE_HPP

#include "kernels.hpp"
#include "matrix.hpp"
#include "pool.hpp"
#include "texts.hpp"

#include <slimpack/executors/backward_cuts.hpp>
#include <slimpack/executors/message_format.hpp>
#include <slimpack/executors/outgoing.hpp>
#include <slimpack/executors/piece.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace device_trainer {

/// Of a stage: of queries, keys and values, and of what attention gives. One row after the other.
inline std::vector<double> initial_weights(int stage) {
  std::vector<double> all(4 * width * width);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double seed = static_cast<double>(i) + 1000 * stage;
    all[i] = std::sin(seed * seed) / 2;
  }
  return all;
}

/// One layer as a stage compute whose calls only issue work, on the transport's stream: y = x + attention(x Wq, x Wk, x Wv) Wo. The
/// last stage learns that each row is to become the next of its text.
///   End       a transport of device memory: device(), stream()
///   Products  of that device: product(c, a, b, keep) for c = a b + keep c, run(count, kernel) for one of kernels.hpp
template <class End, class Products>
class layer_stage {
 public:
  using device = std::remove_cvref_t<decltype(std::declval<End&>().device())>;
  using block = typename pool<device>::block;
  static constexpr slimpack::backward_cuts cuts = slimpack::backward_cuts::any;

  /// Errors  those of the device
  static slimpack::result<layer_stage> make(End& on, Products products, const texts& batch, int stage) {
    layer_stage made(on, std::move(products), batch);
    const std::vector<double> weights = initial_weights(stage);
    for (const auto& [to, size] : {std::pair{&made.text_, batch.numbers().size()}, {&made.weights_, weights.size()},
                                   {&made.gradients_, weights.size()}}) {
      auto taken = made.memory_->take(size);
      if (!taken) return std::move(taken).error();
      *to = std::move(taken).value();
    }
    auto loss = on.device().allocate_pinned(sizeof(double));  // the host reads it at the end of a step
    if (!loss) return std::move(loss).error();
    made.loss_.emplace(std::move(loss).value());
    made.loss_number() = 0;
    if (slimpack::result<void> sent = made.upload(batch.numbers(), made.text_.numbers()); !sent) return std::move(sent).error();
    if (slimpack::result<void> sent = made.upload(weights, made.weights_.numbers()); !sent) return std::move(sent).error();
    if (slimpack::result<void> done = made.products_.run(weights.size(), kernels::clear{made.gradients_.numbers()}); !done)
      return std::move(done).error();
    return made;
  }

  slimpack::message_format format() const { return {width, slimpack::element_type::float64}; }
  block make_tensor(slimpack::tokens size) { return memory_->take(static_cast<std::size_t>(size.value) * width).value(); }
  double loss() { return loss_number(); }

  slimpack::result<void> forward(const slimpack::piece& p, std::span<const std::byte> in, slimpack::outgoing& out) {
    if (!kept_.contains(p.slice.sequence))
      if (slimpack::result<void> made = begin(p); !made) return made;
    sequence& s = kept_.at(p.slice.sequence);
    const auto first = static_cast<std::size_t>(p.slice.begin.value), count = static_cast<std::size_t>(p.slice.length.value);
    const matrix x = s.x.from(first, count), mixed = s.mixed.from(first, count), y = out.wanted() ? rows_of(out) : s.dy.from(first, count);
    double* const totals = s.totals + first;

    work w{*this};
    w.copy(x, in.empty() ? batch_->rows(text_.numbers(), p.slice.sequence, first, count) : rows_of(in));
    for (std::size_t m = 0; m < 3; ++m) w.product(s.qkv[m].from(first, count), x, weights_of(m), 0);
    w.run(mixed.size(), kernels::attend{s.attention(first, count), mixed, totals});
    w.copy(y, x);
    w.product(y, mixed, weights_of(3), 1);
    if (!out.wanted()) {
      const const_matrix next = batch_->rows(text_.numbers(), p.slice.sequence, first + 1, count);
      w.run(count, kernels::miss{y, next, p.loss_weight / static_cast<double>(count), s.losses + first});
      w.run(1, kernels::add_up{s.losses + first, count, &loss_number()});
    }
    return w.issued;
  }

  slimpack::result<void> backward(const slimpack::piece& p, std::span<const std::byte> in, slimpack::outgoing& out) {
    sequence& s = kept_.at(p.slice.sequence);
    const auto first = static_cast<std::size_t>(p.slice.begin.value), count = static_cast<std::size_t>(p.slice.length.value);
    const const_matrix x = s.x.from(first, count), mixed = s.mixed.from(first, count);
    const const_matrix dy = in.empty() ? s.dy.from(first, count) : rows_of(in);
    const matrix dmixed = s.dmixed.from(first, count), dq = s.dqkv[0].from(first, count);
    const matrix dk = s.dqkv[1].from(0, first + count), dv = s.dqkv[2].from(0, first + count);

    work w{*this};
    w.product(dmixed, dy, transpose(weights_of(3)), 0);
    w.product(gradients_of(3), transpose(mixed), dy, 1);
    const kernels::attended of{s.attention(first, count), mixed, s.totals + first, dmixed};
    w.run(dq.size(), kernels::queries_backward{of, dq});
    w.run(dk.size(), kernels::keys_backward{of, dk, dv});
    for (std::size_t m = 0; m < 3; ++m) w.product(gradients_of(m), transpose(x), s.dqkv[m].from(first, count), 1);
    if (out.wanted()) {
      const matrix dx = rows_of(out);
      w.copy(dx, dy);
      for (std::size_t m = 0; m < 3; ++m) w.product(dx, s.dqkv[m].from(first, count), transpose(weights_of(m)), 1);
    }
    return w.issued;
  }

  void sequence_done(slimpack::sequence_id s) { kept_.erase(s); }
  void discard(const slimpack::piece& p) { kept_.erase(p.slice.sequence); }
  void abort_step() {
    kept_.clear();
    (void)products_.run(4 * width * width, kernels::clear{gradients_.numbers()});
    loss_number() = 0;
  }
  /// Over the replicas, where there are several.
  template <class Sums>
  slimpack::result<void> reduce_part(std::uint32_t /*chunk*/, Sums& sums) {
    return sums.start(std::span(gradients_.numbers(), 4 * width * width));
  }

  /// The optimizer. Gradients and loss begin at 0 again.
  slimpack::result<void> step(double rate) {
    loss_number() = 0;
    return products_.run(4 * width * width, kernels::descend{weights_.numbers(), gradients_.numbers(), rate});
  }
  /// For the host, which waits for them.
  slimpack::result<std::vector<double>> gradients() {
    auto host = on_->device().allocate_pinned(4 * width * width * sizeof(double));
    if (!host) return std::move(host).error();
    const std::span<std::byte> bytes = as_span(host.value());
    if (slimpack::result<void> copied = on_->device().copy(on_->stream(), bytes, bytes_of(gradients_of(0).from(0, 4 * width))); !copied)
      return std::move(copied).error();
    if (slimpack::result<void> came = on_->device().synchronize(on_->stream()); !came) return std::move(came).error();
    const auto* const numbers = reinterpret_cast<const double*>(bytes.data());
    return std::vector<double>(numbers, numbers + 4 * width * width);
  }

 private:
  /// What backward needs of a text, all in one block: by token, so that the plan may cut backward where it did not cut forward.
  struct sequence {
    block memory;
    matrix x, mixed, dy, dmixed;
    std::array<matrix, 3> qkv, dqkv;
    double* totals;
    double* losses;

    [[nodiscard]] kernels::attention attention(std::size_t first, std::size_t count) const {
      return {qkv[0].from(first, count), qkv[1].from(0, first + count), qkv[2].from(0, first + count)};
    }
  };

  /// Issues work until some cannot be issued.
  struct work {
    layer_stage& of;
    slimpack::result<void> issued = slimpack::success();

    void copy(const matrix& to, const const_matrix& from) {
      if (issued) issued = of.on_->device().copy(of.on_->stream(), bytes_of(to), bytes_of(from));
    }
    void product(const matrix& c, const const_matrix& a, const const_matrix& b, double keep) {
      if (issued) issued = of.products_.product(c, a, b, keep);
    }
    template <class Kernel>
    void run(std::size_t count, const Kernel& kernel) {
      if (issued) issued = of.products_.run(count, kernel);
    }
  };

  layer_stage(End& on, Products products, const texts& batch)
      : on_(&on), products_(std::move(products)), batch_(&batch), memory_(std::make_unique<pool<device>>(on.device())) {}

  slimpack::result<void> begin(const slimpack::piece& p) {
    const auto length = static_cast<std::size_t>(p.sequence_length.value);
    auto taken = memory_->take(length * (10 * width + 2));
    if (!taken) return std::move(taken).error();
    sequence s{std::move(taken).value(), {}, {}, {}, {}, {}, {}, {}, {}};
    double* at = s.memory.numbers();
    for (matrix* const one : {&s.x, &s.mixed, &s.dy, &s.dmixed, &s.qkv[0], &s.qkv[1], &s.qkv[2], &s.dqkv[0], &s.dqkv[1], &s.dqkv[2]}) {
      *one = {at, length, width};
      at += length * width;
    }
    s.totals = at, s.losses = at + length;
    const slimpack::result<void> cleared = products_.run(2 * length * width, kernels::clear{s.dqkv[1].at});
    kept_.emplace(p.slice.sequence, std::move(s));
    return cleared;
  }

  slimpack::result<void> upload(std::span<const double> numbers, double* to) {
    auto host = on_->device().allocate_pinned(numbers.size_bytes());
    if (!host) return std::move(host).error();
    std::copy(numbers.begin(), numbers.end(), reinterpret_cast<double*>(as_span(host.value()).data()));
    const matrix there{to, numbers.size(), 1};
    if (slimpack::result<void> sent = on_->device().copy(on_->stream(), bytes_of(there), as_span(host.value())); !sent) return sent;
    return on_->device().synchronize(on_->stream());
  }

  static const_matrix rows_of(std::span<const std::byte> message) {
    const auto numbers = slimpack::as<double>(message);
    return {numbers.data(), numbers.size() / width, width};
  }
  static matrix rows_of(slimpack::outgoing& message) {
    const auto numbers = message.as<double>();
    return {numbers.data(), numbers.size() / width, width};
  }
  [[nodiscard]] const_matrix weights_of(std::size_t m) { return {weights_.numbers() + m * width * width, width, width}; }
  [[nodiscard]] matrix gradients_of(std::size_t m) { return {gradients_.numbers() + m * width * width, width, width}; }
  [[nodiscard]] double& loss_number() { return *reinterpret_cast<double*>(as_span(*loss_).data()); }

  End* on_;
  Products products_;
  const texts* batch_;
  std::unique_ptr<pool<device>> memory_;  // blocks know where it is
  block text_, weights_, gradients_;
  std::optional<typename device::memory> loss_;
  std::map<slimpack::sequence_id, sequence> kept_;
};

}  // namespace device_trainer

#endif
