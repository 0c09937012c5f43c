#include "relayed.hpp"

#include "sharers.hpp"
#include "texts.hpp"

#include <slimpack/core/detail/amount.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/costs/memory/memory.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/network/network.hpp>
#include <slimpack/costs/network/row_exchange.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace cli {

using namespace slimpack;

std::string relayed_text(const setting& s, const shapes::layout& on, const plan& p) {
  if (!s.model || !s.device) return {};
  double keys = 0, widest = 0;  // bytes of a token, over all layers and tensor-parallel ranks; of one layer and rank
  for (int i = 0; i < s.model->layers; ++i) {
    const double one = 2 * costs::layer::of(*s.model, s.model->kind(i), p.shape.tensor).kv_elements;
    keys += one * p.shape.tensor;
    widest = std::max(widest, one / p.shape.context);
  }
  const costs::recompute what = on.recompute;
  const double rounds = repeats_attention(what) ? 3 : 2;
  std::size_t sequences = 0, strands = 0, segments = 0;
  double across = 0, inside = 0;
  tokens longest{};
  for (const merge& m : p.merges) {
    if (m.relays.empty()) continue;
    ++sequences;
    const std::vector<tokens> parcels = held_by_sharers(p, m, pass::forward, m.forward.front());  // a ring has one row
    const auto length = static_cast<double>(p.lengths[m.sequence.value].value);
    for (const relay& r : m.relays) {
      // Rows make a hop less than their gradients, which come home: the next sharer's do not go to it.
      const auto next = static_cast<std::size_t>(std::lower_bound(m.replicas.begin(), m.replicas.end(), r.in.front()) -
                                                 m.replicas.begin());
      const double sent = keys * (rounds * (length - static_cast<double>(parcels[next].value)) + 2 * length);
      const auto x = static_cast<double>(r.out.size());
      across += sent, inside += 2 * sent * (x - 1) / x;
      strands = std::max(strands, r.out.size()), segments = std::max(segments, std::size_t{r.segments});
    }
    for (const tokens one : parcels) longest = std::max(longest, one);
  }
  if (sequences == 0) return {};
  const costs::network net = s.measured ? s.measured->network : costs::network(*s.device);
  const bytes size{widest * static_cast<double>(longest.value)};
  const int abreast = p.shape.tensor * p.shape.context;
  const seconds direct = net.send_receive({2, 2, 2}, size, abreast);
  const seconds relayed =
      costs::relayed_transfer::of(net, size, static_cast<int>(strands), static_cast<int>(segments), abreast).time();
  return "rows of " + std::to_string(sequences) + " sequences cross between nodes in " + std::to_string(strands) +
         " strands of " + std::to_string(segments) + (segments == 1 ? " segment: " : " segments: ") +
         detail::amount(across, memory_unit::byte) + " over adapters, " + detail::amount(inside, memory_unit::byte) +
         " more inside nodes; the longest transfer, keys and values of " + std::to_string(longest.value) +
         " tokens, takes " + time_of(relayed) + ", and over one adapter " + time_of(direct);
}

}  // namespace cli
