#ifndef SLIMPACK_TESTS_TRAIN_REMAPPED_MODEL_HPP
#define SLIMPACK_TESTS_TRAIN_REMAPPED_MODEL_HPP

#include "../../examples/train/model/attention.hpp"
#include "../../examples/train/model/embedding.hpp"
#include "../../examples/train/model/head.hpp"
#include "../../examples/train/model/layer_range.hpp"
#include "../../examples/train/model/linear.hpp"
#include "../../examples/train/model/model_stage.hpp"
#include "../../examples/train/model/rms_norm.hpp"
#include "../../examples/train/model/rotary.hpp"
#include "../../examples/train/model/swiglu.hpp"

#include <slimpack/executors/outgoing.hpp>
#include <slimpack/pricing/remap/remapping.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::tests {

/// The transformer on one of several ranks, each with whole sequences of its own: attention where the sequences are,
/// everything else on as many tokens as every other rank has. Queries, keys and values go home in each layer, and
/// outputs come back; backward their gradients, the other way round. A rank with too many tokens sends its last ones.
template <class Transport>
class remapped_model {
 public:
  using matrix = train::matrix<double>;
  using Index = train::Index;

  /// own: pieces of each rank, whole sequences
  remapped_model(const train::config& c, const train::documents& texts, std::span<const std::vector<piece>> own,
                 const remapping& moves, Transport& transport)
      : config_(c),
        own_(own[static_cast<std::size_t>(transport.rank())]),
        moves_(moves.moves),
        transport_(&transport),
        rank_(static_cast<std::uint32_t>(transport.rank())),
        weights_(train::tensors_of(c, train::part_of(c, {}, 0)), 7),
        store_(std::vector<executors::activation_store<double>::layout>{train::model_part<double>::layout_of(
                   c, train::part_of(c, {}, 0))},
               tokens{1}),
        embedding_(weights_[0], texts),
        attention_(c),
        rotary_(c),
        head_(c, weights_, 1 + static_cast<std::size_t>(c.layers) * train::tensors_per_layer, texts) {
    const auto rows_of = [](std::span<const piece> all) {
      Index sum = 0;
      for (const piece& p : all) sum += p.slice.length.value;
      return sum;
    };
    held_ = rows_of(own_);
    std::vector<Index> next;  // of each rank: its first row that has not been given away
    for (const std::vector<piece>& of : own) next.push_back(rows_of(of));
    for (const moved_tokens& m : moves_) next[m.from] -= m.count.value;
    kept_ = next[rank_];
    pieces_ = cut(own_, 0, kept_);
    for (const moved_tokens& m : moves_) {
      const Index first = next[m.from];
      next[m.from] += m.count.value;
      if (m.to == rank_)
        for (const piece& p : cut(own[m.from], first, first + m.count.value)) pieces_.push_back(p);
    }
    for (std::size_t l = 0; l < static_cast<std::size_t>(c.layers); ++l)
      layers_.emplace_back(c, weights_, 1 + l * train::tensors_per_layer);
  }

  /// Forward and backward of all sequences. Returns the rank's share of the loss.
  double run() {
    train::pack_rows<double> rows(store_, pieces_);
    matrix x = embedding_.forward(rows);
    for (layer& l : layers_) x = forward(l, x);
    edge_values edges;
    const double loss = head_.forward(rows, x, edges);
    matrix dx = head_.backward(rows, x);
    for (std::size_t l = layers_.size(); l-- > 0;) backward(layers_[l], dx);
    embedding_.backward(rows, dx);
    return loss;
  }

  [[nodiscard]] Index tokens_in_linear_layers() const {
    Index sum = 0;
    for (const piece& p : pieces_) sum += p.slice.length.value;
    return sum;
  }
  [[nodiscard]] std::int64_t elements_sent() const noexcept { return sent_; }
  [[nodiscard]] train::parameters<double>& weights() noexcept { return weights_; }

 private:
  struct layer {
    train::rms_norm<double> attention_norm, ffn_norm;
    train::linear<double> query, key, value, out, gate, up, down;
    matrix x, q, k, v, o, lse, outputs, middle, gates, ups;  // q to lse where sequences are
    layer(const train::config& c, train::parameters<double>& w, std::size_t first)
        : attention_norm(w[first + train::attention_gain], c.eps),
          ffn_norm(w[first + train::ffn_gain], c.eps),
          query(w[first + train::query]),
          key(w[first + train::key]),
          value(w[first + train::value]),
          out(w[first + train::attention_out]),
          gate(w[first + train::gate]),
          up(w[first + train::up]),
          down(w[first + train::down]) {}
  };

  /// Rows [first, last) of some pieces, as pieces.
  static std::vector<piece> cut(std::span<const piece> all, Index first, Index last) {
    std::vector<piece> found;
    Index row = 0;
    for (piece p : all) {
      const Index size = p.slice.length.value, from = std::max(first - row, Index{0}), to = std::min(last - row, size);
      row += size;
      if (from >= to) continue;
      const double valid_before = static_cast<double>(size - (p.is_last() ? 1 : 0));
      const double each = valid_before > 0 ? p.loss_weight / valid_before : 0;
      p.slice = {p.slice.sequence, p.slice.begin + tokens{from}, {to - from}};
      p.loss_weight = each * static_cast<double>(to - from - (p.is_last() ? 1 : 0));
      found.push_back(p);
    }
    return found;
  }

  /// From the layout of linear layers to that of attention, or back: what this rank keeps stands first in both, then
  /// what it sends or got.
  matrix moved(const matrix& rows, bool home) {
    const bool gives =
        std::any_of(moves_.begin(), moves_.end(), [&](const moved_tokens& m) { return m.from == rank_; });
    matrix made(home ? held_ : tokens_in_linear_layers(), rows.cols());
    made.topRows(kept_) = rows.topRows(kept_);
    std::vector<typename Transport::handle> under_way;
    std::vector<matrix> parts;
    parts.reserve(moves_.size());
    Index at = kept_;
    for (const moved_tokens& m : moves_) {
      if (m.from != rank_ && m.to != rank_) continue;
      const bool sends = (m.from == rank_) != home;
      const int peer = static_cast<int>(m.from == rank_ ? m.to : m.from);
      matrix& part =
          parts.emplace_back(sends ? matrix(rows.middleRows(at, m.count.value)) : matrix(m.count.value, rows.cols()));
      const std::span<double> all(part.data(), static_cast<std::size_t>(part.size()));
      under_way.push_back(sends ? transport_->send(peer, 1, std::as_bytes(all)).value()
                                : transport_->receive(peer, 1, std::as_writable_bytes(all)).value());
      sent_ += sends ? part.size() : 0;
      at += m.count.value;
    }
    for (auto& one : under_way) transport_->wait(one).value();
    if (gives != home) return made;  // it has sent
    at = kept_;
    for (const matrix& part : parts) made.middleRows(at, part.rows()) = part, at += part.rows();
    return made;
  }

  [[nodiscard]] static matrix beside(const matrix& a, const matrix& b, const matrix& c) {
    matrix all(a.rows(), a.cols() + b.cols() + c.cols());
    all << a, b, c;
    return all;
  }
  template <class F>
  void each_own(F&& f) {
    Index row = 0;
    for (const piece& p : own_) f(row, Index{p.slice.length.value}), row += p.slice.length.value;
  }

  matrix forward(layer& l, const matrix& x) {
    const Index h = config_.hidden, w = config_.kv_width();
    l.x = x;
    const matrix normed = l.attention_norm.forward(x);
    const matrix all = moved(beside(l.query.forward(normed), l.key.forward(normed), l.value.forward(normed)), true);
    l.q = all.leftCols(h), l.k = all.middleCols(h, w), l.v = all.rightCols(w);
    l.o.resize(held_, h), l.lse.resize(held_, config_.heads);
    each_own([&](Index row, Index size) {
      rotary_.turn(l.q.middleRows(row, size), 0), rotary_.turn(l.k.middleRows(row, size), 0);
      const train::key_value_block<double> block{0, size, l.k.row(row).data(), l.v.row(row).data(), nullptr, nullptr};
      attention_.forward(l.q.middleRows(row, size), 0, {&block, 1}, l.o.middleRows(row, size),
                         l.lse.middleRows(row, size));
    });
    l.outputs = moved(l.o, false);
    l.middle = x + l.out.forward(l.outputs);
    const matrix again = l.ffn_norm.forward(l.middle);
    l.gates = l.gate.forward(again), l.ups = l.up.forward(again);
    return l.middle + l.down.forward(train::swiglu(l.gates, l.ups));
  }

  void backward(layer& l, matrix& dx) {
    const Index h = config_.hidden, w = config_.kv_width();
    const matrix gated = train::swiglu(l.gates, l.ups), again = l.ffn_norm.forward(l.middle);
    matrix d_gated = matrix::Zero(dx.rows(), config_.ffn), d_again = matrix::Zero(dx.rows(), h), d_outputs = d_again,
           d_normed = d_again;
    l.down.backward_inputs(dx, d_gated);
    l.down.backward_weights(gated, dx);
    train::swiglu_backward(l.gates, l.ups, d_gated);
    l.gate.backward_weights(again, l.gates), l.up.backward_weights(again, l.ups);
    l.gate.backward_inputs(l.gates, d_again), l.up.backward_inputs(l.ups, d_again);
    l.ffn_norm.backward(l.middle, d_again, dx, false);
    l.out.backward_inputs(dx, d_outputs);
    l.out.backward_weights(l.outputs, dx);
    const matrix d_o = moved(d_outputs, true);
    const matrix products = attention_.products(l.o, d_o);
    matrix dq(held_, h), dk = matrix::Zero(held_, w), dv = dk;
    each_own([&](Index row, Index size) {
      const train::key_value_block<double> block{
          0, size, l.k.row(row).data(), l.v.row(row).data(), dk.row(row).data(), dv.row(row).data()};
      attention_.backward(l.q.middleRows(row, size), 0, {&block, 1}, l.lse.middleRows(row, size),
                          products.middleRows(row, size), d_o.middleRows(row, size), dq.middleRows(row, size));
      rotary_.turn_back(dq.middleRows(row, size), 0), rotary_.turn_back(dk.middleRows(row, size), 0);
    });
    const matrix all = moved(beside(dq, dk, dv), false);
    const matrix normed = l.attention_norm.forward(l.x);
    const matrix own_q = all.leftCols(h), own_k = all.middleCols(h, w), own_v = all.rightCols(w);
    for (const auto& [to, d] : {std::pair(&l.query, &own_q), {&l.key, &own_k}, {&l.value, &own_v}})
      to->backward_weights(normed, *d), to->backward_inputs(*d, d_normed);
    l.attention_norm.backward(l.x, d_normed, dx, false);
  }

  train::config config_;
  std::vector<piece> own_;     // whole sequences, where attention runs
  std::vector<piece> pieces_;  // where everything else does
  std::vector<moved_tokens> moves_;
  Transport* transport_;
  std::uint32_t rank_;
  Index held_{}, kept_{};
  std::int64_t sent_{};
  train::parameters<double> weights_;
  executors::activation_store<double> store_;  // empty: what is kept is in the layers
  train::embedding<double> embedding_;
  train::attention<double> attention_;
  train::rotary<double> rotary_;
  train::head<double> head_;
  std::vector<layer> layers_;
};

}  // namespace slimpack::tests

#endif
