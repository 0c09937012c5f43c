#include <slimpack/executors/detail/lending/stage_lending.hpp>
#include <slimpack/executors/detail/piece_calls.hpp>
#include <slimpack/executors/detail/shared/running_exchange.hpp>

// Computes that join rows or lend attention, and are called with pieces, or have no call that takes the rows or the
// loans.
using namespace slimpack;
using pack = std::span<const piece>;
using bytes_in = std::span<const std::byte>;

struct by_pack {
  message_format format() const;
  result<void> forward(pack, bytes_in, outgoing&);
  result<void> backward(pack, bytes_in, outgoing&);
  void discard(const piece&);
};
struct by_piece {
  message_format format() const;
  result<void> forward(const piece&, bytes_in, outgoing&);
  result<void> backward(const piece&, bytes_in, outgoing&);
  void discard(const piece&);
};
#ifdef SLIMPACK_REPAIRED
using in_pieces = by_pack;
#else
using in_pieces = by_piece;
#endif

template <class Calls>
struct joins : Calls {
  static constexpr bool shares_rows = true;
  static constexpr bool joins_rows = true;
  using Calls::forward, Calls::backward;
  row_format rows(std::uint32_t chunk) const;
  result<void> forward(pack, bytes_in, outgoing&, sharing&);
  result<void> backward(pack, bytes_in, outgoing&, sharing&);
};
template <class Calls>
struct joins_with_rows : joins<Calls> {
  using joins<Calls>::forward, joins<Calls>::backward;
  result<void> forward(pack, bytes_in, outgoing&, std::span<const joined_row>);
  result<void> backward(pack, bytes_in, outgoing&, std::span<const joined_row>);
};
template <class Calls>
struct lends : Calls {
  static constexpr bool lends_attention = true;
  using Calls::forward, Calls::backward;
  loan_format loans(std::uint32_t chunk) const;
};
template <class Calls>
struct lends_with_loans : lends<Calls> {
  using lends<Calls>::forward, lends<Calls>::backward;
  result<void> forward(pack, bytes_in, outgoing&, lending&);
  result<void> backward(pack, bytes_in, outgoing&, lending&);
};
#ifdef SLIMPACK_REPAIRED
using joins_without = joins_with_rows<by_pack>;
using lends_without = lends_with_loans<by_pack>;
#else
using joins_without = joins<by_pack>;
using lends_without = lends<by_pack>;
#endif

template <class Compute>
using joined_calls = detail::piece_calls<Compute, detail::running_exchanges, detail::stage_lending<Compute>>;
template <class Compute>
using lent_calls = detail::piece_calls<Compute, detail::no_transfers, detail::stage_lending<Compute>>;

void run(joined_calls<joins_with_rows<in_pieces>>& a, joined_calls<joins_without>& b,
         lent_calls<lends_with_loans<in_pieces>>& c, lent_calls<lends_without>& d) {
  // own-lines: 85
  // expected-diagnostic: a stage compute that joins rows is called by pack, and keeps its states itself
  (void)a.run(0, {});
  // expected-diagnostic: a stage compute that joins rows has result<void> forward(span<const piece>, span<const byte>,
  // outgoing&, span<const joined_row>), and backward
  (void)b.run(0, {});
  // expected-diagnostic: a stage compute that lends attention is called by pack, and keeps its states itself
  (void)c.run(0, {});
  // expected-diagnostic: a stage compute that lends attention has result<void> forward(span<const piece>, span<const
  // byte>, outgoing&, lending&), and backward
  (void)d.run(0, {});
}
