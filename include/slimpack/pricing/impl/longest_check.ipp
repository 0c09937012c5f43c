#ifndef SLIMPACK_PRICING_IMPL_LONGEST_CHECK_IPP
#define SLIMPACK_PRICING_IMPL_LONGEST_CHECK_IPP

#include <slimpack/core/detail/indices.hpp>
#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/timings.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/pricing/detail/cost_answers.hpp>
#include <slimpack/pricing/detail/time_faults.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

SLIMPACK_DECL result<void> longest_check::operator()(weight_gradients split) const {
  for (int part = 0; part < on_.parts(); ++part) {
    if (const int like = cost_.like(part); !is_like(like, part))
      return error{errc::invalid_input, told_like(like, part)};
    for (const pass p : both_passes)
      if (result<void> fine = packs(p, part); !fine) return fine;
    if (split == weight_gradients::with_inputs) continue;
    if (result<void> fine = weights(part); !fine) return fine;
  }
  for (int part = 0; part < on_.parts(); ++part)
    if (result<void> fine = buckets(part); !fine) return fine;
  if (on_.vocabulary == vocabulary::spread)
    if (result<void> fine = ends_of_model(); !fine) return fine;
  for (int share = on_.parts(); on_.has_copies() && share < on_.reduced_parts(); ++share)
    if (result<void> fine = buckets(share); !fine) return fine;
  const seconds reduce = reduce_time_of(cost_);
  return is_time(reduce) ? result<void>(success()) : no_time(reduce, "the reduction of gradients");
}

SLIMPACK_DECL error longest_check::wrong(const std::string& what) {
  return {errc::invalid_input, "the cost model" + what};
}

SLIMPACK_DECL error longest_check::no_time(seconds t, const std::string& what) {
  return wrong(" gives " + told_number(t.value) + " s for " + what + "; times must be from 0 to 1e12 s");
}

SLIMPACK_DECL result<void> longest_check::packs(pass p, int part) const {
  const tokens longest = whole_.length;
  const bool last = part == nth_place(p, on_.parts() - 1, on_.parts());
  for (const auto& [what, t] : {std::pair{"", cost_.time(whole_, p, part)},
                                {"the overhead of a pack with ", pack_overhead(cost_, p, part)},
                                {"the overhead of a call with ", call_overhead_of(cost_, p, part)},
                                {"a pack of ", pack_time(cost_, std::span(&whole_, 1), p, part)},
                                {"the message of ", last ? seconds{} : message_time(cost_, longest, p, part)},
                                {"the exchange of ", longest_exchange(p, part)}})
    if (!is_time(t)) return no_time(t, what + sequence_ + ", " + name_of(p) + " on part " + std::to_string(part));
  return success();
}

SLIMPACK_DECL seconds longest_check::longest_exchange(pass p, int part) const {
  const tokens longest = whole_.length;
  const std::int64_t quanta = (longest.value - 1) / on_.quantum.value + 1;
  const auto sharers =
      slimpack::detail::indices<std::uint32_t>(static_cast<std::size_t>(std::min<std::int64_t>(on_.replicas, quanta)));
  if (sharers.size() < 2) return {};
  const slice mine{{}, {0}, std::min(longest, on_.quantum)};
  shared_row row{{}, p, {0}, longest, sharers};
  row.others = longest - mine.length;
  row.sent = mine.length * static_cast<std::int64_t>(sharers.size() - 1);
  return exchange_time(cost_, row, std::span(&mine, 1), p, part);
}

SLIMPACK_DECL result<void> longest_check::weights(int part) const {
  const seconds own = weight_time(cost_, whole_, part);
  const seconds all = cost_.time(whole_, pass::backward, part);
  if (own >= seconds{} && own <= all * (1 + 1e-9)) return success();
  return wrong(" gives " + told_number(own.value) + " s for the weight gradients of " + sequence_ + " on part " +
               std::to_string(part) + "; they must be from 0 to its backward, " + told_number(all.value) + " s");
}

SLIMPACK_DECL result<void> longest_check::buckets(int part) const {
  double before = 0;
  for (const gradient_bucket& b : gradient_buckets_of(cost_, part)) {
    for (const seconds t : {b.scatter, b.gather})
      if (!is_time(t)) return no_time(t, "a bucket of gradients of part " + std::to_string(part));
    if (!(b.at >= before && b.at <= 1))
      return wrong("'s buckets of gradients of part " + std::to_string(part) +
                   " are not in order of their layers: one at " + std::to_string(b.at) +
                   " of a pack comes after one at " + std::to_string(before));
    before = b.at;
  }
  return success();
}

SLIMPACK_DECL result<void> longest_check::ends_of_model() const {
  const tokens longest = whole_.length;
  for (int stage = 0; stage < on_.stages; ++stage) {
    for (const time_column c : time_columns) {
      if (c.each() == places::parts) continue;
      const seconds t = c.is_call()                      ? vocabulary_time(cost_, longest, c.call(), stage)
                        : sends(c.message(), stage, on_) ? vocabulary_message(cost_, longest, c.message(), stage)
                                                         : seconds{};
      if (!is_time(t)) return no_end(t, stage);
    }
  }
  const seconds back = message_time(cost_, longest, pass::backward, 0);
  return is_time(back) ? result<void>(success()) : no_end(back, 0);
}

SLIMPACK_DECL error longest_check::no_end(seconds t, int stage) const {
  const std::string where = "a spread vocabulary and " + sequence_ + " on stage " + std::to_string(stage);
  return std::isnan(t.value) ? wrong(" has no times for " + where + ": make it for a shape with vocabulary::spread")
                             : no_time(t, where);
}

}  // namespace slimpack::detail

#endif
