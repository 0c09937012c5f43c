#ifndef SLIMPACK_COSTS_NETWORK_LOAN_ROWS_HPP
#define SLIMPACK_COSTS_NETWORK_LOAN_ROWS_HPP

#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/lending/loan_messages.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/memory/memory.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/mixer.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/network/network.hpp>
#include <slimpack/costs/network/placement.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::costs {

/// What the messages of attention that stages lend each other take, over the links between their ranks.
/// Formula   bytes in each layer, of k key and value elements, q query and o output elements and h heads of a rank, n
///           queries and m keys:
///             forward   context 2 k m; queries 2 q n; results (2 o + 4 h) n
///             backward  context 2 k m + (2 q + 2 o + 4 h) n; queries 2 o n; results 2 q n + 2 k m
///           of layers with a window or chunks of R tokens only those keys that are within R - 1 before the queries;
///           states lend nothing, and take no part. Where attention is computed again, its forward is lent again:
///           backward then has the queries and results of both
/// Source    SlimPipe (arXiv:2504.14519), whose messages these are: five forward, nine backward
/// Units     tokens in, seconds out            Errors    none            Complexity  that of network
class loan_rows {
 public:
  /// layers: on each part; exposed: by how much communication that is waited for slows down in a step (costs::slowdown)
  loan_rows(const model_shape& model, const shape& on, std::span<const int> layers, recompute what, network net,
            double exposed = 1)
      : net_(std::move(net)), shape_(on), exposed_(exposed), again_(repeats_attention(what)) {
    int next = 0;
    for (const int count : layers) {
      std::vector<layer> lending;  // layers that attend to keys
      for (const int end = next + count; next < end; ++next)
        if (layer l = layer::of(model, model.kind(next), on.tensor); l.kv_elements > 0) lending.push_back(l);
      rows made{.layers = static_cast<double>(lending.size())};
      for (const layer& l : lending) {
        const double each = 2.0 / on.context / made.layers;
        if (l.span.reach > 0 && l.span.how != mixing::top_k)
          made.near.push_back({l.span.reach, each * l.kv_elements});
        else
          made.key += each * l.kv_elements;
        made.query += each * l.query, made.output += each * l.output;
        made.sum += 4.0 / on.context / made.layers * (l.heads * on.tensor) / on.tensor;
      }
      parts_.push_back(std::move(made));
    }
  }

  [[nodiscard]] loan_messages operator()(const loan& l, int part) const {
    const rows& of = parts_[static_cast<std::size_t>(part)];
    const rank_group between =
        net_.place().stages(shape_, static_cast<int>(l.lender.stage), static_cast<int>(l.helper.stage));
    const auto wire = [&](double sent) {
      return net_.send_receive(between, bytes{sent}, shape_.tensor * shape_.context) * exposed_;
    };
    const auto n = static_cast<double>(l.queries.length.value), m = static_cast<double>(l.context.length.value);
    double keys = of.key * m;  // bytes
    for (const auto& [reach, each] : of.near)
      keys += each * std::clamp(static_cast<double>(l.context.end().value - l.queries.begin.value + reach - 1), 0.0, m);
    const loan_messages forward{of.layers, wire(keys), wire(of.query * n), wire((of.output + of.sum) * n)};
    if (l.pass() == pass::forward) return forward;
    loan_messages backward{of.layers, wire(keys + (of.query + of.output + of.sum) * n), wire(of.output * n),
                           wire(of.query * n + keys)};
    if (again_) backward.queries += forward.queries, backward.results += forward.results;
    return backward;
  }

 private:
  struct rows {  // bytes of a token in a layer
    double layers{}, key{}, query{}, output{}, sum{};
    std::vector<std::pair<std::int64_t, double>> near{};  // reach of windows and chunks, and their keys
  };

  network net_;
  shape shape_;
  double exposed_;
  bool again_;
  std::vector<rows> parts_;
};

}  // namespace slimpack::costs

#endif
