#ifndef SLIMPACK_TESTS_NETS_PLAN_TEXTS_HPP
#define SLIMPACK_TESTS_NETS_PLAN_TEXTS_HPP

#include "stored_values.hpp"

#include <slimpack/core/plan.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/io/plan_graph.hpp>
#include <slimpack/io/plan_json.hpp>
#include <slimpack/io/timeline.hpp>
#include <slimpack/io/trace.hpp>
#include <slimpack/simulators/boost_graph.hpp>
#include <slimpack/simulators/plan_graphs.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/simulators/timeline.hpp>
#include <slimpack/simulators/transfer_order.hpp>

#include <gtest/gtest.h>
#include <boost/container/small_vector.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <vector>

/// What is computed, written and drawn of a plan, as texts. Numbers stand in them to the last bit.
namespace slimpack::tests {

[[nodiscard]] inline std::string bits(double x) { return hash_text(std::bit_cast<std::uint64_t>(x)); }
[[nodiscard]] inline std::string bits(seconds t) { return bits(t.value); }

[[nodiscard]] inline std::string file_text(const plan& p) {
  std::ostringstream out;
  EXPECT_TRUE(io::write_plan(out, p, p.rank_time.has_value()));
  return out.str();
}

[[nodiscard]] inline std::string trace_text(const plan& p) {
  std::ostringstream out;
  const result<void> written = io::write_trace(out, p);
  return written ? out.str() : written.error().detail;
}

/// The data of its timeline page, without the page's style and script.
[[nodiscard]] inline std::string page_text(const plan& p) {
  std::ostringstream out;
  const result<void> written = io::write_timeline(out, {&p, 1});
  if (!written) return written.error().detail;
  const std::string page = out.str(), begin = "<script id=\"data\" type=\"application/json\">";
  const std::size_t from = page.find(begin);
  EXPECT_NE(from, std::string::npos);
  return page.substr(from + begin.size(), page.find("</script>", from) - from - begin.size());
}

/// Its drawing; of a plan that is too large for one, why there is none.
[[nodiscard]] inline std::string graph_text(const plan& p) {
  std::ostringstream out;
  const result<void> written = io::write_graph(out, p);
  return written ? out.str() : written.error().detail;
}

[[nodiscard]] inline std::string bounds_text(const plan& p) {
  std::string text;
  for (const bound& b : p.bounds) text += b.name + ' ' + bits(b.time) + '\n';
  for (const replica_plan& r : p.replicas) text += "replica " + bits(r.lower_bound) + '\n';
  return text;
}

/// Where the time of its stages goes, and what they hold.
[[nodiscard]] inline std::string rank_time_text(const plan& p) {
  if (!p.rank_time) return "none";
  std::string text;
  for (const auto& [name, part] : rank_time_parts_of(p))
    text += name + std::string(" ") + bits((*p.rank_time).*part) + '\n';
  return text;
}
[[nodiscard]] inline std::string memory_text(const plan& p) {
  std::string text;
  for (const replica_plan& r : p.replicas) {
    for (const double held : r.peak_memory) text += bits(held) + ' ';
    text += '\n';
  }
  return text;
}

/// When its instructions run, by a simulator.
template <class Simulator>
[[nodiscard]] std::string simulated_text(const plan& p) {
  std::string text;
  simulators::plan_graphs<Simulator> graphs(p);
  for (std::size_t r = 0; r < p.replicas.size(); ++r) {
    if (const result<void> built = graphs.select(r); !built) return built.error().detail;
    const simulators::timeline lanes =
        simulators::lanes_of(graphs.graph(), graphs.start(), p.replicas[r].programs.size(), graphs.position(r));
    text += "replica " + std::to_string(r) + ' ' + bits(lanes.makespan) + '\n';
    for (const std::vector<timed_instruction>& lane : lanes.stages) {
      for (const timed_instruction& i : lane)
        text += name_of(i.instruction, p.shape.chunks) + ' ' + bits(i.begin) + ' ' + bits(i.end) + '\n';
      text += '\n';
    }
  }
  return text;
}

/// The order of transfers of each group of replicas that run together, with what runs together numbered as it comes.
class transfers_writer {
 public:
  explicit transfers_writer(const plan& p) : chunks_(p.shape.chunks) {
    for (const std::vector<std::uint32_t>& group : simulators::joint_groups(p.merges, p.replicas.size())) {
      const result<std::vector<simulators::transfer>> order = simulators::transfer_order(p, group.front());
      if (!order) {
        out_.str(order.error().detail);
        return;
      }
      gates_.clear();
      for (const simulators::transfer& t : order.value()) {
        std::visit([&](const auto& one) { write(one); }, t);
        out_ << '\n';
      }
      out_ << '\n';
    }
  }
  [[nodiscard]] std::string text() const { return out_.str(); }

 private:
  void place(const instruction& i, std::uint32_t stage, std::uint32_t replica) {
    out_ << name_of(i, chunks_) << " stage " << stage << " replica " << replica;
  }
  void gate(const char* what, std::uint32_t number) {
    out_ << what << gates_.emplace(number, gates_.size()).first->second;
  }
  void write(const simulators::transfers::message& t) {
    place(t.what, t.stage, t.replica);
    out_ << " to stage " << t.receiver;
  }
  void write(const simulators::transfers::rows& t) { place(t.what, t.stage, t.replica), gate(" rows ", t.gate); }
  void write(const simulators::transfers::absent& t) {
    place({pass_kind(t.pass), {t.row}, t.chunk}, t.stage, t.replica), gate(" rows ", t.gate);
    out_ << " of merge " << t.merge << " absent";
  }
  void write(const simulators::transfers::leg& t) {
    place({pass_kind(t.pass), {t.row}, t.chunk}, t.stage, t.replica), gate(" rows ", t.gate);
    out_ << " of merge " << t.merge << " leg " << t.number << " to replica " << t.receiver;
  }
  void write(const simulators::transfers::ties& t) { place(t.what, t.stage, t.replica), gate(" ties ", t.gate); }

  int chunks_;
  std::map<std::uint32_t, std::size_t> gates_;
  std::ostringstream out_;
};
[[nodiscard]] inline std::string transfers_text(const plan& p) { return transfers_writer(p).text(); }

/// What each rank does with its pieces and with other ranks. is_part: of a plan that is the part of a group
[[nodiscard]] inline std::string script_text(const plan& p, bool is_part) {
  std::ostringstream out;
  for (int rank = 0; rank < p.shape.stages * p.shape.replicas; ++rank) {
    if (is_part && p.replicas[static_cast<std::size_t>(rank / p.shape.stages)].programs.empty()) continue;
    const result<detail::stage_script> made =
        detail::stage_script::of(p, rank, backward_cuts::any, exchange_set::all(), is_part, is_forward_only(p));
    if (!made) return made.error().detail;
    const detail::stage_script& script = made.value();
    out << "rank " << rank << '\n';
    for (const instruction& i : script.code) {
      out << name_of(i, p.shape.chunks) << " chunk " << script.chunk_of(i);
      for (const detail::message_end& m : script.sources(i)) out << " from " << m.rank << '.' << m.channel;
      for (const detail::message_end& m : script.targets(i)) out << " to " << m.rank << '.' << m.channel;
      out << '\n';
    }
    for (const detail::piece_list* const list : {&script.forward, &script.backward})
      for (const piece& one : list->pieces)
        out << one.slice.sequence.value << '[' << one.slice.begin.value << ' ' << one.slice.end().value << ") of "
            << one.sequence_length.value << " own " << one.own_begin.value << ' ' << one.own_end.value
            << (one.weights_apart ? " apart" : "") << (one.shared ? " shared" : "") << '\n';
    for (const detail::transfer_script::step& s : script.transfers.steps)
      out << "step " << static_cast<int>(s.what) << ' ' << s.at << ' ' << s.number << '\n';
    const step_outline& o = script.outline;
    out << o.forward_calls << ' ' << o.backward_calls << ' ' << o.packs_in_flight << ' ' << o.tokens_in_flight.value
        << ' ' << o.largest_pack.value << '\n';
  }
  return out.str();
}

/// Adds all of these, as if planning took no time. What follows from the file is also asked of the plan that is read
/// back from it.
inline void add_plan(stored_values& net, const std::string& name, plan p, bool is_part = false) {
  p.planning_time = {};
  const std::string file = file_text(p);
  net.add(name, "plan", hash_text(p.hash));
  net.add(name, "file", file);
  net.add(name, "trace", trace_text(p));
  net.add(name, "page", page_text(p));
  net.add(name, "graph", graph_text(p));
  net.add(name, "bounds", bounds_text(p));
  net.add(name, "rank time", rank_time_text(p));
  net.add(name, "memory", memory_text(p));
  net.add(name, "simulated", simulated_text<simulators::sweep>(p));
  net.add(name, "transfers", transfers_text(p));
  net.add(name, "script", script_text(p, is_part));
  EXPECT_EQ(simulated_text<simulators::sweep>(p), simulated_text<simulators::boost_graph>(p)) << name;
  if (is_part) return;  // a part has no file that can be read
  std::istringstream in(file);
  const result<plan> read = io::read_plan(in);
  ASSERT_TRUE(read) << name << ": " << read.error().detail;
  EXPECT_EQ(file_text(read.value()), file) << name;
  EXPECT_EQ(graph_text(read.value()), graph_text(p)) << name;
  EXPECT_EQ(simulated_text<simulators::sweep>(read.value()), simulated_text<simulators::sweep>(p)) << name;
  EXPECT_EQ(transfers_text(read.value()), transfers_text(p)) << name;
  EXPECT_EQ(script_text(read.value(), false), script_text(p, false)) << name;
}

}  // namespace slimpack::tests

#endif
