#ifndef SLIMPACK_EXECUTORS_LENDING_LOAN_TRAFFIC_HPP
#define SLIMPACK_EXECUTORS_LENDING_LOAN_TRAFFIC_HPP

#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/executors/lending/loan_format.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::executors {

/// What a stage sends others for attention that they lend each other, in one step.
struct loan_traffic {
  by_pass<std::int64_t> messages;
  by_pass<std::int64_t> bytes;
  friend constexpr bool operator==(const loan_traffic&, const loan_traffic&) = default;
};

/// What a stage of a replica with these loans will send, to the byte.
/// Shapes    chunks: the format of each chunk of the stage            Complexity  O(loans)
[[nodiscard]] inline loan_traffic loan_traffic_of(std::span<const loan> loans, std::uint32_t stage,
                                                  std::span<const loan_format> chunks) {
  loan_traffic sum;
  for (const loan& l : loans) {
    const auto add = [&](const loan_format& format, const std::vector<loan_message>& sent) {
      for (const loan_message& m : sent) {
        sum.messages[l.pass()] += format.layers;
        sum.bytes[l.pass()] += format.layers * static_cast<std::int64_t>(m.bytes_of(l));
      }
    };
    if (l.lender.stage == stage) {
      const loan_format& format = chunks[l.lender.what.chunk];
      add(format, format.offered[l.pass()]), add(format, format.asked[l.pass()]);
    }
    if (l.helper.stage == stage) add(chunks[l.helper.what.chunk], chunks[l.helper.what.chunk].answered[l.pass()]);
  }
  return sum;
}

}  // namespace slimpack::executors

#endif
