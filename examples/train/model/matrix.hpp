#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_MATRIX_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_MATRIX_HPP

#include <Eigen/Core>

/// Rows are tokens, or outputs of a weight; rows lie one after the other.
namespace train {

using Eigen::Index;

template <class T>
using matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// A matrix in memory of someone else.
template <class T>
using matrix_view = Eigen::Map<matrix<T>>;
template <class T>
using const_matrix_view = Eigen::Map<const matrix<T>>;

/// Some columns of one: rows a stride apart.
template <class T>
using columns_view = Eigen::Map<matrix<T>, 0, Eigen::OuterStride<>>;
template <class T>
using const_columns_view = Eigen::Map<const matrix<T>, 0, Eigen::OuterStride<>>;

/// Any rows that a function reads or writes: a matrix, a view, a block of either.
template <class T>
using rows_in = Eigen::Ref<const matrix<T>, 0, Eigen::OuterStride<>>;
template <class T>
using rows_out = Eigen::Ref<matrix<T>, 0, Eigen::OuterStride<>>;

}  // namespace train

#endif
