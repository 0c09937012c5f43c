#ifndef SLIMPACK_IO_SAVED_TENSORS_HPP
#define SLIMPACK_IO_SAVED_TENSORS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/costs/memory/saved_tensors.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/open.hpp>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <istream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::io {

namespace detail {

[[nodiscard]] inline costs::saved_tensor saved_tensor_of(const json_place& entry) {
  entry.must_only_have(
      {"name", "kept", "hidden", "gathered", "query", "key_value", "output", "feed_forward", "gate", "heads", "pairs"});
  const auto width = [&](const char* name) {
    const std::optional<json_place> given = entry.find({name});
    return given ? given->number(0) : 0;
  };
  costs::saved_tensor t{.name = entry["name"].text(),
                        .hidden = width("hidden"),
                        .gathered = width("gathered"),
                        .query = width("query"),
                        .key_value = width("key_value"),
                        .output = width("output"),
                        .feed_forward = width("feed_forward"),
                        .gate = width("gate"),
                        .heads = width("heads"),
                        .pairs = width("pairs")};
  if (const std::optional<json_place> modes = entry.find({"kept"}))
    for (std::size_t i = 0; i < modes->size(); ++i) {
      const json_place mode = modes->at(i);
      if (mode.text() == "light") {
        t.light = true;
      } else if (mode.text() == "attention") {
        t.attention = true;
      } else if (mode.text() == "selective") {
        t.selective = true;
      } else if (mode.text() == "full") {
        t.full = true;
      } else if (mode.text() == "prefix") {
        t.prefix = true;
      } else {
        mode.expected("\"light\", \"attention\", \"selective\", \"full\" or \"prefix\"");
      }
    }
  return t;
}

[[nodiscard]] inline std::vector<costs::saved_tensor> saved_tensor_list_of(const json_place& list) {
  std::vector<costs::saved_tensor> all;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const json_place entry = list.at(i);
    all.push_back(saved_tensor_of(entry));
  }
  return all;
}

[[nodiscard]] inline costs::saved_tensors saved_tensors_of(const json_place& file) {
  file.must_only_have({"name", "source", "layer", "head", "running", "boundary", "logits", "states"});
  const json_place layer = file["layer"];
  const json_place head = file["head"];
  const std::optional<json_place> running = file.find({"running"});
  const std::optional<json_place> boundary = file.find({"boundary"});
  const json_place logits = file["logits"];
  logits.must_only_have({"forward", "backward"});
  const json_place states = file["states"];
  states.must_only_have({"weight", "gradient", "optimizer", "gathered_weight", "gathered_gradient"});
  const std::optional<json_place> gathered = states.find({"gathered_weight"});
  const std::optional<json_place> scattered = states.find({"gathered_gradient"});
  if (scattered && !gathered) scattered->expected("\"gathered_weight\" beside it");
  return {.name = file["name"].text(),
          .source = file["source"].text(),
          .layer = saved_tensor_list_of(layer),
          .head = saved_tensor_list_of(head),
          .running = running ? saved_tensor_list_of(*running) : std::vector<costs::saved_tensor>{},
          .boundary = boundary ? saved_tensor_list_of(*boundary) : std::vector<costs::saved_tensor>{},
          .logit_forward = logits["forward"].number(0),
          .logit_backward = logits["backward"].number(0),
          .weight = states["weight"].number(0),
          .gradient = states["gradient"].number(0),
          .optimizer = states["optimizer"].number(0),
          .gathered_weight = gathered ? gathered->positive(16) : 0,
          .gathered_gradient = scattered ? scattered->positive(16) : 0};
}

}  // namespace detail

/// Reads what a training stack keeps from a JSON file. All keys must be there but those marked, no others:
///
///   name, source  text: what stack, and where the figures come from
///   layer         list of the tensors that a layer keeps from forward to backward, each with
///                   name       text
///                   kept       (may be left out) list of the recomputations under which it is kept too: "light" (of
///                              norm outputs and activations), "attention" (of scores and softmax only), "selective"
///                              (whatever the stack means by it), "full" (which is any); and "prefix", where later
///                              slices of the same sequence read it: of cut sequences it is kept under any. If no
///                              tensor has "prefix", keys and values in bf16 are kept so
///                   and bytes a token and element of a width (left out: 0): hidden (over the tensor-parallel ranks
///                   under sequence parallelism only), gathered (the hidden width, whole on every rank), query,
///                   key_value (both together), output (of attention), feed_forward, gate (the feed-forward width
///                   where the MLP has a gate), heads (a query head), pairs (a query head and key: dense attention)
///   head          the same, of what stands before the logits; kept always
///   running       (may be left out) the same, of what a layer holds besides while its backward runs
///   boundary      (may be left out) the same, of what a part of a pipeline keeps of what it sends on
///   logits        {"forward", "backward"}: bytes a logit while a pack of the pass runs
///   states        {"weight", "gradient", "optimizer"}: bytes a parameter; and (may be left out) "gathered_weight", for
///                 fully sharded states: bytes a parameter of weights in use; and beside it (may be left out)
///                 "gathered_gradient", where weights are gathered layer by layer in pipelines, too: bytes a parameter
///                 of a layer's gradients until they are scattered
///
/// `name` opens every message.
/// Errors    invalid_input: not JSON, or a key that is missing, unknown or out of range, named
/// Complexity O(file size)
[[nodiscard]] inline result<costs::saved_tensors> read_saved_tensors(std::istream& in, const std::string& name) {
  return detail::read_json(in, name, detail::saved_tensors_of);
}

/// Errors    also unreadable: the file
[[nodiscard]] inline result<costs::saved_tensors> read_saved_tensors(const std::filesystem::path& file) {
  result<std::ifstream> in = detail::open_to_read(file);
  if (!in) return std::move(in).error();
  return read_saved_tensors(in.value(), file.string());
}

}  // namespace slimpack::io

#endif
