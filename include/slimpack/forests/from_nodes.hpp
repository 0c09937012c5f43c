#ifndef SLIMPACK_FORESTS_FROM_NODES_HPP
#define SLIMPACK_FORESTS_FROM_NODES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/forests/renumbered.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// Forests of those who know already what their samples share, in the forms that trainers have. Each comes without
/// targets: `now` says where those of a node are. Nodes with one child stay: merged_chains takes them away.
namespace slimpack::forests {

/// The forest of nodes with parents, in any order in which parents come first: breadth first, as they were sampled. Of
/// tokens that have a parent each, nodes are of one token, and merged_chains makes sequences of them.
/// Rule      roots, and the children of each node, stay in their order; subtrees are put in one piece
/// Shapes    lengths, parents: one per node, no_parent of a root; samples: how many end at the last token of each node;
///           empty: one where no node goes on
/// Errors    invalid_input: what batch_view::fault says of lengths and of paths; a parent that does not come before;
///           numbers of parents or samples that are not those of lengths
/// Complexity O(nodes)
[[nodiscard]] inline result<renumbered> from_parents(std::span<const tokens> lengths,
                                                     std::span<const sequence_id> parents,
                                                     std::span<const std::uint32_t> samples = {}) {
  const std::size_t count = lengths.size();
  const auto refused = [](const std::string& what) { return error{errc::invalid_input, what}; };
  for (const auto& [name, size] : {std::pair{"parents", parents.size()}, std::pair{"samples", samples.size()}})
    if (size != count && !(size == 0 && samples.empty() && parents.size() == count))
      return refused("there are " + std::to_string(size) + " " + name + " for " + std::to_string(count) + " nodes");
  constexpr std::uint32_t none = no_parent.value;
  std::vector<std::uint32_t> first(count + 1, none), next(count, none);  // child; the last one has the roots
  for (std::size_t i = count; i-- > 0;) {
    if (parents[i] != no_parent && parents[i].value >= i)
      return refused("node " + std::to_string(i) + " has the parent " + std::to_string(parents[i].value) +
                     ": a parent comes before its children");
    std::uint32_t& head = first[parents[i] == no_parent ? count : parents[i].value];
    next[i] = std::exchange(head, static_cast<std::uint32_t>(i));
  }
  renumbered made;
  made.now.resize(count);
  std::vector<std::uint32_t> open;  // the node to come next, behind nodes that follow its subtree
  for (std::uint32_t node = first[count]; node != none;) {
    const sequence_id id{static_cast<std::uint32_t>(made.all.lengths.size())};
    made.now[node] = id;
    made.all.lengths.push_back(lengths[node]);
    made.all.parents.push_back(parents[node] == no_parent ? no_parent : *made.now[parents[node].value]);
    const std::uint32_t ending = samples.empty() ? std::uint32_t{first[node] == none} : samples[node];
    if (ending > 0) made.all.samples.push_back({id, {}, ending});
    if (next[node] != none) open.push_back(next[node]);
    node = first[node];
    if (node == none && !open.empty()) node = open.back(), open.pop_back();
  }
  const batch_view batch(made.all.lengths, made.all.parents);
  if (const std::optional<std::string> wrong = batch.disorder()) return refused(*wrong);
  if (const std::optional<std::string> wrong = batch.fault()) return refused(*wrong);
  const std::vector<sequence> all = batch.sequences();
  for (sample_end& s : made.all.samples) s.at = all[s.sequence.value].end();
  return made;
}

/// The forest of samples that are paths of nodes, from a root on.
/// Shapes    lengths: one per node; paths: of each sample, its nodes in order
/// Rule      a node on no path is left out
/// Errors    invalid_input: those of from_parents; a path without nodes, or of nodes that there are not; a node with
///           several parents
/// Complexity O(nodes + nodes on all paths)
[[nodiscard]] inline result<renumbered> from_paths(std::span<const tokens> lengths,
                                                   std::span<const std::vector<std::uint32_t>> paths) {
  constexpr std::uint32_t none = no_parent.value;
  std::vector<std::uint32_t> place(lengths.size(), none);  // in order of appearance
  std::vector<tokens> found;
  std::vector<sequence_id> parents;
  std::vector<std::uint32_t> samples;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto refused = [&](const std::string& what) {
      return error{errc::invalid_input, "the path of sample " + std::to_string(i) + what};
    };
    if (paths[i].empty()) return refused(" has no nodes");
    sequence_id above = no_parent;
    for (const std::uint32_t node : paths[i]) {
      if (node >= lengths.size())
        return refused(" has node " + std::to_string(node) + ", and there are " + std::to_string(lengths.size()));
      if (place[node] == none) {
        place[node] = static_cast<std::uint32_t>(found.size());
        found.push_back(lengths[node]), parents.push_back(above), samples.push_back(0);
      } else if (parents[place[node]] != above) {
        return refused(" comes to node " + std::to_string(node) + " from another node than a path before it");
      }
      above = {place[node]};
    }
    ++samples[above.value];
  }
  result<renumbered> made = from_parents(found, parents, samples);
  if (!made) return made;
  std::vector<std::optional<sequence_id>> now(lengths.size());
  for (std::size_t node = 0; node < lengths.size(); ++node)
    if (place[node] != none) now[node] = made.value().now[place[node]];
  made.value().now = std::move(now);
  return made;
}

/// The forest of a packed row whose tokens name their group, and the group that it goes on from.
/// Rule      a group is a node: a run of tokens of one number. One sample ends where no group goes on
/// Shapes    groups, parents: one per token; the parent of a root's tokens is its own group
/// Errors    invalid_input: those of from_parents; a group in several runs, or with several parents; one whose parent
///           does not come before it
/// Complexity O(tokens + groups log groups)
[[nodiscard]] inline result<renumbered> from_groups(std::span<const std::int64_t> groups,
                                                    std::span<const std::int64_t> parents) {
  const auto refused = [](std::size_t at, const std::string& what) {
    return error{errc::invalid_input, "token " + std::to_string(at) + " is of group " + what};
  };
  if (parents.size() != groups.size())
    return error{errc::invalid_input, "there are " + std::to_string(parents.size()) + " parents for " +
                                          std::to_string(groups.size()) + " tokens"};
  std::map<std::int64_t, sequence_id> nodes;
  std::vector<tokens> lengths;
  std::vector<sequence_id> above;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::string name = std::to_string(groups[i]);
    if (i > 0 && groups[i] == groups[i - 1]) {
      if (parents[i] != parents[i - 1])
        return refused(i, name + ", and has the parent " + std::to_string(parents[i]) + ", the token before it " +
                              std::to_string(parents[i - 1]));
      lengths.back() += tokens{1};
      continue;
    }
    const auto parent = nodes.find(parents[i]);
    const bool is_root = parents[i] == groups[i];
    if (!nodes.try_emplace(groups[i], sequence_id{static_cast<std::uint32_t>(lengths.size())}).second)
      return refused(i, name + ", which has ended before it: the tokens of a group are in one run");
    if (!is_root && parent == nodes.end())
      return refused(i, name + ", whose parent " + std::to_string(parents[i]) + " does not come before it");
    lengths.push_back({1});
    above.push_back(is_root ? no_parent : parent->second);
  }
  return from_parents(lengths, above);
}

}  // namespace slimpack::forests

#endif
