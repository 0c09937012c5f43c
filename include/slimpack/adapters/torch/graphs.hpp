#ifndef SLIMPACK_ADAPTERS_TORCH_GRAPHS_HPP
#define SLIMPACK_ADAPTERS_TORCH_GRAPHS_HPP

#include <slimpack/adapters/torch/keys_values.hpp>
#include <slimpack/adapters/torch/slice_call.hpp>
#include <slimpack/adapters/torch/tensor_messages.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/executors/outgoing.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/executors/sharing.hpp>

#include <ATen/ThreadLocalState.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::libtorch {

/// What forward leaves to backward of a slice.
struct slice_graph {
  at::Tensor x;                   ///< the leaf of what came in; undefined on the first part
  at::Tensor y;                   ///< what went out; on the last part the loss
  std::vector<layer_cut> cuts{};  ///< where the graph ends, of a sequence that replicas share
};

/// Runs backward through a slice, down to its leaf.
/// gradient  of y
inline void pull(const slice_graph& s, const at::Tensor& gradient) { torch::autograd::backward({s.y}, {gradient}); }

/// Runs backward through a slice whose graph ends in each layer, from the last one down: through what lies above the
/// layer's attention; then `meets`, in which replicas tell each other what they owe; then through what made queries,
/// keys and values.
/// own       the slice's tokens
template <class Meets>
void pull(slice_graph& s, const at::Tensor& gradient, std::span<const token_run> own, Meets&& meets) {
  torch::autograd::backward({s.y}, {gradient});
  for (std::size_t layer = s.cuts.size(); layer-- > 0;) {
    layer_cut cut = std::move(s.cuts[layer]);
    cut.rows->add_gradients(cut.keys.grad(), cut.values.grad());
    cut.keys.reset(), cut.values.reset();
    meets(static_cast<int>(layer));
    const auto [k, v] = cut.rows->gradients_of(own);
    torch::autograd::backward({cut.q, cut.k, cut.v},
                              {cut.queries.grad(), k.to(cut.k.scalar_type()), v.to(cut.v.scalar_type())});
    if (cut.x.requires_grad()) torch::autograd::backward({cut.x}, {cut.entered.grad()});
  }
}

/// Rows of keys and values, and of their gradients, as replicas send them to each other: a token's keys, then its
/// values, in each layer. It is an executors::row_ledger.
class shared_ledger {
 public:
  shared_ledger(path_rows& path, const row_format& format, const at::Device& device)
      : path_(path), format_(format), device_(device) {}

  /// Memory for joined rows, where the transport moves them from.
  [[nodiscard]] std::span<std::byte> room(std::size_t size) {
    joined_ = at::empty({static_cast<std::int64_t>(size)}, at::TensorOptions(at::kByte).device(device_));
    return {static_cast<std::byte*>(joined_.data_ptr()), size};
  }

  void read(int layer, const slice& s, std::span<std::byte> to) {
    const layer_rows& rows = of(layer);
    joined(rows.keys().narrow(0, s.begin.value, s.length.value), rows.values().narrow(0, s.begin.value, s.length.value),
           format_.keys_values, to);
  }
  void write(int layer, const slice& s, std::span<const std::byte> from) {
    const token_run run{s.begin.value, s.length.value};
    const auto [k, v] = parted(layer, from, format_.keys_values);
    of(layer).write({&run, 1}, k, v);
  }
  void read_gradients(int layer, const slice& s, std::span<std::byte> to) {
    const token_run run{s.begin.value, s.length.value};
    const auto [k, v] = of(layer).gradients_of({&run, 1});
    joined(k, v, format_.gradients, to);
  }
  void write_gradients(int layer, const slice& s, std::span<const std::byte> from) {
    const auto [k, v] = parted(layer, from, format_.gradients);
    of(layer).set_gradients({s.begin.value, s.length.value}, k, v);
  }

 private:
  [[nodiscard]] layer_rows& of(int layer) { return *path_.layers.at(static_cast<std::size_t>(layer)); }
  void joined(const at::Tensor& k, const at::Tensor& v, const message_format& format, std::span<std::byte> to) {
    detail::seen_as_rows(to.data(), to.size(), format, k.device()).copy_(at::cat({k.flatten(1), v.flatten(1)}, 1));
  }
  [[nodiscard]] std::pair<at::Tensor, at::Tensor> parted(int layer, std::span<const std::byte> from,
                                                         const message_format& format) {
    const at::Tensor& like = of(layer).keys();
    const at::Tensor all = detail::seen_as_rows(from.data(), from.size(), format, like.device());
    const std::int64_t half = format.width / 2;
    const auto heads = [&](const at::Tensor& rows) { return rows.reshape({rows.size(0), like.size(1), like.size(2)}); };
    return {heads(all.narrow(1, 0, half)), heads(all.narrow(1, half, half))};
  }

  path_rows& path_;
  row_format format_;
  at::Device device_;
  at::Tensor joined_;
};

/// The messages of the pieces of a row, within that of the pack.
class row_messages {
 public:
  row_messages(std::span<const piece> row, std::span<const std::byte> in, outgoing& out, const message_format& format)
      : in_(in), wanted_(out.wanted()), out_(wanted_ ? out.bytes() : std::span<std::byte>()) {
    first_.push_back(0);
    for (const piece& p : row)
      first_.push_back(first_.back() + static_cast<std::size_t>(p.slice.length.value) * format.bytes_per_token());
  }
  [[nodiscard]] std::span<const std::byte> in(std::size_t i) const { return in_.empty() ? in_ : part(in_, i); }
  /// Calls back with the piece's part of what goes out.
  template <class Call>
  auto with_out(std::size_t i, Call&& call) const {
    if (!wanted_) {
      outgoing none;
      return call(none);
    }
    outgoing one(part(out_, i));
    return call(one);
  }

 private:
  template <class Byte>
  [[nodiscard]] std::span<Byte> part(std::span<Byte> all, std::size_t i) const {
    return all.subspan(first_[i], first_[i + 1] - first_[i]);
  }
  std::span<const std::byte> in_;
  bool wanted_;
  std::span<std::byte> out_;
  std::vector<std::size_t> first_;
};

/// The thread-local state of the thread that makes it, for others: grad mode, autocast and what else PyTorch keeps so
/// and, of a device, which one is current, and its stream.
class thread_state {
 public:
  explicit thread_state(const at::Device& device) {
    if (device.is_cpu()) return;
    const c10::impl::VirtualGuardImpl guard(device.type());
    stream_ = guard.getStream(guard.getDevice());
  }

  /// Held on another thread, which has the state meanwhile.
  class held {
   public:
    explicit held(const thread_state& of) : locals_(of.locals_) {
      if (!of.stream_) return;
      const c10::impl::VirtualGuardImpl guard(of.stream_->device_type());
      guard.uncheckedSetDevice(of.stream_->device());
      guard.exchangeStream(*of.stream_);
    }

   private:
    at::ThreadLocalStateGuard locals_;
  };
  /// The thread ends with the row, so that its device and stream need not be put back.
  [[nodiscard]] std::unique_ptr<held> operator()() const { return std::make_unique<held>(*this); }

 private:
  at::ThreadLocalState locals_{};
  std::optional<c10::Stream> stream_{};
};

}  // namespace slimpack::libtorch

#endif
