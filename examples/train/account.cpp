#include "account.hpp"

#include <cstring>

namespace train {
namespace {

constexpr std::size_t most_told = 4;  // of what one line lists

void put(std::string& to, std::string_view text) {
  const std::uint64_t size = text.size();
  to.append(reinterpret_cast<const char*>(&size), sizeof size);
  to += text;
}

std::string take(std::string_view& from) {
  std::uint64_t size{};
  std::memcpy(&size, from.data(), sizeof size);
  from.remove_prefix(sizeof size);
  std::string text(from.substr(0, static_cast<std::size_t>(size)));
  from.remove_prefix(text.size());
  return text;
}

/// Ranks that say the same.
struct group {
  std::string says;
  std::vector<std::size_t> ranks;
};

void join(std::vector<group>& all, const std::string& says, std::size_t rank) {
  for (group& g : all)
    if (g.says == says) return g.ranks.push_back(rank);
  all.push_back({says, {rank}});
}

/// "rank 1", or "ranks 0 to 2 and 5".
std::string ranks_text(const std::vector<std::size_t>& ranks) {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (last == i + 1) last = i;  // two are named one by one
    runs.push_back(std::to_string(ranks[i]) + (last > i ? " to " + std::to_string(ranks[last]) : ""));
    i = last + 1;
  }
  std::string text = ranks.size() > 1 ? "ranks " : "rank ";
  for (std::size_t i = 0; i < runs.size(); ++i) text += (i == 0 ? "" : i + 1 < runs.size() ? ", " : " and ") + runs[i];
  return text;
}

/// The first of several texts, and how many others there are.
std::string listed(const std::vector<std::string>& all, const std::string& between) {
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), most_told); ++i) text += (i == 0 ? "" : between) + all[i];
  return all.size() > most_told ? text + between + std::to_string(all.size() - most_told) + " more" : text;
}

/// Why the ranks that refuse do so.
ending refusal(std::span<const account> of_ranks) {
  std::vector<group> groups;
  ending first;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    const std::optional<ending>& e = of_ranks[rank].ended;
    if (!e || e->status == 0) continue;
    if (groups.empty()) first = *e;
    join(groups, e->line, rank);
  }
  if (groups.size() == 1 && groups.front().ranks.size() == of_ranks.size()) return first;
  std::vector<std::string> told;
  for (const group& g : groups) told.push_back(ranks_text(g.ranks) + ": " + g.says);
  return {first.status, listed(told, "; ")};
}

const std::string* value_of(const account& a, const std::string& name) {
  for (const fact& f : a.facts)
    if (f.name == name) return &f.value;
  return nullptr;
}

/// Facts that differ, each with its values.
std::vector<std::string> differences(std::span<const account> of_ranks) {
  std::vector<std::string> names, told;
  for (const account& a : of_ranks)
    for (const fact& f : a.facts)
      if (std::find(names.begin(), names.end(), f.name) == names.end()) names.push_back(f.name);
  for (const std::string& name : names) {
    std::vector<group> groups;
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
      const std::string* const value = value_of(of_ranks[rank], name);
      join(groups, !value ? "unknown" : value->empty() ? "not given" : *value, rank);
    }
    if (groups.size() == 1) continue;
    std::vector<std::string> values;
    for (const group& g : groups) values.push_back(g.says + " on " + ranks_text(g.ranks));
    told.push_back(name + ": " + listed(values, ", "));
  }
  return told;
}

}  // namespace

std::string written(const account& a) {
  std::string text;
  put(text, a.ended ? std::to_string(a.ended->status) : "");
  put(text, a.ended ? a.ended->line : "");
  for (const fact& f : a.facts) put(text, f.name), put(text, f.value);
  return text;
}

account read_account(std::string_view text) {
  account a;
  const std::string status = take(text), line = take(text);
  if (!status.empty()) a.ended = ending{std::stoi(status), line};
  while (!text.empty()) {
    fact f{take(text)};
    f.value = take(text);
    a.facts.push_back(std::move(f));
  }
  return a;
}

std::optional<ending> verdict(std::span<const account> of_ranks) {
  const auto is_over = [](const account& a) { return a.ended.has_value(); };
  if (std::any_of(of_ranks.begin(), of_ranks.end(), [](const account& a) { return a.ended && a.ended->status != 0; }))
    return refusal(of_ranks);
  if (std::all_of(of_ranks.begin(), of_ranks.end(), is_over)) return of_ranks.front().ended;
  std::vector<std::size_t> asked;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank)
    if (is_over(of_ranks[rank])) asked.push_back(rank);
  if (!asked.empty())
    return ending{
        2, ranks_text(asked) + ": --help or --help-all is given here and not on the others; give all ranks the same"};
  if (const std::vector<std::string> told = differences(of_ranks); !told.empty())
    return ending{2, "ranks differ in " + listed(told, "; in ") + "; give all ranks the same"};
  return std::nullopt;
}

}  // namespace train
