#ifndef SLIMPACK_IO_FORESTS_TREE_LINES_HPP
#define SLIMPACK_IO_FORESTS_TREE_LINES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/forests/renumbered.hpp>
#include <slimpack/io/detail/forests/tree_line.hpp>
#include <slimpack/io/detail/numbered_lines.hpp>
#include <slimpack/io/detail/open.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <istream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::io {

/// The forest of a file.
struct forest_list {
  forest all;                       ///< without chains and tails
  std::vector<std::uint64_t> rows;  ///< data row of each sequence: the node that it begins with, from 0
  std::vector<std::string> notes;   ///< what a user should know of how the file was read, a sentence each
};

namespace detail {

/// The nodes of a file, and the samples that have them.
class tree_reader {
 public:
  tree_reader(std::istream& in, std::string file) : in_(in), file_(std::move(file)) {}

  [[nodiscard]] result<forest_list> read() {
    numbered_lines lines(in_);
    while (lines.next()) {
      const auto wrong = [&](const std::string& what) { return at(lines.number(), what); };
      const std::size_t node = nodes_.size();
      result<tree_line> line = tree_line_in(lines.line(), node);
      if (!line) return wrong(line.error().detail);
      tree_line& read = nodes_.emplace_back(std::move(line).value());
      lines_.push_back(lines.number());
      while (!path_.empty() && path_.back() != read.parent) path_.pop_back();
      if (read.parent && path_.empty())
        return wrong("the node has the parent " + std::to_string(*read.parent) +
                     ", behind which another tree or branch began: a subtree is in one piece");
      sequence& s = sequences_.emplace_back(sequence{{static_cast<std::uint32_t>(node)}, {read.length}});
      if (read.parent) s.parent = {*read.parent}, s.begin = sequences_[*read.parent].end();
      if (s.end() > longest_supported)
        return wrong("the path of the node has " + std::to_string(s.end().value) + " tokens, more than the " +
                     std::to_string(longest_supported.value) + " that are supported");
      path_.push_back(static_cast<std::uint32_t>(node));
      if (read.has_runs && first_runs_ == 0) first_runs_ = lines.number();
    }
    if (in_.bad()) return error{errc::unreadable, file_ + ": could not be read to its end"};
    if (nodes_.empty())
      return error{errc::invalid_input, file_ +
                                            ": holds no nodes, expected one a line: parent, length, targets and "
                                            "samples, with tabs between them"};
    return made();
  }

 private:
  [[nodiscard]] error at(std::size_t line, const std::string& what) const {
    return {errc::invalid_input, file_ + ": line " + std::to_string(line) + ": " + what};
  }

  [[nodiscard]] result<forest_list> made() {
    std::vector<std::uint64_t> below(nodes_.size());    // samples that have a node
    std::vector<std::uint64_t> trained(nodes_.size());  // those that train on the last targets of a node
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      const tree_line& node = nodes_[i];
      below[i] += node.samples, trained[i] += node.samples;
      if (below[i] == 0) return at(lines_[i], "no sample ends at the node, or at one behind it");
      if (below[i] >= no_parent.value) return at(lines_[i], "too many samples have the node, more than 2^32");
      if (first_runs_ > 0 && !node.has_runs && node.targets > 0)
        return at(lines_[i], "has " + std::to_string(node.targets) + " targets, and does not say which, as line " +
                                 std::to_string(first_runs_) + " does in a fifth column");
      if (!node.parent) continue;
      below[*node.parent] += below[i];
      if (node.targets == node.length) trained[*node.parent] += trained[i];
    }
    forest all;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const sequence& s = sequences_[i];
      all.lengths.push_back(s.length);
      all.parents.push_back(s.parent);
      if (nodes_[i].samples > 0) all.samples.push_back({s.id, s.end(), nodes_[i].samples});
      for (const node_run& run : nodes_[i].runs) {
        const auto count = run.count.value_or(static_cast<std::uint32_t>(nodes_[i].has_runs ? below[i] : trained[i]));
        if (count == 0)
          return at(lines_[i],
                    "has " + std::to_string(nodes_[i].targets) +
                        " targets that are of no sample: those of a sample are the unbroken run that ends it");
        if (count > below[i])
          return at(lines_[i], std::to_string(count) + " samples are said to train on a run, and " +
                                   std::to_string(below[i]) + " have the node");
        all.targets.push_back({s.id,
                               s.begin + tokens{run.begin},
                               {run.end - run.begin},
                               count,
                               run.weight.value_or(static_cast<double>(count))});
      }
    }
    return compressed(std::move(all));
  }

  [[nodiscard]] static forest_list compressed(forest all) {
    forest_list list;
    forests::renumbered whole{std::move(all), {}};
    for (std::size_t i = 0; i < whole.all.lengths.size(); ++i)
      whole.now.emplace_back(sequence_id{static_cast<std::uint32_t>(i)});
    if (whole.all.targets.empty()) {
      list.notes.emplace_back("no token is trained on, so that all are kept");
    } else {
      const auto size_of = [](const forest& f) {
        tokens sum{};
        for (const tokens length : f.lengths) sum += length;
        return sum.value;
      };
      const std::int64_t before = size_of(whole.all);
      whole = forests::without_tails(whole.all);
      if (const std::int64_t gone = before - size_of(whole.all); gone > 0)
        list.notes.push_back(std::to_string(gone) + " of " + std::to_string(before) +
                             " tokens are left out, since no target comes behind them");
    }
    forests::renumbered made = forests::merged_chains(whole.all);
    list.all = std::move(made.all);
    list.rows.resize(list.all.lengths.size());
    for (std::size_t i = whole.now.size(); i-- > 0;)
      if (whole.now[i]) list.rows[made.now[whole.now[i]->value]->value] = i;
    return list;
  }

  std::istream& in_;
  std::string file_;
  std::vector<tree_line> nodes_;
  std::vector<std::size_t> lines_;  ///< of each, its number
  std::vector<sequence> sequences_;
  std::vector<std::optional<std::uint32_t>> path_;  ///< of the last node
  std::size_t first_runs_{};                        ///< line that has a fifth column, from 1 on
};

}  // namespace detail

/// Reads samples that share beginnings, a node of their forest a line: numbers with tabs between them.
///
///   -1  512  0   0       a prompt
///   0   90   90  1       an answer to it, all of which is trained on
///   0   70   20  1  0-10,60-70*0.5    another, of which 10 tokens are, and 10 with half the weight
///
/// Columns   parent: the number of a node before this one, counted from 0, or -1 of a root; length: its own tokens,
///           from 1; targets: how many of them are trained on; samples: how many end at its last token
/// Rule      where no line has a fifth column, targets are the last tokens of their node, and a sample trains on the
///           unbroken run of targets that ends it: it reaches up through a node only where all of that is targets.
///           A fifth column has runs of targets, with commas between them: begin-end, of the node's own tokens from 0,
///           the last one left out; behind it, where they are not all that have the node, x and how many samples train
///           on it; and * and its weight, the sum of what these multiply their loss by, which is 1 of each otherwise
/// Law       subtrees are in one piece; a sample ends at each node without children. What is made has no node with one
///           child, and no token behind which there is no target, where there are targets
/// Errors    unreadable: the stream; invalid_input: what it holds, with the line
/// Complexity O(file size)
[[nodiscard]] inline result<forest_list> read_tree_lines(std::istream& in, const std::string& file) {
  return detail::tree_reader(in, file).read();
}

/// The same from a file.            Errors  unreadable: the file, too
[[nodiscard]] inline result<forest_list> read_tree_lines(const std::filesystem::path& file) {
  result<std::ifstream> in = detail::open_to_read(file);
  if (!in) return std::move(in).error();
  return read_tree_lines(in.value(), file.string());
}

}  // namespace slimpack::io

#endif
