#include "inputs.hpp"

#include <slimpack/core/plan_hash.hpp>
#include <slimpack/io/forests/tree_lines.hpp>
#include <slimpack/io/stage_profile.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace train {
namespace {

using slimpack::errc;
using slimpack::error;
using slimpack::result;
using slimpack::profiling::stage_profile;

/// What was measured before, for as many parts.
/// Errors    unreadable; invalid_input: it is no profile, or one of other parts
result<stage_profile> read_profile(const options& o) {
  const std::string file = o.profile->string();
  result<stage_profile> read = slimpack::io::read_stage_profile(*o.profile);
  if (!read && read.error().code != errc::invalid_input) return read;
  const std::string anew = "; remove it to measure anew";
  if (!read) {
    const std::string& why = read.error().detail;
    return error{errc::invalid_input, file + ": is no profile of slimpack-train (" +
                                          (why.starts_with(file + ": ") ? why.substr(file.size() + 2) : why) + ")" +
                                          anew};
  }
  const std::size_t parts = read.value().forward.size();
  if (parts == static_cast<std::size_t>(o.shape.parts())) return read;
  return error{errc::invalid_input, file + ": is of " + std::to_string(parts) + " parts, --pp x --vpp are " +
                                        std::to_string(o.shape.parts()) + "; give the profile of these, or" +
                                        anew.substr(1)};
}

std::string fingerprint(const corpus& texts) {
  slimpack::detail::word_hash h;
  for (std::size_t i = 0; i < texts.size(); ++i)
    h.add(std::string_view(reinterpret_cast<const char*>(texts[i].data()), texts[i].size()));
  return std::to_string(texts.size()) + " of " + std::to_string(texts.tokens().value) + " bytes with the fingerprint " +
         slimpack::hash_text(h.value());
}

std::string fingerprint(const sample_tree& samples) {
  slimpack::detail::word_hash h;
  const auto add = [&](std::int64_t number) { h.add(static_cast<std::uint64_t>(number)); };
  const slimpack::forest& all = samples.tree();
  for (const slimpack::tokens length : all.lengths) add(length.value);
  for (const slimpack::sequence_id parent : all.parents) add(parent.value);
  for (const slimpack::target_run& run : all.targets) {
    for (const std::int64_t number : {std::int64_t{run.sequence.value}, run.begin.value, run.length.value}) add(number);
    h.add(std::bit_cast<std::uint64_t>(run.weight));
  }
  return std::to_string(all.lengths.size()) + " sequences with the fingerprint " + slimpack::hash_text(h.value());
}

std::string fingerprint(const stage_profile& profile) {
  std::ostringstream text;
  slimpack::io::write_stage_profile(text, profile).value();
  return "one with the fingerprint " + slimpack::hash_text(slimpack::text_hash(text.str()));
}

}  // namespace

result<inputs> read_inputs(const options& o) {
  result<corpus> texts = corpus::load(o.documents, o.max_context);
  if (!texts) return std::move(texts).error();
  if (o.batch > texts.value().size())
    return error{errc::invalid_input, o.documents.string() + " holds " + std::to_string(texts.value().size()) +
                                          " documents, --batch " + std::to_string(o.batch) + " asks for more"};
  inputs in{std::move(texts).value()};
  if (o.tree) {
    result<slimpack::io::forest_list> read = slimpack::io::read_tree_lines(*o.tree);
    if (!read) return std::move(read).error();
    if (read.value().all.targets.empty())
      return error{errc::invalid_input, o.tree->string() + ": no token is trained on"};
    in.samples.emplace(std::move(read).value().all);
  }
  if (o.held_out) {
    result<corpus> read = corpus::load(*o.held_out, o.max_context);
    if (!read) return std::move(read).error();
    in.held_out = std::move(read).value();
  }
  std::error_code failed;
  if (o.profile && std::filesystem::exists(*o.profile, failed)) {
    result<stage_profile> read = read_profile(o);
    if (!read) return std::move(read).error();
    in.profile = std::move(read).value();
  }
  return in;
}

std::vector<fact> facts_of(const inputs& in) {
  return {{"the documents of --documents", fingerprint(in.texts)},
          {"the documents of --evaluate", in.held_out ? fingerprint(*in.held_out) : ""},
          {"the samples of --tree", in.samples ? fingerprint(*in.samples) : "no file"},
          {"the profile of --profile", in.profile ? fingerprint(*in.profile) : "no file"}};
}

}  // namespace train
