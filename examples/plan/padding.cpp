#include "padding.hpp"

#include "texts.hpp"

#include <slimpack/core/units.hpp>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <span>
#include <string>

namespace cli {
namespace {

using slimpack::tokens;

tokens total(std::span<const tokens> lengths) {
  tokens sum{};
  for (const tokens length : lengths) sum += length;
  return sum;
}

}  // namespace

void check_multiples(const options& o) {
  const slimpack::shape& on = o.layout.shape;
  if (o.pad_to && o.max_context && o.max_context->value % o.pad_to->value != 0)
    throw bad_usage{"--pad-to " + std::to_string(o.pad_to->value) + " would pad a sequence of --max-context " +
                    std::to_string(o.max_context->value) + " to " +
                    std::to_string(slimpack::padded(*o.max_context, *o.pad_to).value) +
                    " tokens: give a --max-context that is a multiple of it"};
  if (o.has_typed("quantum") && !divides_slices(on))
    throw bad_usage{"--quantum " + std::to_string(on.quantum.value) + " is no multiple of --cp " +
                    std::to_string(on.context) + ", whose ranks divide each slice evenly: give a multiple of " +
                    std::to_string(2 * on.context) + ", or leave it out for " +
                    std::to_string(slimpack::default_quantum(on.context).value)};
}

void print_padding(std::ostream& out, const options& o, const batches& all, std::size_t batch) {
  if (!o.pad_to) return;
  const std::size_t first = o.summary ? 0 : batch, last = o.summary ? all.lengths.size() : batch + 1;
  tokens padding{}, sum{};
  for (std::size_t b = first; b < last; ++b) padding += all.padding[b], sum += total(all.lengths[b]);
  out << "padding   " << padding.value << " of " << sum.value << " tokens, "
      << percent(static_cast<double>(padding.value) / static_cast<double>(sum.value), 2)
      << ": --pad-to rounds each length up to a multiple of " << o.pad_to->value << "\n";
}

void print_odd_slices(std::ostream& out, const slimpack::plan& p) {
  const std::int64_t even = 2 * std::int64_t{p.shape.context};
  if (p.shape.context == 1) return;
  const std::string which =
      " no multiple of " + std::to_string(even) + " tokens, 2 x --cp, as zigzag ring attention needs";
  if (p.shape.quantum.value % even != 0)
    out << "note      cuts at multiples of " << p.shape.quantum.value << " tokens make slices of" << which
        << ": give a --quantum that is one\n";
  const auto odd =
      std::count_if(p.lengths.begin(), p.lengths.end(), [&](tokens length) { return length.value % even != 0; });
  if (odd > 0)
    out << "note      " << odd << " of " << p.lengths.size()
        << (odd == 1 ? " sequences has a last slice of" : " sequences have last slices of") << which << "; --pad-to "
        << even << " pads them\n";
}

}  // namespace cli
