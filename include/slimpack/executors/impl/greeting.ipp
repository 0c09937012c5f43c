#ifndef SLIMPACK_EXECUTORS_IMPL_GREETING_IPP
#define SLIMPACK_EXECUTORS_IMPL_GREETING_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/executors/detail/greeting.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>

namespace slimpack::detail {

SLIMPACK_DECL std::optional<error> difference(std::span<const greeting> all, std::size_t stages,
                                              const std::function<std::string(std::size_t, std::size_t)>& ranks) {
  const auto differ = [&](std::size_t a, std::size_t b, const std::string& how) {
    return error{errc::disagreement, ranks(a, b) + how};
  };
  const auto plan_of = [](const greeting& g) {
    return g.division == 0 ? "a plan of all replicas" : hash_text(g.division);
  };
  const auto kind_of = [](const greeting& g) {
    return g.forward_only != 0 ? "an evaluation (evaluate)" : "a training step (execute)";
  };
  const auto cuts_of = [](const greeting& g) {
    return g.cuts == static_cast<std::int64_t>(backward_cuts::any) ? "any" : "forward_cuts";
  };
  const auto element_of = [](const greeting& g) {
    return std::string(to_string(static_cast<element_type>(g.element)));
  };
  const auto calls_of = [](const greeting& g) { return g.joins != 0 ? "joined" : "apart"; };
  const greeting& first = all[0];
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const greeting& one = all[rank];
    const auto holds = [&](const std::string& what, const std::string& a, const std::string& b) {
      return differ(0, rank, " hold different " + what + ": " + a + " and " + b);
    };
    if (one.division != first.division) return holds("divisions of the batch", plan_of(first), plan_of(one));
    const std::size_t leader = std::min<std::size_t>(one.group, all.size()) * stages;
    if (leader >= all.size()) return holds("plans", hash_text(first.hash), hash_text(one.hash));
    if (one.hash != all[leader].hash || one.group != all[leader].group)
      return differ(leader, rank,
                    " hold different plans: " + hash_text(all[leader].hash) + " and " + hash_text(one.hash));
    if (one.stages != first.stages || one.replicas != first.replicas)
      return holds("plans", hash_text(first.hash), hash_text(one.hash));
    if (one.step != first.step) return holds("steps", std::to_string(first.step), std::to_string(one.step));
    if (one.forward_only != first.forward_only) return holds("kinds of step", kind_of(first), kind_of(one));
    if (one.checksums != first.checksums)
      return holds("settings of packflow::checksums", first.checksums != 0 ? "on" : "off",
                   one.checksums != 0 ? "on" : "off");
    if (one.cuts != first.cuts) return holds("kinds of backward cuts", cuts_of(first), cuts_of(one));
    if (one.width != first.width)
      return holds("message widths", std::to_string(first.width), std::to_string(one.width));
    if (one.element != first.element) return holds("element types", element_of(first), element_of(one));
    if (const std::size_t copy = rank % stages; one.rows != all[copy].rows)
      return differ(copy, rank,
                    " send rows that replicas share in different sizes: " + text_of(all[copy].rows) + " and " +
                        text_of(one.rows));
    if (const std::size_t own = rank - rank % stages; one.ties != all[own].ties)
      return differ(own, rank,
                    " send different messages in packs that stages run together: " + text_of(all[own].ties) + " and " +
                        text_of(one.ties));
    if (one.joins != first.joins)
      return differ(0, rank,
                    std::string(" run packs with rows that replicas share differently: ") + calls_of(first) + " and " +
                        calls_of(one) + " (packflow::rows, or a compute's joins_rows)");
    if (one.nodes != first.nodes)
      return holds("maps of ranks to nodes (packflow::node_of)", hash_text(first.nodes), hash_text(one.nodes));
    if (one.vocabulary != first.vocabulary)
      return holds("rows of the vocabulary", text_of(first.vocabulary), text_of(one.vocabulary));
    if (const std::int64_t most = std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(all.size());
        one.valid_tokens < 0 || one.valid_tokens > most)
      return differ(0, rank,
                    " tell numbers of tokens that cannot be summed: " + std::to_string(first.valid_tokens) + " and " +
                        std::to_string(one.valid_tokens));
    // Plans are alike; their arithmetic may not be, on another processor or by another compiler.
    const std::size_t head = std::min(static_cast<std::uint64_t>(one.together), std::uint64_t{all.size()}) * stages;
    if (head >= all.size())
      return holds("groups of replicas that run together", std::to_string(first.together),
                   std::to_string(one.together));
    if (one.transfers != all[head].transfers)
      return differ(head, rank,
                    " order the plan's transfers differently: " + hash_text(all[head].transfers) + " and " +
                        hash_text(one.transfers));
  }
  return std::nullopt;
}

SLIMPACK_DECL tokens batch_tokens_of(std::span<const greeting> all, std::size_t stages) {
  tokens batch{};
  for (std::size_t last = stages - 1; last < all.size(); last += stages) batch += tokens{all[last].valid_tokens};
  return batch;
}

}  // namespace slimpack::detail

#endif
