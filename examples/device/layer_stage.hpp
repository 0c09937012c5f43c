#ifndef SLIMPACK_EXAMPLES_DEVICE_LAYER_STAGE_HPP
#define SLIMPACK_EXAMPLES_DEVICE_LAYER_STAGE_HPP

#include "kernels.hpp"
#include "matrix.hpp"
#include "pool.hpp"
#include "texts.hpp"

#include <slimpack/executors/message_format.hpp>
#include <slimpack/executors/outgoing.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/executors/sharing.hpp>

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

/// One layer as a stage compute whose calls only issue work, on the transport's stream: y = x + attention(x Wq, x Wk, x
/// Wv) Wo. The last stage learns that each row is to become the next of its text. Replicas may share a text: they send
/// each other keys and values.
///   End       a transport of device memory: device(), stream()
///   Products  of that device: product(c, a, b, keep) for c = a b + keep c, run(count, kernel) for one of kernels.hpp
template <class End, class Products>
class layer_stage {
 public:
  using device = std::remove_cvref_t<decltype(std::declval<End&>().device())>;
  using block = typename pool<device>::block;
  static constexpr slimpack::backward_cuts cuts = slimpack::backward_cuts::any;
  static constexpr bool shares_rows = true;

  /// Errors  those of the device
  static slimpack::result<layer_stage> make(End& on, Products products, const texts& batch, int stage) {
    layer_stage made(on, std::move(products), batch);
    const std::vector<double> weights = initial_weights(stage);
    for (const auto& [to, size] : {std::pair{&made.text_, batch.numbers().size()},
                                   {&made.weights_, weights.size()},
                                   {&made.gradients_, weights.size()}}) {
      auto taken = made.memory_->take(size);
      if (!taken) return std::move(taken).error();
      *to = std::move(taken).value();
    }
    auto loss = on.device().allocate_pinned(sizeof(double));  // the host reads it at the end of a step
    if (!loss) return std::move(loss).error();
    made.loss_.emplace(std::move(loss).value());
    made.loss_number() = 0;
    if (slimpack::result<void> sent = made.upload(batch.numbers(), made.text_.numbers()); !sent)
      return std::move(sent).error();
    if (slimpack::result<void> sent = made.upload(weights, made.weights_.numbers()); !sent)
      return std::move(sent).error();
    if (slimpack::result<void> done = made.products_.run(weights.size(), kernels::clear{made.gradients_.numbers()});
        !done)
      return std::move(done).error();
    return made;
  }

  slimpack::message_format format() const { return {width, slimpack::element_type::float64}; }
  slimpack::row_format rows(std::uint32_t /*chunk*/) const {  // of a token: its key, and its value behind it
    return {1, {2 * width, slimpack::element_type::float64}, {2 * width, slimpack::element_type::float64}};
  }
  block make_tensor(slimpack::tokens size) {
    return memory_->take(static_cast<std::size_t>(size.value) * width).value();
  }
  double loss() { return loss_number(); }

  slimpack::result<void> copy_rows(std::span<const std::byte> from, std::span<std::byte> to) {
    return on_->device().copy(on_->stream(), to, from);
  }
  slimpack::result<void> add_rows(std::span<const std::byte> from, std::span<std::byte> to) {
    const auto more = slimpack::as<double>(from);
    return products_.run(more.size(), kernels::add{more.data(), reinterpret_cast<double*>(to.data())});
  }

  slimpack::result<void> forward(const slimpack::piece& p, std::span<const std::byte> in, slimpack::outgoing& out) {
    if (slimpack::result<void> made = begin(p); !made) return made;
    work w{*this};
    project(w, p, rows_of(in));
    mix(w, p, rows_of(out));
    return w.issued;
  }
  /// The pieces of a text that others have the rest of.
  slimpack::result<void> forward(std::span<const slimpack::piece> row, std::span<const std::byte> in,
                                 slimpack::outgoing& out, slimpack::sharing& with) {
    if (slimpack::result<void> made = begin(row.front()); !made) return made;
    const sequence& s = kept_.at(with.sequence());
    const const_matrix x = rows_of(in);
    const matrix y = rows_of(out);
    work w{*this};
    each(row, [&](const slimpack::piece& p, std::size_t at, std::size_t count) { project(w, p, x.from(at, count)); });
    block own = room_for(w, with.own());
    join(w, s.qkv, with.own(), own.numbers());
    w.then([&] { return with.give(0, as_span(own)); });
    w.then([&]() -> slimpack::result<void> {
      const slimpack::result<std::span<const std::byte>> taken = with.take(0);
      if (!taken) return taken.error();
      part(w, slimpack::as<double>(taken.value()).data(), with.others(), s.qkv);
      return w.issued;
    });
    each(row, [&](const slimpack::piece& p, std::size_t at, std::size_t count) { mix(w, p, y.from(at, count)); });
    return w.issued;
  }

  slimpack::result<void> backward(const slimpack::piece& p, std::span<const std::byte> in, slimpack::outgoing& out) {
    work w{*this};
    mix_backward(w, p, rows_of(in));
    project_backward(w, p, rows_of(in), rows_of(out));
    return w.issued;
  }
  slimpack::result<void> backward(std::span<const slimpack::piece> row, std::span<const std::byte> in,
                                  slimpack::outgoing& out, slimpack::sharing& with) {
    const sequence& s = kept_.at(with.sequence());
    const const_matrix dy = rows_of(in);
    const matrix dx = rows_of(out);
    work w{*this};
    each(row,
         [&](const slimpack::piece& p, std::size_t at, std::size_t count) { mix_backward(w, p, dy.from(at, count)); });
    block owed = room_for(w, with.others()), own = room_for(w, with.own());
    join(w, s.dqkv, with.others(), owed.numbers());
    w.then([&] { return with.owe(0, as_span(owed)); });
    join(w, s.dqkv, with.own(), own.numbers());
    w.then([&] { return with.due(0, std::span(own.numbers(), own.size())); });
    part(w, own.numbers(), with.own(), s.dqkv);
    each(row, [&](const slimpack::piece& p, std::size_t at, std::size_t count) {
      project_backward(w, p, dy.from(at, count), dx.from(at, count));
    });
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
    if (slimpack::result<void> copied =
            on_->device().copy(on_->stream(), bytes, bytes_of(gradients_of(0).from(0, 4 * width)));
        !copied)
      return std::move(copied).error();
    if (slimpack::result<void> came = on_->device().synchronize(on_->stream()); !came) return std::move(came).error();
    const auto* const numbers = reinterpret_cast<const double*>(bytes.data());
    return std::vector<double>(numbers, numbers + 4 * width * width);
  }

 private:
  /// What backward needs of a text, all in one block: by token, so that the plan may cut backward where it did not cut
  /// forward.
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
  static std::size_t first_of(const slimpack::slice& s) { return static_cast<std::size_t>(s.begin.value); }
  static std::size_t count_of(const slimpack::slice& s) { return static_cast<std::size_t>(s.length.value); }
  /// Calls what(piece, where its rows lie in those of all, how many).
  template <class What>
  static void each(std::span<const slimpack::piece> row, const What& what) {
    std::size_t at = 0;
    for (const slimpack::piece& p : row) what(p, at, count_of(p.slice)), at += count_of(p.slice);
  }

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
      if (issued && count > 0) issued = of.products_.run(count, kernel);
    }
    template <class Call>
    void then(const Call& call) {
      if (issued) issued = call();
    }
  };

  /// Queries, keys and values of a piece. x: its rows, or none on the first stage, which has the text
  void project(work& w, const slimpack::piece& p, const const_matrix& x) {
    const sequence& s = kept_.at(p.slice.sequence);
    const std::size_t first = first_of(p.slice), count = count_of(p.slice);
    const matrix kept = s.x.from(first, count);
    w.copy(kept, x.at != nullptr ? x : batch_->rows(text_.numbers(), p.slice.sequence, first, count));
    for (std::size_t m = 0; m < 3; ++m) w.product(s.qkv[m].from(first, count), kept, weights_of(m), 0);
  }
  /// Its attention to all keys before, which are there. y: where its rows go, or none on the last stage, which has the
  /// loss
  void mix(work& w, const slimpack::piece& p, const matrix& to) {
    const sequence& s = kept_.at(p.slice.sequence);
    const std::size_t first = first_of(p.slice), count = count_of(p.slice);
    const matrix mixed = s.mixed.from(first, count), y = to.at != nullptr ? to : s.dy.from(first, count);
    w.run(mixed.size(), kernels::attend{s.attention(first, count), mixed, s.totals + first});
    w.copy(y, s.x.from(first, count));
    w.product(y, mixed, weights_of(3), 1);
    if (to.at != nullptr) return;
    const const_matrix next = batch_->rows(text_.numbers(), p.slice.sequence, first + 1, count);
    w.run(count, kernels::miss{y, next, p.loss_weight / static_cast<double>(count), s.losses + first});
    w.run(1, kernels::add_up{s.losses + first, count, &loss_number()});
  }
  [[nodiscard]] static const_matrix gradients_in(const sequence& s, const slimpack::piece& p, const const_matrix& dy) {
    return dy.at != nullptr ? dy : s.dy.from(first_of(p.slice), count_of(p.slice));
  }
  /// Adds to the gradients of all keys and values that it attended to.
  void mix_backward(work& w, const slimpack::piece& p, const const_matrix& in) {
    const sequence& s = kept_.at(p.slice.sequence);
    const std::size_t first = first_of(p.slice), count = count_of(p.slice);
    const const_matrix mixed = s.mixed.from(first, count), dy = gradients_in(s, p, in);
    const matrix dmixed = s.dmixed.from(first, count), dq = s.dqkv[0].from(first, count);
    const matrix dk = s.dqkv[1].from(0, first + count), dv = s.dqkv[2].from(0, first + count);
    w.product(dmixed, dy, transpose(weights_of(3)), 0);
    w.product(gradients_of(3), transpose(mixed), dy, 1);
    const kernels::attended of{s.attention(first, count), mixed, s.totals + first, dmixed};
    w.run(dq.size(), kernels::queries_backward{of, dq});
    w.run(dk.size(), kernels::keys_backward{of, dk, dv});
  }
  /// The gradients of its own keys and values are complete.
  void project_backward(work& w, const slimpack::piece& p, const const_matrix& in, const matrix& dx) {
    const sequence& s = kept_.at(p.slice.sequence);
    const std::size_t first = first_of(p.slice), count = count_of(p.slice);
    for (std::size_t m = 0; m < 3; ++m)
      w.product(gradients_of(m), transpose(s.x.from(first, count)), s.dqkv[m].from(first, count), 1);
    if (dx.at == nullptr) return;
    w.copy(dx, gradients_in(s, p, in));
    for (std::size_t m = 0; m < 3; ++m) w.product(dx, s.dqkv[m].from(first, count), transpose(weights_of(m)), 1);
  }

  /// Memory for keys and values of slices.
  block room_for(work& w, std::span<const slimpack::slice> of) {
    std::size_t tokens = 0;
    for (const slimpack::slice& s : of) tokens += count_of(s);
    block room;
    if (tokens == 0) return room;
    w.then([&]() -> slimpack::result<void> {
      auto taken = memory_->take(2 * width * tokens);
      if (!taken) return std::move(taken).error();
      room = std::move(taken).value();
      return slimpack::success();
    });
    return room;
  }
  /// Keys and values of slices, or their gradients, as they travel: those of a token behind each other.
  void join(work& w, const std::array<matrix, 3>& qkv, std::span<const slimpack::slice> of, double* to) {
    for (const slimpack::slice& s : of) {
      const matrix k = qkv[1].from(first_of(s), count_of(s)), v = qkv[2].from(first_of(s), count_of(s));
      w.run(2 * k.size(), kernels::join{k, v, to});
      to += 2 * k.size();
    }
  }
  void part(work& w, const double* from, std::span<const slimpack::slice> of, const std::array<matrix, 3>& qkv) {
    for (const slimpack::slice& s : of) {
      const matrix k = qkv[1].from(first_of(s), count_of(s)), v = qkv[2].from(first_of(s), count_of(s));
      w.run(2 * k.size(), kernels::part{from, k, v});
      from += 2 * k.size();
    }
  }

  layer_stage(End& on, Products products, const texts& batch)
      : on_(&on),
        products_(std::move(products)),
        batch_(&batch),
        memory_(std::make_unique<pool<device>>(on.device())) {}

  slimpack::result<void> begin(const slimpack::piece& p) {
    if (kept_.contains(p.slice.sequence)) return slimpack::success();
    const auto length = static_cast<std::size_t>(p.sequence_length.value);
    auto taken = memory_->take(length * (10 * width + 2));
    if (!taken) return std::move(taken).error();
    sequence s{std::move(taken).value(), {}, {}, {}, {}, {}, {}, {}, {}};
    double* at = s.memory.numbers();
    for (matrix* const one :
         {&s.x, &s.mixed, &s.dy, &s.dmixed, &s.qkv[0], &s.qkv[1], &s.qkv[2], &s.dqkv[0], &s.dqkv[1], &s.dqkv[2]}) {
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
    if (slimpack::result<void> sent = on_->device().copy(on_->stream(), bytes_of(there), as_span(host.value())); !sent)
      return sent;
    return on_->device().synchronize(on_->stream());
  }

  /// Of a message; at the ends of the pipeline, where there is none, rows that are nowhere.
  static const_matrix rows_of(std::span<const std::byte> message) {
    const auto numbers = slimpack::as<double>(message);
    return {numbers.data(), numbers.size() / width, width};
  }
  static matrix rows_of(slimpack::outgoing& message) {
    if (!message.wanted()) return {nullptr, 0, width};
    const auto numbers = message.as<double>();
    return {numbers.data(), numbers.size() / width, width};
  }
  [[nodiscard]] const_matrix weights_of(std::size_t m) {
    return {weights_.numbers() + m * width * width, width, width};
  }
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
