#include <slimpack/executors/joined/row_threads.hpp>

// Ledgers of rows: one that gets values where it should write them, one without gradients to be read; and a call that
// is given no meeting.
using bytes_in = std::span<const std::byte>;
using bytes_out = std::span<std::byte>;

struct whole_ledger {
  void read(int layer, const slimpack::slice&, bytes_out to);
  void write(int layer, const slimpack::slice&, bytes_in from);
  void read_gradients(int layer, const slimpack::slice&, bytes_out to);
  void write_gradients(int layer, const slimpack::slice&, bytes_in from);
};

#ifdef SLIMPACK_REPAIRED
using writes_slices = whole_ledger;
using for_forward_alone = whole_ledger;
#else
struct writes_slices : whole_ledger {
  void write(int layer, slimpack::tokens first, bytes_in from);
};
struct for_forward_alone {
  void read(int layer, const slimpack::slice&, bytes_out to);
  void write(int layer, const slimpack::slice&, bytes_in from);
  void write_gradients(int layer, const slimpack::slice&, bytes_in from);
};
#endif

struct one_call {
#ifdef SLIMPACK_REPAIRED
  void operator()(std::size_t i, const slimpack::executors::meeting& meet) const;
#else
  void operator()(std::size_t i) const;
#endif
};

template <slimpack::executors::row_ledger Ledger>
struct kept {};

// own-lines: 50
// expected-diagnostic: a row ledger's write is public, given (int layer, const slice&, span<const std::byte> from), and
// gives void or result<void>
using slices = kept<writes_slices>;
// expected-diagnostic: a row ledger's read_gradients is public, given (int layer, const slice&, span<std::byte> to),
// and gives void or result<void>
using forward_alone = kept<for_forward_alone>;
// expected-diagnostic: run_row's call is given (size_t i, const meeting& meet), and gives void or result<void>
inline slimpack::result<void> run(slimpack::sharing& with, const slimpack::row_format& rows, whole_ledger& ledger,
                                  const one_call& call) {
  return slimpack::executors::run_row(slimpack::pass::forward, {}, with, rows, ledger, call);
}
