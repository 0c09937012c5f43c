#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_MIXERS_LINEAR_MIXER_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_MIXERS_LINEAR_MIXER_HPP

#include "../config.hpp"
#include "../linear.hpp"
#include "../matrix.hpp"
#include "../pack_rows.hpp"
#include "../parameters.hpp"
#include "gated_recurrence.hpp"
#include "mixer.hpp"
#include "projections.hpp"
#include "slice_states.hpp"

#include <slimpack/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace train {

/// A state that every token goes into (gated_recurrence.hpp), with a gate a = sigmoid(w x) for each head and token; no
/// softmax, and no positions. A piece begins with the state that the piece before has kept, and backward hands its
/// gradient to that piece; a state that nobody has kept is made again from the last one before, by the keys, values and
/// gates that are kept by token.
template <class T>
class linear_mixer : public mixer<T> {
  using enum kept_rows::field;

 public:
  /// Shapes    `index`: of its layer in its part, whose weights begin at tensor `first`; `state`: of its state among
  ///           those of the part's layers
  linear_mixer(const config& c, parameters<T>& weights, std::size_t first, std::size_t index, std::size_t state)
      : config_(c),
        index_(index),
        state_(state),
        made_by_(c, weights, first, index),
        gate_(weights[first + state_gate]),
        recurrence_(c) {}

  [[nodiscard]] matrix<T> forward(pack_rows<T>& pack, const matrix<T>& x) override {
    const matrix<T> q = made_by_.queries_of(x), k = made_by_.keys_of(x), v = made_by_.values_of(x);
    matrix<T> a = gate_.forward(x);
    a = (1 + (-a.array()).exp()).inverse().matrix();
    pack.write({index_, queries}, q);
    pack.write({index_, keys}, k);
    pack.write({index_, values}, v);
    pack.write({index_, head_scalars}, a);
    matrix<T> o(pack.size(), config_.hidden);
    pack.each_piece([&](const slimpack::piece& p, Index row, Index) {
      std::vector<T> state = state_before(pack, p);
      slimpack::tokens from = p.slice.begin;
      for (const slimpack::tokens place : pack.states().places_of(p)) {
        const Index size = (place - from).value;
        recurrence_.forward(q.middleRows(row, size), k.middleRows(row, size), v.middleRows(row, size),
                            a.middleRows(row, size), state, o.middleRows(row, size));
        std::ranges::copy(state, pack.states().room(p, place, state_).begin());
        row += size, from = place;
      }
    });
    return o;
  }

  void backward(pack_rows<T>& pack, const matrix<T>&, const matrix<T>& d_o, const matrix<T>& x,
                matrix<T>& dx) override {
    const matrix<T> q = pack.read({index_, queries}, config_.hidden), k = pack.read({index_, keys}, config_.kv_width()),
                    v = pack.read({index_, values}, config_.kv_width()),
                    a = pack.read({index_, head_scalars}, config_.heads);
    matrix<T> dq(pack.size(), config_.hidden), da(pack.size(), config_.heads);
    matrix<T> dk = matrix<T>::Zero(pack.size(), config_.kv_width()), dv = dk;
    pack.each_piece([&](const slimpack::piece& p, Index row, Index size) {
      const std::span<const T> given = pack.states().gradient_at_end(p, state_);
      std::vector<T> d_state(given.begin(), given.end());
      d_state.resize(gated_recurrence<T>::size(config_));
      recurrence_.backward(q.middleRows(row, size), k.middleRows(row, size), v.middleRows(row, size),
                           a.middleRows(row, size), state_before(pack, p), d_o.middleRows(row, size), d_state,
                           dq.middleRows(row, size), dk.middleRows(row, size), dv.middleRows(row, size),
                           da.middleRows(row, size));
      pack.states().hand_back(p, state_, d_state);
    });
    da.array() *= a.array() * (1 - a.array());
    if (pack.apart())
      pack.write({index_, head_scalars}, da);
    else
      gate_.backward_weights(x, da);
    gate_.backward_inputs(da, dx);
    made_by_.backward(pack, dq, dk, dv, x, dx);
  }

  void backward_weights(pack_rows<T>& pack, const matrix<T>& u, typename parameters<T>::view gain) override {
    gate_.backward_weights(u, pack.read({index_, head_scalars}, config_.heads), gain);
    made_by_.backward_weights(pack, u, gain);
  }

 private:
  /// The state before a piece.
  [[nodiscard]] std::vector<T> state_before(pack_rows<T>& pack, slimpack::piece p) const {
    const auto known = pack.states().last_before(p, p.slice.begin, state_);
    std::vector<T> state(known.state.begin(), known.state.end());
    state.resize(gated_recurrence<T>::size(config_));
    p.slice = {p.slice.sequence, known.at, p.slice.begin - known.at};
    if (p.slice.length > slimpack::tokens{})
      pack.each_page_of(p, [&](const typename pack_rows<T>::store::page& here) {
        const auto rows = [&](std::size_t which, Index width) {
          return const_matrix_view<T>(here.activations({index_, which}).data(), (here.end() - here.begin()).value,
                                      width);
        };
        recurrence_.advance(rows(keys, config_.kv_width()), rows(values, config_.kv_width()),
                            rows(head_scalars, config_.heads), state);
      });
    return state;
  }

  config config_;
  std::size_t index_;
  std::size_t state_;
  projections<T> made_by_;
  linear<T> gate_;
  gated_recurrence<T> recurrence_;
};

/// Why a stage with linear layers refuses a part of a sequence.
[[nodiscard]] inline slimpack::error no_part_of_a_sequence(bool lends) {
  return {slimpack::errc::invalid_input,
          std::string("a linear layer takes its tokens one after the other, so that ") +
              (lends ? "stages cannot lend each other a part of it" : "replicas cannot share a sequence")};
}

}  // namespace train

#endif
