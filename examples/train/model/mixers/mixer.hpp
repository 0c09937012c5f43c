#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_MIXERS_MIXER_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_MIXERS_MIXER_HPP

#include "../matrix.hpp"
#include "../pack_rows.hpp"
#include "../parameters.hpp"

#include <cstddef>

namespace train {

/// What a layer keeps of a token from forward to backward, in order. From attention_normed on, only what is not
/// computed again.
struct kept_rows {
  enum field : std::size_t {
    input,
    queries,
    keys,
    values,
    attended,
    head_scalars,  ///< one for each query head: of attention the log-sum-exp of scores, of a state its gate
    middle,
    gates,
    ups,
    attention_normed,
    ffn_normed,
    gated
  };
};

/// What mixes the tokens of a sequence in a layer, between the first norm and the output matrix; all else in a layer
/// works token by token. It owns the fields queries, keys, values and head_scalars of its layer, and the weights that
/// make them.
/// Shapes    rows of a pack, (tokens, hidden)
template <class T>
class mixer {
 public:
  mixer() = default;
  mixer(const mixer&) = delete;
  mixer& operator=(const mixer&) = delete;
  virtual ~mixer() = default;

  /// Sends what others wait for and this pack's rows are not needed for.
  virtual void begin_forward(pack_rows<T>&) {}
  virtual void begin_backward(pack_rows<T>&) {}

  /// The mixed rows, of the rows x of the norm.
  [[nodiscard]] virtual matrix<T> forward(pack_rows<T>& pack, const matrix<T>& x) = 0;

  /// Adds to dx the gradient of x, given the mixed rows y and their gradient. It adds the weight gradients, too, or
  /// leaves what they need in place of queries, keys, values and head scalars, where they run apart: then x is empty.
  virtual void backward(pack_rows<T>& pack, const matrix<T>& y, const matrix<T>& dy, const matrix<T>& x,
                        matrix<T>& dx) = 0;

  /// The weight gradients that backward left, where x = gain u (linear.hpp).
  virtual void backward_weights(pack_rows<T>& pack, const matrix<T>& u, typename parameters<T>::view gain) = 0;
};

}  // namespace train

#endif
