#ifndef SLIMPACK_EXECUTORS_SHARING_HPP
#define SLIMPACK_EXECUTORS_SHARING_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/detail/has_member.hpp>
#include <slimpack/executors/message_format.hpp>
#include <slimpack/executors/outgoing.hpp>
#include <slimpack/solvers/exchange_set.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace slimpack {

/// What goes round the sharers for one token, in each layer. A width of 0 sends nothing.
struct parcel_format {
  message_format rows;  ///< as launched
  message_format sums;  ///< what each adds to, in the accumulators' element

  friend constexpr bool operator==(const parcel_format&, const parcel_format&) = default;
};

/// What replicas that share a sequence send each other for one token of it, in each layer of a chunk: for the exchanges
/// that the compute says it can run.
struct row_format {
  int layers{};                      ///< of the chunk that attend to earlier tokens
  message_format keys_values;        ///< keep, forward: keys and values of a layer, together
  message_format gradients;          ///< keep, backward: their gradients, in the accumulators' element
  by_pass<parcel_format> queries{};  ///< as a rule queries, and outputs with their log-sum-exp; backward queries,
                                     ///< gradients of outputs and what else they need, and gradients of queries
  by_pass<parcel_format> ring{};     ///< as a rule keys and values; backward these, and their gradients

  /// Of exchange::keep.
  [[nodiscard]] constexpr const message_format& kept(pass p) const noexcept {
    return p == pass::forward ? keys_values : gradients;
  }
  /// Of an exchange whose rows go round.
  [[nodiscard]] constexpr const parcel_format& going_round(exchange e, pass p) const noexcept {
    return (e == exchange::ring ? ring : queries)[p];
  }
  friend constexpr bool operator==(const row_format&, const row_format&) = default;
};

/// What goes round the sharers of a row in one layer: rows of one sharer's tokens, and sums that each adds to
/// (sharing::rotate). Valid until the next call of rotate or launch.
struct parcel {
  std::uint32_t owner{};            ///< replica whose tokens they are
  bool is_home{};                   ///< it has been everywhere, and the owner has its sums
  std::span<const slice> tokens;    ///< of the owner, in this row, ascending
  std::span<const std::byte> rows;  ///< (tokens, as launched); empty at home
  std::span<const std::byte> sums;  ///< (tokens, as added up so far)
};

namespace detail {
SLIMPACK_DETAIL_HAS_MEMBER(shares_rows);

/// The exchanges by which a compute can run sequences that replicas share.
template <class Compute>
consteval exchange_set exchanges_of() {
  if constexpr (requires {
                  { Compute::shares_rows } -> std::same_as<const bool&>;
                  typename std::bool_constant<Compute::shares_rows>;
                }) {
    return exchange_set{.keep = Compute::shares_rows};
  } else if constexpr (requires {
                         { Compute::shares_rows } -> std::same_as<const exchange_set&>;
                         typename std::bool_constant<Compute::shares_rows.empty()>;
                       }) {
    return Compute::shares_rows;
  } else {
    static_assert(!has_member_shares_rows<Compute>,
                  "a stage compute's shares_rows is a public static constexpr bool, or a slimpack::exchange_set");
    return {.keep = false};
  }
}

/// Whether a compute says `static constexpr bool shares_rows = true`, or by which exchanges.
template <class Compute>
concept shares_rows = !exchanges_of<Compute>().empty();
}  // namespace detail

/// What a stage compute gets with its pieces of a row that several replicas share: who they are, whose tokens are
/// whose, and the transfers between them. Rows of numbers are bytes as the compute's row_format says, token after token
/// in ascending order, whatever order the pieces have.
///
/// Where keys and values are kept (exchange::keep, which shares_rows = true stands for)
///   forward, layer by layer from the first to the last
///     with.give(layer, rows)   keys and values of own(): sent to those who attend to them, once
///     with.take(layer)         keys and values of others(), to be kept until the backward of these tokens
///   backward, layer by layer from the last to the first
///     with.owe(layer, rows)    the gradients of keys and values of others() that this rank's tokens have added up,
///     those
///                              of later rows included; they are sent to their owners and no longer needed here
///     with.due(layer, rows)    adds to the gradients of own() what the others owe, all in order of replica
///   give and owe do not wait, so that what lies between give and take, or owe and due, runs while the rows travel.
///   They, launch and rotate have copied the rows of the caller when they return: memory of the host may be written
///   again at once.
///   own() has this rank's slices of the row as the plan has them. The pieces of the call are cut where the other pass
///   cuts, too, so that one slice of own() may hold several of them. Together they have the same tokens: put the rows
///   of pieces at their tokens' places in own(), and do not count on one slice for each piece.
///   Law    a rank takes the keys and values of each token of the others that a token of its own comes after, once, and
///          owes that token's gradients once
///   A compute with one call for one piece, through all layers, makes these calls by executors/joined/row_threads.hpp
///
/// Where rows go round (exchange::queries, exchange::ring), in the same order of layers in either pass
///     with.launch(layer, rows) what of own() goes round: with ring keys and values, with queries the queries (backward
///                              with all that the gradients of keys need of a query). It does not wait
///     with.rotate(layer, sums) sends on, with what this rank has added up, the parcel that it holds, at first its own;
///     and
///                              gives the next: those of the others, one by one, and in the end its own with its sums
///   Law    all sharers see each other's parcels in one order, whatever the timing: that of replica self() - 1,
///          self() - 2, ... counted in a circle
///
/// Over a transport of device memory (transports/hooks.hpp) all these rows lie there, and calls only issue work, on the
/// transport's stream: rows that are given may be written again by later work of the compute, and those that are got
/// are there for it. Spans stay valid for work that is issued before the call that ends them. What the runtime copies
/// and adds it has done by the compute, by copy_rows and add_rows (executors/hooks.hpp), in memory of make_tensor;
/// where transfers have a place in the plan's order, it is made before the first instruction, and sends that still read
/// it are waited for by the device alone.
///
/// Requires  calls on the thread that called the executor, within the callback
/// Errors    wrong_message: rows of another size than the plan's. out_of_order: a layer that is not the next, rows that
///           are taken before this rank gave its own, a call that belongs to another exchange than the plan's, which
///           exchange() tells. Those of the transport. Each names layer and sequence
/// Source    keep: derived, as causal context parallelism over the packs of a merge (core/merge.hpp) where keys and
///           values travel once; ring: ring attention (arXiv:2310.01889); queries: Yang et al. (arXiv:2411.01783)
class sharing {
 public:
  sharing(const sharing&) = delete;
  sharing& operator=(const sharing&) = delete;

  [[nodiscard]] virtual sequence_id sequence() const = 0;
  [[nodiscard]] virtual slimpack::exchange exchange() const = 0;
  [[nodiscard]] virtual std::span<const std::uint32_t> sharers() const = 0;  ///< replicas, ascending
  [[nodiscard]] virtual std::size_t self() const = 0;                        ///< which of them this rank is of
  [[nodiscard]] virtual std::span<const slice> own()
      const = 0;  ///< of this row, ascending; one may hold several pieces
  /// Of the others, kept here, ascending: of this row, and of rows next to it of which this rank has no tokens; forward
  /// of those since its last row, backward of those until its next. None where rows go round.
  [[nodiscard]] virtual std::span<const slice> others() const = 0;

  /// rows      (tokens of own(), keys and values)
  [[nodiscard]] virtual result<void> give(int layer, std::span<const std::byte> rows) = 0;
  /// Returns   (tokens of others(), keys and values), valid until the next take
  [[nodiscard]] virtual result<std::span<const std::byte>> take(int layer) = 0;
  /// rows      (tokens of others(), gradients)
  [[nodiscard]] virtual result<void> owe(int layer, std::span<const std::byte> rows) = 0;
  /// rows      (tokens of own(), gradients) that this rank has added up; afterwards those of all sharers. In memory of
  ///           a device they are added by the compute's add_rows
  template <class T>
  [[nodiscard]] result<void> due(int layer, std::span<T> rows) {
    return add(layer, std::as_writable_bytes(rows), [](std::span<std::byte> sum, std::span<const std::byte> one) {
      const std::span<T> to = detail::elements_of<T>(sum);
      const std::span<const T> from = detail::elements_of<const T>(one);
      for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
    });
  }

  /// The same of elements that are no numbers of C++.        plus: adds bytes as elements; of equal size; of the host
  /// alone
  using adder = void (*)(std::span<std::byte> sum, std::span<const std::byte> one);
  [[nodiscard]] virtual result<void> add(int layer, std::span<std::byte> rows, adder plus) = 0;

  /// rows      (tokens of own(), as the row_format says of the exchange)
  [[nodiscard]] virtual result<void> launch(int layer, std::span<const std::byte> rows) = 0;
  /// sums      (tokens of the parcel held), at first of own()
  [[nodiscard]] virtual result<parcel> rotate(int layer, std::span<const std::byte> sums) = 0;

 protected:
  sharing() = default;
  ~sharing() = default;
};

}  // namespace slimpack

#endif
