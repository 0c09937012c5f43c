#include "tables.hpp"

#include <slimpack/costs/detail/measured_layer.hpp>
#include <slimpack/costs/kernels/detail/reference_kernel.hpp>
#include <slimpack/costs/model/gpu_family.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>

namespace cli {
namespace {

using namespace slimpack;

/// How many rows of a table go where, in the order in which they are told.
class parts {
 public:
  void add(const std::string& where) {
    if (const auto [at, fresh] = rows_.try_emplace(where, 0); ++at->second, fresh) order_.push_back(where);
    ++all_;
  }
  [[nodiscard]] std::string text() const {
    std::string list;
    for (const std::string& where : order_) {
      const std::size_t rows = rows_.at(where);
      list += list.empty() ? "" : "; ";
      list += (rows == all_ ? "all " : "") + std::to_string(rows) + (rows == 1 ? " row " : " rows ") + where;
    }
    return list;
  }

 private:
  std::map<std::string, std::size_t> rows_;
  std::vector<std::string> order_;
  std::size_t all_{};
};

/// The samples of the setting's GPU; those of others are told as not used.
template <class Sample>
std::vector<Sample> own_rows(const setting& s, const std::vector<Sample>& all, parts& told) {
  std::vector<Sample> own;
  for (const Sample& each : all)
    if (costs::gpu_family(each.gpu) == costs::gpu_family(s.device->name))
      own.push_back(each);
    else
      told.add("not used, of " + each.gpu);
  return own;
}

/// All attention of this GPU decides which kernel is the reference, and whether that one was measured on slices.
struct attention_kernels {
  slimpack::detail::kernel_key reference;
  bool slices{};

  explicit attention_kernels(const setting& s) {
    std::vector<costs::attention_sample> all;
    parts unused;
    for (const io::profile_table& t : s.measured->tables)
      for (costs::attention_sample& each : own_rows(s, t.attention, unused)) all.push_back(std::move(each));
    if (const auto found = slimpack::detail::reference_kernel(all, s.device->name)) reference = *found;
    slices = std::any_of(all.begin(), all.end(), [&](const costs::attention_sample& each) {
      return each.causal && each.keys > each.queries && slimpack::detail::kernel_key::of(each) == reference;
    });
  }

  [[nodiscard]] std::string use(const costs::attention_sample& each) const {
    if (!each.causal) return "not used, attention that is not causal";
    if (slimpack::detail::kernel_key::of(each) == reference) return "used for attention";
    if (slices && each.keys > each.queries)
      return "not used, slices of " + each.kernel + ", while " + reference.kernel + " was measured on slices itself";
    return "used for the shape of attention, scaled to " + reference.kernel;
  }
};

/// Where a layer's own times replace its products and element-wise kernels.
std::string use_of_layer(const setting& s, const std::vector<costs::layer_sample>& all,
                         const costs::layer_sample& each) {
  const bool fixed = !s.options.automatic || s.options.automatic->tensor;
  const std::string own = s.model->name + (fixed ? " on tp " + std::to_string(s.layout.shape.tensor) : "");
  const auto alike = [&](const costs::layer_sample& other) {
    return other.hidden == each.hidden && other.ffn == each.ffn && other.q_heads == each.q_heads &&
           other.kv_heads == each.kv_heads;
  };
  std::vector<costs::layer_sample> same;
  std::copy_if(all.begin(), all.end(), std::back_inserter(same), alike);
  const bool asked = !fixed || each.tensor == s.layout.shape.tensor;
  if (asked && slimpack::detail::measured_layer::of(same, *s.model, each.tensor)) return "used for layers of " + own;
  return "not used, no layer of " + own;
}

std::string use_of(const setting& s, const io::profile_table& t, const attention_kernels& kernels) {
  parts told;
  for (const auto& each : own_rows(s, t.attention, told)) told.add(kernels.use(each));
  for (std::size_t i = own_rows(s, t.products, told).size(); i > 0; --i) told.add("used for products");
  const std::vector<costs::layer_sample> layers = own_rows(s, t.layers, told);
  std::map<std::string, std::string> known;
  for (const auto& each : layers) {
    const std::string key = each.model + "\n" + std::to_string(each.tensor);
    if (!known.contains(key)) known[key] = use_of_layer(s, layers, each);
    told.add(known[key]);
  }
  for (const auto& each : own_rows(s, t.collectives, told))
    told.add(s.measured->network.uses(each) ? "used for links"
                                            : "not used, links of another machine or of one size: see the notes");
  return told.text();
}

}  // namespace

std::vector<std::string> uses_of(const setting& s) {
  const attention_kernels kernels(s);
  std::vector<std::string> lines;
  for (const io::profile_table& t : s.measured->tables)
    lines.push_back(t.file + ": " +
                    (t.measures ? use_of(s, t, kernels) : "not used, its columns are no measurements of kernels"));
  return lines;
}

}  // namespace cli
