#ifndef SLIMPACK_IO_DETAIL_FORESTS_TOKEN_LINE_HPP
#define SLIMPACK_IO_DETAIL_FORESTS_TOKEN_LINE_HPP

#include <slimpack/forests/trained_run.hpp>
#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/lengths/doubts/packed_samples.hpp>
#include <slimpack/io/detail/lengths/field.hpp>
#include <slimpack/io/detail/lengths/json_tokens.hpp>
#include <slimpack/io/detail/numbered_lines.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What a line says of the tokens of a sample (io/forests/token_lines.hpp). All that is wrong is thrown as malformed.
namespace slimpack::io::detail {

struct token_line {
  std::vector<std::int32_t> ids;
  std::vector<forests::trained_run> targets;
};

/// Hands `use` an array, or the only array in it.
template <class Use>
void in_array(const json_place& place, const Use& use) {
  if (place.size() != 1) return use(place);
  const json_place inner = place.at(0);
  inner.is_array() ? use(inner) : use(place);
}

/// Appends the token ids of an array.
inline void add_ids(const json_place& place, std::vector<std::int32_t>& to) {
  using id = std::numeric_limits<std::int32_t>;
  in_array(place, [&](const json_place& array) {
    for (std::size_t i = 0; i < array.size(); ++i)
      to.push_back(array.at(i).integer<std::int32_t>(id::min(), id::max()));
  });
}

/// Weights that a member gives each token: 0 of those that are not trained on.
[[nodiscard]] inline std::vector<double> weights_in(const json_place& place, std::string_view name) {
  std::vector<double> all;
  in_array(place, [&](const json_place& array) {
    for (std::size_t i = 0; i < array.size(); ++i) {
      const json_place one = array.at(i);
      if (name == "labels")
        all.push_back(one.integer(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()) ==
                              -100
                          ? 0
                          : 1);
      else
        all.push_back(one.raw().is_boolean() ? (one.boolean() ? 1.0 : 0.0) : one.number());
    }
  });
  return all;
}

/// Members that say which tokens are trained on, the first of which counts.
inline constexpr const char* masks_of_targets[]{"loss_weights", "loss_mask", "assistant_masks", "labels"};

/// Reads the tokens of a sample from `field`, or from the usual member.
[[nodiscard]] inline token_line token_line_in(const json_place& sample, std::string_view field) {
  token_line read;
  std::string name(field);
  for (const char* const usual : {"tokens", "input_ids"})
    if (field.empty() && sample.find({usual})) name = usual;
  for (const std::string& term : terms_of(name))
    if (!at_way(sample, term, [&](const json_place& place) { add_ids(place, read.ids); }))
      throw malformed("lacks the key " + in_quotes(term.empty() ? "input_ids" : term) + ", it has " +
                      listed(sample.names()) + "; " + std::string(name_the_field));
  if (field.empty()) check_packed(sample, static_cast<std::int64_t>(read.ids.size()));
  const auto as_many = [&](const char* mask, std::size_t size) {
    if (size != read.ids.size())
      throw malformed(std::string(mask) + " has " + std::to_string(size) + " elements, and " + in_quotes(name) +
                      " has " + std::to_string(read.ids.size()) + " tokens");
  };
  std::vector<double> weights(read.ids.size(), 1);
  for (const char* const mask : masks_of_targets)
    if (const std::optional<json_place> place = sample.find({mask})) {
      weights = weights_in(*place, mask);
      as_many(mask, weights.size());
      break;
    }
  if (const std::optional<json_place> place = sample.find({"attention_mask"})) {
    const std::vector<double> kept = weights_in(*place, "attention_mask");
    as_many("attention_mask", kept.size());
    std::size_t to = 0;
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (kept[i] != 0) read.ids[to] = read.ids[i], weights[to] = weights[i], ++to;
    read.ids.resize(to), weights.resize(to);
  }
  for (std::size_t begin = 1, end; begin < weights.size(); begin = end) {
    for (end = begin + 1; end < weights.size() && weights[end] == weights[begin];) ++end;
    if (weights[begin] != 0)
      read.targets.push_back(
          {{static_cast<std::int64_t>(begin)}, {static_cast<std::int64_t>(end - begin)}, weights[begin]});
  }
  return read;
}

/// The data row and the number of tokens that a sample says it shares, if it does.
struct said_sharing {
  std::size_t row{}, size{};
};
[[nodiscard]] inline std::optional<said_sharing> sharing_in(const json_place& sample, std::size_t row,
                                                            std::size_t size) {
  const std::optional<json_place> place = sample.find({"shares"});
  if (!place) return std::nullopt;
  place->must_have(2, "the data row of an earlier sample, and how many of its first tokens this one has");
  const json_place which = place->at(0), most = place->at(1);
  if (row == 0) which.expected("an earlier row, and this is the first one: leave \"shares\" out");
  return said_sharing{which.integer<std::size_t>(0, static_cast<std::int64_t>(row) - 1),
                      most.integer<std::size_t>(0, static_cast<std::int64_t>(size))};
}

}  // namespace slimpack::io::detail

#endif
