#ifndef SLIMPACK_EXAMPLES_DEVICE_KERNELS_HPP
#define SLIMPACK_EXAMPLES_DEVICE_KERNELS_HPP

#include "matrix.hpp"

#include <cmath>
#include <cstddef>

#ifdef __CUDACC__
#define DEVICE_TRAINER_EVERYWHERE __host__ __device__
#else
#define DEVICE_TRAINER_EVERYWHERE
#endif

/// What a device runs for a layer besides products, each number by a thread: function objects that are called with 0,
/// 1, 2, ..., in any order or at once. The same text runs on a GPU, and on the host without one.
namespace device_trainer::kernels {

/// Attention of queries, the last of the keys: each attends to the keys up to its own.
struct attention {
  const_matrix q, k, v;

  DEVICE_TRAINER_EVERYWHERE static double dot(const double* a, const double* b, std::size_t n) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
  }
  /// Keys that a query attends to.
  DEVICE_TRAINER_EVERYWHERE std::size_t seen(std::size_t query) const { return k.rows - q.rows + query + 1; }
  DEVICE_TRAINER_EVERYWHERE double scale() const { return 1 / std::sqrt(static_cast<double>(q.columns)); }
  DEVICE_TRAINER_EVERYWHERE double score(std::size_t query, std::size_t key) const {
    return scale() * dot(q.at + query * q.columns, k.at + key * k.columns, q.columns);
  }
};

/// mixed: the values, weighted by the softmax of the scores; totals: the logarithm of the sum of their exponentials.
struct attend {
  attention with;
  matrix mixed;
  double* totals;

  DEVICE_TRAINER_EVERYWHERE void operator()(std::size_t number) const {
    const std::size_t query = number / mixed.columns, column = number % mixed.columns;
    double largest = with.score(query, 0), total = 0, sum = 0;
    for (std::size_t key = 0; key < with.seen(query); ++key) {
      const double score = with.score(query, key);
      if (score > largest) {
        const double less = std::exp(largest - score);
        total *= less, sum *= less, largest = score;
      }
      const double share = std::exp(score - largest);
      total += share, sum += share * with.v.at[key * with.v.columns + column];
    }
    mixed.at[number] = sum / total;
    if (column == 0) totals[query] = largest + std::log(total);
  }
};

/// Of attention that was run before: what both halves of its backward begin with.
struct attended {
  attention with;
  const_matrix mixed;
  const double* totals;
  const_matrix dmixed;

  DEVICE_TRAINER_EVERYWHERE double share(std::size_t query, std::size_t key) const {
    return std::exp(with.score(query, key) - totals[query]);
  }
  /// The gradient of a score, of which `share` is given.
  DEVICE_TRAINER_EVERYWHERE double dscore(std::size_t query, std::size_t key, double share) const {
    const std::size_t n = mixed.columns;
    const double* const d = dmixed.at + query * n;
    return share * with.scale() *
           (attention::dot(d, with.v.at + key * n, n) - attention::dot(d, mixed.at + query * n, n));
  }
};

struct queries_backward {
  attended of;
  matrix dq;

  DEVICE_TRAINER_EVERYWHERE void operator()(std::size_t number) const {
    const std::size_t query = number / dq.columns, column = number % dq.columns;
    double sum = 0;
    for (std::size_t key = 0; key < of.with.seen(query); ++key)
      sum += of.dscore(query, key, of.share(query, key)) * of.with.k.at[key * dq.columns + column];
    dq.at[number] = sum;
  }
};

/// Adds to the gradients of all keys and values, which later queries have added to before.
struct keys_backward {
  attended of;
  matrix dk, dv;

  DEVICE_TRAINER_EVERYWHERE void operator()(std::size_t number) const {
    const std::size_t key = number / dk.columns, column = number % dk.columns, before = of.with.k.rows - of.with.q.rows;
    for (std::size_t query = key > before ? key - before : 0; query < of.with.q.rows; ++query) {
      const double share = of.share(query, key);
      dk.at[number] += of.dscore(query, key, share) * of.with.q.at[query * dk.columns + column];
      dv.at[number] += share * of.dmixed.at[query * dv.columns + column];
    }
  }
};

/// The weighted loss of each row: half the squared distance from its target. The row is replaced by its gradient.
struct miss {
  matrix rows;
  const_matrix wanted;
  double weight;
  double* losses;

  DEVICE_TRAINER_EVERYWHERE void operator()(std::size_t row) const {
    double sum = 0;
    for (std::size_t i = row * rows.columns; i < (row + 1) * rows.columns; ++i) {
      const double off = rows.at[i] - wanted.at[i];
      sum += off * off;
      rows.at[i] = weight * off;
    }
    losses[row] = weight / 2 * sum;
  }
};

/// Adds numbers to one, in order: called once.
struct add_up {
  const double* numbers;
  std::size_t count;
  double* to;

  DEVICE_TRAINER_EVERYWHERE void operator()(std::size_t) const {
    for (std::size_t i = 0; i < count; ++i) *to += numbers[i];
  }
};

struct add {
  const double* more;
  double* sums;
  DEVICE_TRAINER_EVERYWHERE void operator()(std::size_t i) const { sums[i] += more[i]; }
};

/// Rows of two matrices behind each other, a pair after the other; and back.
struct join {
  const_matrix first, second;
  double* pairs;

  DEVICE_TRAINER_EVERYWHERE void operator()(std::size_t number) const {
    const std::size_t n = first.columns, row = number / (2 * n), column = number % (2 * n);
    pairs[number] = column < n ? first.at[row * n + column] : second.at[row * n + column - n];
  }
};
struct part {
  const double* pairs;
  matrix first, second;

  DEVICE_TRAINER_EVERYWHERE void operator()(std::size_t number) const {
    const std::size_t n = first.columns, row = number / (2 * n), column = number % (2 * n);
    (column < n ? first.at[row * n + column] : second.at[row * n + column - n]) = pairs[number];
  }
};

/// A step of gradient descent, after which gradients begin at 0 again.
struct descend {
  double* weights;
  double* gradients;
  double rate;

  DEVICE_TRAINER_EVERYWHERE void operator()(std::size_t i) const {
    weights[i] -= rate * gradients[i];
    gradients[i] = 0;
  }
};

struct clear {
  double* numbers;
  DEVICE_TRAINER_EVERYWHERE void operator()(std::size_t i) const { numbers[i] = 0; }
};

}  // namespace device_trainer::kernels

#endif
