#ifndef SLIMPACK_EXECUTORS_LENDING_LENDING_HPP
#define SLIMPACK_EXECUTORS_LENDING_LENDING_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/lending/loan.hpp>
#include <slimpack/detail/has_member.hpp>
#include <slimpack/executors/lending/loan_format.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace slimpack {

namespace detail {
SLIMPACK_DETAIL_HAS_MEMBER(lends_attention);

template <class Compute>
consteval bool says_lends_attention() {
  if constexpr (requires {
                  { Compute::lends_attention } -> std::same_as<const bool&>;
                  typename std::bool_constant<Compute::lends_attention>;
                }) {
    static_assert(
        !Compute::lends_attention ||
            requires(const Compute& c) {
              { c.loans(std::uint32_t{}) } -> std::same_as<loan_format>;
            },
        "a stage compute that lends attention has a public loan_format loans(uint32_t chunk) const");
    return Compute::lends_attention;
  } else {
    static_assert(!has_member_lends_attention<Compute>,
                  "a stage compute's lends_attention is a public static constexpr bool");
    return false;
  }
}

/// Whether a compute says `static constexpr bool lends_attention = true`.
template <class Compute>
concept lends_attention = says_lends_attention<Compute>();
}  // namespace detail

/// What a stage compute gets with a pack for which it lends attention to other stages, or helps them
/// (core/lending/loan.hpp). In each layer, forward from the first to the last, backward from the last to the first:
///
///   a lender, for each of lent()      with.offer(layer, i, rows)    what it has before the layer
///                                     with.ask(layer, i, rows)      what it has made in it
///                                     with.collect(layer, i)        what the helper answers, to be merged with its own
///   a helper, for each of helped()    with.take(layer, i)           what was offered and then what was asked, in order
///                                     with.answer(layer, i, rows)
///
/// Rows are messages as the compute's loan_format says, each a span of bytes, token after token in ascending order.
/// offer, ask and answer copy them and do not wait: a lender attends to the keys that it kept between ask and collect,
/// and a helper to its own before take. Spans that are got are valid until the same call of the next layer.
/// Requires  calls on the thread that called the executor, within the callback
/// Errors    wrong_message: rows of another size than the plan's; out_of_order: a layer that is not the next; those of
///           the transport. Each names the other stage
/// Source    SlimPipe (arXiv:2504.14519), its context exchange
class lending {
 public:
  using rows = std::span<const std::span<const std::byte>>;

  lending(const lending&) = delete;
  lending& operator=(const lending&) = delete;

  [[nodiscard]] virtual std::span<const loan> lent() const = 0;
  [[nodiscard]] virtual std::span<const loan> helped() const = 0;

  [[nodiscard]] virtual result<void> offer(int layer, std::size_t i, rows messages) = 0;
  [[nodiscard]] virtual result<void> ask(int layer, std::size_t i, rows messages) = 0;
  [[nodiscard]] virtual result<rows> collect(int layer, std::size_t i) = 0;
  [[nodiscard]] virtual result<rows> take(int layer, std::size_t i) = 0;
  [[nodiscard]] virtual result<void> answer(int layer, std::size_t i, rows messages) = 0;

 protected:
  lending() = default;
  ~lending() = default;
};

}  // namespace slimpack

#endif
