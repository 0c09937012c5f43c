#ifndef SLIMPACK_IO_GPU_HPP
#define SLIMPACK_IO_GPU_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/costs/model/gpu.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/json_out.hpp>
#include <slimpack/io/detail/open.hpp>

#include <filesystem>
#include <fstream>
#include <istream>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace slimpack::io {

namespace detail {

[[nodiscard]] inline costs::link link_of(const json_place& link) {
  link.must_only_have({"latency_s", "bandwidth"});
  return {{link["latency_s"].number(0)}, link["bandwidth"].positive(1e15)};
}

/// One text for all figures, or "figure: text; figure: text" of an object that has a text for each.
[[nodiscard]] inline std::string gpu_source_of(const json_place& source) {
  if (!source.is_object()) return source.text();
  const json_place::keys figures{"memory_bytes",  "peak_bf16_flops", "memory_bandwidth",     "multiprocessors",
                                 "gpus_per_node", "gemm_efficiency", "attention_efficiency", "backward_attention_ratio",
                                 "inside",        "between"};
  const json_place::keys known{"memory_bytes",  "peak_bf16_flops", "memory_bandwidth",     "multiprocessors",
                               "gpus_per_node", "gemm_efficiency", "attention_efficiency", "backward_attention_ratio",
                               "inside",        "between",         "layer_efficiency",     "adapters_per_node"};
  source.must_only_have(known);
  std::string all;
  if (const std::optional<json_place> layers = source.find({"layer_efficiency"}))
    all = "layer_efficiency: " + layers->text();
  if (const std::optional<json_place> adapters = source.find({"adapters_per_node"}))
    all += (all.empty() ? "" : "; ") + std::string("adapters_per_node: ") + adapters->text();
  for (const char* figure : figures)
    all += (all.empty() ? "" : "; ") + std::string(figure) + ": " + source[figure].text();
  return all;
}

[[nodiscard]] inline costs::gpu gpu_of(const json_place& file) {
  file.must_only_have({"name", "memory_bytes", "peak_bf16_flops", "memory_bandwidth", "multiprocessors",
                       "gpus_per_node", "gemm_efficiency", "attention_efficiency", "backward_attention_ratio", "inside",
                       "between", "source", "layer_efficiency", "adapters_per_node"});
  costs::gpu g;
  g.name = file["name"].text();
  g.memory = {file["memory_bytes"].positive(1e15)};
  g.peak_bf16_flops = file["peak_bf16_flops"].positive(1e18);
  g.memory_bandwidth = file["memory_bandwidth"].positive(1e15);
  g.multiprocessors = file["multiprocessors"].integer<int>(1, 1'000'000);
  g.gpus_per_node = file["gpus_per_node"].integer<int>(1, 1'000'000);
  if (const std::optional<json_place> adapters = file.find({"adapters_per_node"})) {
    g.adapters_per_node = adapters->integer<int>(1, 1'000'000);
    if (g.gpus_per_node % g.adapters_per_node != 0)
      adapters->expected("a divisor of gpus_per_node, " + std::to_string(g.gpus_per_node) +
                         ", since neighbouring GPUs share an adapter");
  }
  g.gemm_efficiency = file["gemm_efficiency"].positive(1);
  g.attention_efficiency = file["attention_efficiency"].positive(1);
  g.backward_attention_ratio = file["backward_attention_ratio"].positive(100);
  if (const std::optional<json_place> layers = file.find({"layer_efficiency"}))
    g.layer_efficiency = layers->positive(1);
  const json_place inside = file["inside"];
  g.inside = link_of(inside);
  const json_place between = file["between"];
  g.between = link_of(between);
  const json_place source = file["source"];
  g.source = gpu_source_of(source);
  return g;
}

}  // namespace detail

/// Reads a GPU and its node from a JSON file. All keys must be there but layer_efficiency and adapters_per_node, and no
/// others:
///
///   name                      text, for reports
///   memory_bytes              of one GPU
///   peak_bf16_flops           per second, dense
///   memory_bandwidth          bytes per second
///   multiprocessors           count
///   gpus_per_node             count
///   adapters_per_node         count of network adapters, a divisor of gpus_per_node: neighbouring GPUs share one;
///                             without it, one for each GPU
///   gemm_efficiency           0 to 1: share of the peak that large products reach
///   attention_efficiency      0 to 1: share of the peak that causal attention of long slices reaches, forward
///   backward_attention_ratio  time of attention backward over forward
///   layer_efficiency          0 to 1: share of the peak that the products of layers reach, one after the other;
///                             without it, what costs::gpu::in_layers says
///   inside, between           {"latency_s", "bandwidth"} between GPUs of a node, of two nodes over one adapter; bytes
///                             per second
///   source                    where the figures come from: a text, or an object with a text for each key but name
///
/// `name` opens every message.
/// Errors    invalid_input: not JSON, or a key that is missing, unknown or out of range, named
/// Complexity O(file size)
[[nodiscard]] inline result<costs::gpu> read_gpu(std::istream& in, const std::string& name) {
  return detail::read_json(in, name, detail::gpu_of);
}

/// Errors    also unreadable: the file
[[nodiscard]] inline result<costs::gpu> read_gpu(const std::filesystem::path& file) {
  result<std::ifstream> in = detail::open_to_read(file);
  if (!in) return std::move(in).error();
  return read_gpu(in.value(), file.string());
}

/// Writes what read_gpu reads: the GPU read back is the same.
/// Errors    unwritable: the stream has failed
[[nodiscard]] inline result<void> write_gpu(std::ostream& out, const costs::gpu& g) {
  detail::json_out json(out);
  json.open('{').field("name", std::string_view{g.name}).field("memory_bytes", g.memory.value);
  json.field("peak_bf16_flops", g.peak_bf16_flops).field("memory_bandwidth", g.memory_bandwidth);
  json.field("multiprocessors", g.multiprocessors).field("gpus_per_node", g.gpus_per_node);
  if (g.adapters_per_node > 0) json.field("adapters_per_node", g.adapters_per_node);
  json.field("gemm_efficiency", g.gemm_efficiency).field("attention_efficiency", g.attention_efficiency);
  json.field("backward_attention_ratio", g.backward_attention_ratio);
  if (g.layer_efficiency > 0) json.field("layer_efficiency", g.layer_efficiency);
  for (const auto& [name, over] : {std::pair{"inside", &g.inside}, std::pair{"between", &g.between}})
    json.key(name).open('{').field("latency_s", over->latency.value).field("bandwidth", over->bandwidth).close('}');
  json.field("source", std::string_view{g.source}).close('}').flush();
  if (!out) return error{errc::unwritable, "the GPU could not be written: the output stream failed"};
  return success();
}

}  // namespace slimpack::io

#endif
