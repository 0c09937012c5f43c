#ifndef SLIMPACK_PRICING_IMPL_TIME_FAULTS_IPP
#define SLIMPACK_PRICING_IMPL_TIME_FAULTS_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/detail/time_faults.hpp>

#include <cstddef>
#include <cstdio>
#include <mutex>
#include <optional>
#include <span>
#include <string>

namespace slimpack::detail {

SLIMPACK_DECL std::optional<memory_rates> time_faults::sound(std::optional<memory_rates> held, int stage) {
  if (!held) return held;
  for (double memory_rates::*const column : memory_rate_columns) {
    double& rate = (*held).*column;
    if (is_memory(rate)) continue;
    add({question::memory, rate, {}, {}, stage});
    rate = 0;
  }
  return held;
}

SLIMPACK_DECL std::string told_number(double given) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", given);
  return text;
}

SLIMPACK_DECL std::string told_like(int given, int part) {
  return "the cost model says that part " + std::to_string(part) + " is like part " + std::to_string(given) +
         "; like must be from 0 to the part itself";
}

SLIMPACK_DECL error time_faults::told(const batch_view& batch, tokens quantum) const {
  const std::lock_guard lock(mutex_);
  if (told_) return *told_;
  const time_fault& f = *first_;
  if (f.asked == question::like) return {errc::invalid_input, told_like(static_cast<int>(f.given), f.part)};
  const bool memory = f.asked == question::memory || f.asked == question::kept;
  std::string text = "the cost model gives " + told_number(f.given) + (memory ? " bytes for " : " s for ");
  const std::string count = std::to_string(f.count);
  switch (f.asked) {
    case question::time:
      break;
    case question::pack:
      text += "a pack of " + count + " slices, the first ";
      break;
    case question::overhead:
      text += "the overhead of a pack";
      break;
    case question::call_overhead:
      text += "the overhead of a call";
      break;
    case question::useful:
      text += "the useful time of ";
      break;
    case question::collectives:
      text += "the collectives of ";
      break;
    case question::least:
      text += "the least time of ";
      break;
    case question::message:
      text += "the message of " + std::to_string(f.of.length.value) + " tokens";
      break;
    case question::covers:
      text += "what is covered by ";
      break;
    case question::exchange:
      text += "the exchange among " + count + " replicas of ";
      break;
    case question::weight_time:
      text += "the weight gradients of ";
      break;
    case question::reduce_time:
      text += "the reduction of gradients";
      break;
    case question::memory:
      text += "a rate of memory_rates";
      break;
    case question::kept:
      text += "what is kept of ";
      break;
    case question::vocabulary:
      text += "a spread vocabulary and a pack of " + std::to_string(f.of.length.value) + " tokens";
      break;
    case question::like:
      break;
  }
  if (is_about_slice(f.asked)) {
    text += "slice [" + std::to_string(f.of.begin.value) + ", " + std::to_string(f.of.end().value) + ") of ";
    const std::optional<std::size_t> owner = owner_of(f.of, batch, quantum);
    text += owner ? "sequence " + std::to_string(*owner) : std::string("a sequence");
    text += ", " + std::to_string(f.of.length.value) + " tokens";
  }
  if (memory)
    text += ", on stage " + std::to_string(f.part) + "; amounts of memory must be from 0 to 1e24 bytes";
  else if (f.asked == question::reduce_time)
    text += "; times must be from 0 to 1e12 s";
  else if (f.asked == question::vocabulary)
    text += ", on stage " + std::to_string(f.part) + "; times must be from 0 to 1e12 s";
  else
    text +=
        std::string(", ") + name_of(f.pass) + " on part " + std::to_string(f.part) + "; times must be from 0 to 1e12 s";
  return {errc::invalid_input, text};
}

SLIMPACK_DECL bool time_faults::is_about_slice(question asked) noexcept {
  return asked != question::overhead && asked != question::call_overhead && asked != question::message &&
         asked != question::reduce_time && asked != question::memory && asked != question::vocabulary;
}

SLIMPACK_DECL std::optional<std::size_t> time_faults::owner_of(const slice& s, const batch_view& batch,
                                                               tokens quantum) {
  const std::vector<sequence> all = batch.sequences();
  const auto possible = [&](const sequence& of) {
    const auto is_cut = [&](tokens at) { return (at - of.begin).value % quantum.value == 0; };
    return s.begin >= of.begin && is_cut(s.begin) && (s.end() == of.end() || (s.end() < of.end() && is_cut(s.end())));
  };
  if (s.sequence.value < all.size() && possible(all[s.sequence.value])) return s.sequence.value;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (possible(all[i])) return i;
  return std::nullopt;
}

}  // namespace slimpack::detail

#endif
