#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_MIXERS_ATTENTION_MIXER_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_MIXERS_ATTENTION_MIXER_HPP

#include "../attention.hpp"
#include "../config.hpp"
#include "../matrix.hpp"
#include "../pack_rows.hpp"
#include "../parameters.hpp"
#include "../rotary.hpp"
#include "mixer.hpp"
#include "mixer_choice.hpp"
#include "projections.hpp"

#include <slimpack/core/lending/loan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace train {

/// Attention, full or of a window, with rotary embedding: sequence by sequence over the keys and values of the path
/// where they lie. Keys that replicas share, or that other stages lend, are masked by position as one's own are.
template <class T>
class attention_mixer : public mixer<T> {
  using enum kept_rows::field;

 public:
  using page = typename slimpack::executors::activation_store<T>::page;

  /// What its accumulators are, while its sequence runs backward.
  enum accumulated : std::size_t { key_gradients, value_gradients };
  [[nodiscard]] static std::vector<std::size_t> widths_accumulated(const config& c) {
    return std::vector<std::size_t>(2, static_cast<std::size_t>(c.kv_width()));
  }

  /// Shapes    `index`: of its layer in its part, whose weights begin at tensor `first`
  attention_mixer(const config& c, const mixer_choice& which, parameters<T>& weights, std::size_t first,
                  std::size_t index)
      : config_(c),
        index_(index),
        made_by_(c, weights, first, index),
        attention_(c, which.kind == mixer_kind::window ? Index{which.window} : attention<T>::unlimited),
        rotary_(c) {}

  void begin_forward(pack_rows<T>& pack) override {
    for (std::size_t i = 0; i < pack.lent().size(); ++i)
      pack.offer(number(), i, {lent(pack, pack.lent()[i], keys), lent(pack, pack.lent()[i], values)});
  }

  [[nodiscard]] matrix<T> forward(pack_rows<T>& pack, const matrix<T>& x) override {
    matrix<T> q = made_by_.queries_of(x);
    matrix<T> k = made_by_.keys_of(x);
    pack.each_piece([&](const slimpack::piece& p, Index row, Index size) {
      rotary_.turn(q.middleRows(row, size), p.slice.begin.value);
      rotary_.turn(k.middleRows(row, size), p.slice.begin.value);
    });
    pack.write({index_, queries}, q);
    pack.write({index_, keys}, k);
    for (std::size_t i = 0; i < pack.lent().size(); ++i) pack.ask(number(), i, {asking(pack, pack.lent()[i], q)});
    const matrix<T> v = made_by_.values_of(x);
    pack.write({index_, values}, v);
    matrix<T> o(pack.size(), config_.hidden);
    matrix<T> lse(pack.size(), config_.heads);
    const auto own = [&](const slimpack::piece& p, Index row, Index size) {
      attention_.forward(q.middleRows(row, size), p.slice.begin.value, blocks_of(pack, p, p.slice.end()),
                         o.middleRows(row, size), lse.middleRows(row, size));
    };
    // All that replicas share is posted, what needs nothing of the others runs meanwhile, and then what has come is
    // taken.
    for (const auto& shared : pack.shared()) post_forward(pack, shared, q, k, v);
    pack.each_local_piece(own);
    for (const auto& shared : pack.shared())
      if (shared.goes_round()) pack.each_piece(shared, own);
    for (const auto& shared : pack.shared()) {
      if (shared.goes_round()) {
        round_forward(pack, shared, q, o, lse);
      } else {
        pack.take(shared, number(), {index_, keys}, {index_, values});
        pack.each_piece(shared, own);
      }
    }
    help_forward(pack);
    for (std::size_t i = 0; i < pack.lent().size(); ++i) {
      const slimpack::loan& l = pack.lent()[i];
      const Index row = pack.row_of(l), size = l.queries.length.value;
      const auto came = pack.collect(number(), i);
      attention_.merge(view(came[0], size), view(came[1], size), o.middleRows(row, size), lse.middleRows(row, size));
    }
    pack.write({index_, head_scalars}, lse);
    return o;
  }

  void begin_backward(pack_rows<T>& pack) override {
    if (pack.lent().empty()) return;
    const matrix<T> o = pack.read({index_, attended}, config_.hidden);
    const matrix<T> q = pack.read({index_, queries}, config_.hidden);
    const matrix<T> lse = pack.read({index_, head_scalars}, config_.heads);
    for (std::size_t i = 0; i < pack.lent().size(); ++i) {
      const slimpack::loan& l = pack.lent()[i];
      pack.offer(
          number(), i,
          {lent(pack, l, keys), lent(pack, l, values), asking(pack, l, q), asking(pack, l, o), asking(pack, l, lse)});
    }
  }

  void backward(pack_rows<T>& pack, const matrix<T>& o, const matrix<T>& d_o, const matrix<T>& x,
                matrix<T>& dx) override {
    for (std::size_t i = 0; i < pack.lent().size(); ++i) pack.ask(number(), i, {asking(pack, pack.lent()[i], d_o)});
    matrix<T> dq(pack.size(), config_.hidden);
    matrix<T> dk = matrix<T>::Zero(pack.size(), config_.kv_width());
    matrix<T> dv = matrix<T>::Zero(pack.size(), config_.kv_width());
    backward_of_pieces(pack, o, d_o, dq, dk, dv);
    pack.each_piece([&](const slimpack::piece& p, Index row, Index size) {
      rotary_.turn_back(dq.middleRows(row, size), p.slice.begin.value);
      rotary_.turn_back(dk.middleRows(row, size), p.slice.begin.value);
    });
    made_by_.backward(pack, dq, dk, dv, x, dx);
  }

  void backward_weights(pack_rows<T>& pack, const matrix<T>& u, typename parameters<T>::view gain) override {
    made_by_.backward_weights(pack, u, gain);
  }

 private:
  /// Gradients of queries, keys and values, after their turn.
  void backward_of_pieces(pack_rows<T>& pack, const matrix<T>& o, const matrix<T>& d_o, matrix<T>& dq, matrix<T>& dk,
                          matrix<T>& dv) {
    const matrix<T> q = pack.read({index_, queries}, config_.hidden);
    const matrix<T> lse = pack.read({index_, head_scalars}, config_.heads);
    const matrix<T> products = attention_.products(o, d_o);
    const auto own = [&](const slimpack::piece& p, Index row, Index size) {
      // A piece without accumulators is a whole sequence, which no other goes on from: its rows of dk and dv take their
      // place. Those above it on the path have accumulators.
      attention_.backward(q.middleRows(row, size), p.slice.begin.value,
                          blocks_of(pack, p, p.slice.end(), dk.row(row).data(), dv.row(row).data()),
                          lse.middleRows(row, size), products.middleRows(row, size), d_o.middleRows(row, size),
                          dq.middleRows(row, size));
    };
    // As forward. What a rank owes of kept keys it has only when its own queries have added to it.
    for (const auto& shared : pack.shared()) {
      if (shared.goes_round()) {
        launch_backward(pack, shared, q, d_o, lse, products);
      } else {
        pack.each_piece(shared, own);
        pack.owe(shared, number(), {index_, key_gradients}, {index_, value_gradients});
      }
    }
    pack.each_local_piece(own);
    for (const auto& shared : pack.shared())
      if (shared.goes_round()) pack.each_piece(shared, own);
    help_backward(pack);
    for (std::size_t i = 0; i < pack.lent().size(); ++i) {
      const slimpack::loan& l = pack.lent()[i];
      const auto came = pack.collect(number(), i);
      dq.middleRows(pack.row_of(l), l.queries.length.value) += view(came[0], l.queries.length.value);
      pack.each_page_in(l.context, [&](const page& here, Index first, Index size, Index row) {
        for (const auto& [which, sums] : {std::pair(key_gradients, came[1]), std::pair(value_gradients, came[2])}) {
          const std::span<T> to = here.gradients({index_, which});
          for (Index at = 0; at < size * config_.kv_width(); ++at)
            to[static_cast<std::size_t>(first * config_.kv_width() + at)] +=
                sums[static_cast<std::size_t>(row * config_.kv_width() + at)];
        }
      });
    }
    const auto take_own = [&](const slimpack::piece& p, Index row, Index size) {
      take_accumulated(pack, p, dk.middleRows(row, size), key_gradients);
      take_accumulated(pack, p, dv.middleRows(row, size), value_gradients);
    };
    for (const auto& shared : pack.shared()) {
      if (!shared.goes_round()) pack.due(shared, number(), {index_, key_gradients}, {index_, value_gradients});
      if (shared.asks())
        dq.middleRows(shared.first, shared.size) =
            round_of_queries(pack, shared, dq.middleRows(shared.first, shared.size));
      pack.each_piece(shared, take_own);
      if (shared.goes_round() && !shared.asks()) round_of_keys(pack, shared, q, lse, products, d_o, dq, dk, dv);
    }
    pack.each_local_piece(take_own);
  }

  [[nodiscard]] int number() const { return static_cast<int>(index_); }
  using shared_row = typename pack_rows<T>::shared_row;
  [[nodiscard]] static matrix<T> beside(const matrix<T>& a, const matrix<T>& b) {
    matrix<T> both(a.rows(), a.cols() + b.cols());
    both << a, b;
    return both;
  }

  /// Rows that others have sent, of so many tokens.
  [[nodiscard]] static const_matrix_view<T> view(std::span<const T> rows, Index size) {
    return {rows.data(), size, static_cast<Index>(rows.size()) / size};
  }
  /// The keys or values that a loan hands over, and rows of the queries that ask.
  [[nodiscard]] matrix<T> lent(pack_rows<T>& pack, const slimpack::loan& l, std::size_t which) const {
    matrix<T> rows(l.context.length.value, config_.kv_width());
    pack.each_page_in(l.context, [&](const page& here, Index first, Index size, Index row) {
      const std::span<T> all = here.activations({index_, which});
      std::copy_n(all.data() + first * config_.kv_width(), size * config_.kv_width(), rows.row(row).data());
    });
    return rows;
  }
  [[nodiscard]] static matrix<T> asking(const pack_rows<T>& pack, const slimpack::loan& l, const matrix<T>& rows) {
    return rows.middleRows(pack.row_of(l), l.queries.length.value);
  }

  /// Attends with the queries of others to keys that they lend, which lie before all of them.
  void help_forward(pack_rows<T>& pack) {
    for (std::size_t i = 0; i < pack.helped().size(); ++i) {
      const slimpack::loan& l = pack.helped()[i];
      const auto came = pack.take(number(), i);
      const key_value_block<T> block{
          l.context.begin.value, l.context.length.value, came[0].data(), came[1].data(), nullptr, nullptr};
      matrix<T> o(l.queries.length.value, config_.hidden), lse(l.queries.length.value, config_.heads);
      attention_.forward(view(came[2], o.rows()), l.queries.begin.value, {&block, 1}, o, lse);
      pack.answer(number(), i, {o, lse});
    }
  }
  void help_backward(pack_rows<T>& pack) {
    for (std::size_t i = 0; i < pack.helped().size(); ++i) {
      const slimpack::loan& l = pack.helped()[i];
      const auto came = pack.take(number(), i);
      const Index size = l.queries.length.value;
      matrix<T> dk = matrix<T>::Zero(l.context.length.value, config_.kv_width()), dv = dk, dq(size, config_.hidden);
      const key_value_block<T> block{
          l.context.begin.value, l.context.length.value, came[0].data(), came[1].data(), dk.data(), dv.data()};
      const const_matrix_view<T> q = view(came[2], size), o = view(came[3], size), lse = view(came[4], size),
                                 d_o = view(came[5], size);
      attention_.backward(q, l.queries.begin.value, {&block, 1}, lse, attention_.products(o, d_o), d_o, dq);
      pack.answer(number(), i, {dq, dk, dv});
    }
  }

  /// Sends what a row exchanges: keys and values to all that share it, or the row's own round them, or its queries.
  void post_forward(pack_rows<T>& pack, const shared_row& shared, const matrix<T>& q, const matrix<T>& k,
                    const matrix<T>& v) {
    const auto of = [&](const matrix<T>& rows) { return rows.middleRows(shared.first, shared.size); };
    if (!shared.goes_round())
      pack.give(shared, number(), {index_, keys}, {index_, values});
    else
      pack.launch(shared, number(), shared.asks() ? matrix<T>(of(q)) : beside(of(k), of(v)));
  }
  /// Backward: keys and values again, or queries with all that their gradients need.
  void launch_backward(pack_rows<T>& pack, const shared_row& shared, const matrix<T>& q, const matrix<T>& d_o,
                       const matrix<T>& lse, const matrix<T>& products) {
    const auto of = [&](const matrix<T>& rows) { return rows.middleRows(shared.first, shared.size); };
    pack.launch(shared, number(),
                shared.asks() ? beside(beside(of(q), of(d_o)), beside(of(lse), of(products)))
                              : beside(of(pack.read({index_, keys}, config_.kv_width())),
                                       of(pack.read({index_, values}, config_.kv_width()))));
  }

  /// Adds attention to the keys of others: they answer one's queries, or send keys and values.
  void round_forward(pack_rows<T>& pack, const shared_row& shared, const matrix<T>& q, matrix<T>& o, matrix<T>& lse) {
    if (shared.asks()) {
      const matrix<T> home = pack.rotate(
          shared, number(), config_.hidden,
          beside(o.middleRows(shared.first, shared.size), lse.middleRows(shared.first, shared.size)),
          [&](std::span<const slimpack::slice> tokens, const_matrix_view<T> rows, matrix<T>& sums) {
            each_slice(tokens, [&](const slimpack::slice& s, Index row, Index size) {
              attend(rows.middleRows(row, size), s.begin.value, blocks_of(pack, shared.pieces.front(), s.end()),
                     sums.block(row, 0, size, config_.hidden), sums.block(row, config_.hidden, size, config_.heads));
            });
          });
      o.middleRows(shared.first, shared.size) = home.leftCols(config_.hidden);
      lse.middleRows(shared.first, shared.size) = home.rightCols(config_.heads);
      return;
    }
    (void)pack.rotate(shared, number(), 2 * config_.kv_width(), matrix<T>(shared.size, 0),
                      [&](std::span<const slimpack::slice> tokens, const_matrix_view<T> rows, matrix<T>&) {
                        const matrix<T> k = rows.leftCols(config_.kv_width()), v = rows.rightCols(config_.kv_width());
                        const auto blocks = blocks_of(tokens, k, v);
                        pack.each_piece(shared, [&](const slimpack::piece& p, Index row, Index size) {
                          attend(q.middleRows(row, size), p.slice.begin.value, blocks, o.middleRows(row, size),
                                 lse.middleRows(row, size));
                        });
                      });
  }

  /// The gradients of queries, to which others add those by their keys; the others' queries add to one's accumulators.
  [[nodiscard]] matrix<T> round_of_queries(pack_rows<T>& pack, const shared_row& shared, const matrix<T>& dq) {
    return pack.rotate(shared, number(), 2 * (config_.hidden + config_.heads), dq,
                       [&](std::span<const slimpack::slice> tokens, const_matrix_view<T> rows, matrix<T>& sums) {
                         each_slice(tokens, [&](const slimpack::slice& s, Index row, Index size) {
                           const auto asked = rows.middleRows(row, size);
                           matrix<T> more(size, config_.hidden);
                           attention_.backward(asked.leftCols(config_.hidden), s.begin.value,
                                               blocks_of(pack, shared.pieces.front(), s.end()),
                                               asked.middleCols(2 * config_.hidden, config_.heads),
                                               asked.rightCols(config_.heads),
                                               asked.middleCols(config_.hidden, config_.hidden), more);
                           sums.middleRows(row, size) += more;
                         });
                       });
  }

  /// Adds to gradients of queries what keys of others do, and sets those of keys and values to the sums of all.
  void round_of_keys(pack_rows<T>& pack, const shared_row& shared, const matrix<T>& q, const matrix<T>& lse,
                     const matrix<T>& products, const matrix<T>& d_o, matrix<T>& dq, matrix<T>& dk, matrix<T>& dv) {
    const Index width = config_.kv_width();
    const matrix<T> home = pack.rotate(
        shared, number(), 2 * width,
        beside(dk.middleRows(shared.first, shared.size), dv.middleRows(shared.first, shared.size)),
        [&](std::span<const slimpack::slice> tokens, const_matrix_view<T> rows, matrix<T>& sums) {
          const matrix<T> k = rows.leftCols(width), v = rows.rightCols(width);
          matrix<T> more_k = sums.leftCols(width), more_v = sums.rightCols(width);
          const auto blocks = blocks_of(tokens, k, v, more_k.data(), more_v.data());
          pack.each_piece(shared, [&](const slimpack::piece& p, Index row, Index size) {
            matrix<T> more(size, config_.hidden);
            attention_.backward(q.middleRows(row, size), p.slice.begin.value, blocks, lse.middleRows(row, size),
                                products.middleRows(row, size), d_o.middleRows(row, size), more);
            dq.middleRows(row, size) += more;
          });
          sums << more_k, more_v;
        });
    dk.middleRows(shared.first, shared.size) = home.leftCols(width);
    dv.middleRows(shared.first, shared.size) = home.rightCols(width);
  }

  /// Merges attention to these keys into o and lse.
  void attend(rows_in<T> q, Index first, std::span<const key_value_block<T>> blocks, rows_out<T> o, rows_out<T> lse) {
    matrix<T> more(o.rows(), o.cols());
    matrix<T> more_lse(lse.rows(), lse.cols());
    attention_.forward(q, first, blocks, more, more_lse);
    attention_.merge(more, more_lse, o, lse);
  }

  /// Calls f(slice, its first row, its rows), for rows slice after slice.
  template <class F>
  static void each_slice(std::span<const slimpack::slice> tokens, F&& f) {
    Index row = 0;
    for (const slimpack::slice& s : tokens) {
      f(s, row, Index{s.length.value});
      row += s.length.value;
    }
  }

  /// Keys and values of a parcel, and what their gradients are added to.
  std::vector<key_value_block<T>> blocks_of(std::span<const slimpack::slice> tokens, const matrix<T>& k,
                                            const matrix<T>& v, T* dk = nullptr, T* dv = nullptr) const {
    std::vector<key_value_block<T>> blocks;
    each_slice(tokens, [&](const slimpack::slice& s, Index row, Index size) {
      const Index at = row * config_.kv_width();
      blocks.push_back({s.begin.value, size, k.data() + at, v.data() + at, dk == nullptr ? dk : dk + at,
                        dv == nullptr ? dv : dv + at});
    });
    return blocks;
  }

  /// Keys and values of the path up to a token where they lie, but for those that are lent; dk and dv stand in for
  /// accumulators that there are none of.
  std::vector<key_value_block<T>> blocks_of(pack_rows<T>& pack, const slimpack::piece& p, slimpack::tokens end,
                                            T* dk = nullptr, T* dv = nullptr) const {
    std::vector<key_value_block<T>> blocks;
    const Index own = pack.lent_of(p);  // from there on
    pack.each_page_up_to(p, end, [&](const page& here) {
      const Index begin = std::max(Index{here.begin().value}, own), size = here.end().value - begin;
      if (size <= 0) return;
      const Index first = (begin - here.begin().value) * config_.kv_width();
      const auto accumulator = [&](std::size_t index, T* instead) -> T* {
        const std::span<T> rows = here.gradients({index_, index});
        if (!rows.empty()) return rows.data() + first;
        return instead == nullptr ? nullptr : instead + (begin - p.slice.begin.value) * config_.kv_width();
      };
      blocks.push_back({begin, size, here.activations({index_, keys}).data() + first,
                        here.activations({index_, values}).data() + first, accumulator(key_gradients, dk),
                        accumulator(value_gradients, dv)});
    });
    return blocks;
  }

  void take_accumulated(pack_rows<T>& pack, const slimpack::piece& p, rows_out<T> rows, std::size_t index) const {
    pack.each_page_of(p, [&](const page& here) {
      const std::span<T> sums = here.gradients({index_, index});
      if (sums.empty()) return;
      const Index size = (here.end() - here.begin()).value;
      rows.middleRows((here.begin() - p.slice.begin).value, size) = matrix_view<T>(sums.data(), size, rows.cols());
    });
  }

  config config_;
  std::size_t index_;
  projections<T> made_by_;
  attention<T> attention_;
  rotary<T> rotary_;
};

}  // namespace train

#endif
