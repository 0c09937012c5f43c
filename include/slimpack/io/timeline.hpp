#ifndef SLIMPACK_IO_TIMELINE_HPP
#define SLIMPACK_IO_TIMELINE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/executors/measured.hpp>
#include <slimpack/executors/step_report.hpp>
#include <slimpack/io/detail/json_out.hpp>
#include <slimpack/io/detail/plan/merge_out.hpp>
#include <slimpack/io/detail/timeline_page.hpp>
#include <slimpack/simulators/graph/critical_path.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/simulators/plan_graphs.hpp>
#include <slimpack/simulators/reduction_stream.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/simulators/timeline.hpp>
#include <slimpack/views.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::io {

/// Step times of several batches, for a plot above the lanes of one of them.
struct batch_times {
  struct series {
    std::string planner;
    std::vector<seconds> steps;  ///< one per batch
  };
  std::vector<series> planners{};
  std::size_t shown{};  ///< the batch of the page's plans
};

/// What a caller knows about the plans of a page and the plans do not say. All of it stands above the chart.
///
///   io::page_facts facts{.prices = "prices were 7.1 % too fast on 1 published training"};
///   facts.plans = {{}, {.label = "megatron", .settings = "packs of 8,192 tokens", .speed_up = {{1.6, 2.0}}}};
struct page_facts {
  struct about_plan {
    struct range {
      double low{};
      double high{};
    };
    std::string label{};     ///< on tabs and in tables; empty: its planner, and its settings where plans share a
                             ///< planner
    std::string settings{};  ///< what it was made with, in words; empty: its layout and what backward computes again
    /// Where prices' errors may put the speed-up of the first plan over this one; 0 < low <= high.
    std::optional<range> speed_up{};
    bool as_fast{};  ///< prices cannot tell which of the first plan and this one is faster
  };
  std::vector<about_plan> plans{};  ///< one for each plan of the page; empty: nothing is known
  std::string prices{};             ///< how far prices were off, in one sentence; empty: nothing is said
};

namespace detail {

/// Writes the data that the page draws: everything that the simulator found, in whole nanoseconds, without one object
/// per event. Starts are told by their gaps after the instruction before, of which one of three nanoseconds below zero
/// takes back what durations were rounded up by, and memory by its changes.
template <class Simulator>
class timeline_writer {
 public:
  timeline_writer(std::ostream& out, const Simulator& simulator) : json_(out), simulator_(simulator) {}

  result<void> write(std::span<const plan> plans, std::span<const std::vector<step_report>> measured,
                     const batch_times& batches, const page_facts& facts) {
    json_.open('{');
    write_sequences(plans.front());
    json_.key("plans").open('[');
    for (std::size_t k = 0; k < plans.size(); ++k) {
      const std::span<const step_report> ranks = k < measured.size() ? measured[k] : std::span<const step_report>{};
      if (result<void> written = write_plan(plans[k], has_sequences_of(plans[k], plans.front()), ranks); !written)
        return written;
    }
    json_.close(']');
    if (!batches.planners.empty()) write_batches(batches);
    write_facts(facts);
    json_.close('}').line();
    return success();
  }

 private:
  [[nodiscard]] static std::int64_t ticks(seconds s) noexcept { return std::llround(s.value * 1e9); }

  /// What backward computes again, where the plan says; otherwise null.
  [[nodiscard]] static const std::string* recompute_of(const plan& p) noexcept {
    if (!p.origin) return nullptr;
    const auto is_it = [](const auto& option) { return option.first == "recompute"; };
    const auto found = std::find_if(p.origin->planning.begin(), p.origin->planning.end(), is_it);
    return found == p.origin->planning.end() ? nullptr : &found->second;
  }

  /// Whether two plans cut their batch into the same sequences.
  [[nodiscard]] static bool has_sequences_of(const plan& a, const plan& b) noexcept {
    return a.lengths == b.lengths && a.parents == b.parents && a.copies == b.copies;
  }
  void write_sequences(const plan& p) {
    json_.key("lengths");
    list(p.lengths, [](tokens t) { return t.value; });
    if (!batch_of(p).shares_prefixes() && p.copies.empty()) return;
    json_.key("parents");
    if (p.parents.empty())
      list(p.lengths, [](tokens) { return -1; });
    else
      list(p.parents,
           [](sequence_id parent) { return parent == no_parent ? std::int64_t{-1} : std::int64_t{parent.value}; });
    if (p.copies.empty()) return;
    json_.key("copies").open('[');
    for (const path_copy& c : p.copies)
      json_.open('[').value(c.sequence.value).value(c.of.value).value(c.until.value).close(']');
    json_.close(']');
  }

  void write_batches(const batch_times& batches) {
    json_.key("batches").open('{').field("shown", batches.shown).key("series").open('[');
    for (const auto& [planner, steps] : batches.planners) {
      json_.open('{').field("planner", planner).key("steps");
      list(steps, ticks);
      json_.close('}');
    }
    json_.close(']').close('}');
  }

  void write_facts(const page_facts& facts) {
    json_.key("facts").open('{').field("prices", facts.prices).key("plans").open('[');
    for (const auto& [label, settings, speed_up, as_fast] : facts.plans) {
      json_.open('{').field("label", label).field("settings", settings).field("asFast", as_fast);
      if (speed_up) json_.key("speedUp").open('[').value(speed_up->low).value(speed_up->high).close(']');
      json_.close('}');
    }
    json_.close(']').close('}');
  }

  template <class Range, class Projection>
  void list(const Range& range, const Projection& project) {
    json_.open('[');
    for (const auto& x : range) json_.value(project(x));
    json_.close(']');
  }

  /// of_page: it has the sequences that the page tells
  result<void> write_plan(const plan& p, bool of_page, std::span<const step_report> ranks) {
    json_.line();
    json_.open('{');
    if (!of_page) write_sequences(p);
    json_.field("planner", p.planner).field("cost", p.cost).field("model", p.model).field("gpu", p.gpu);
    json_.field("hash", hash_text(p.hash)).field("truncated", p.truncated);
    json_.field("stages", p.shape.stages).field("tensor", p.shape.tensor).field("context", p.shape.context);
    json_.field("chunks", p.shape.chunks).field("quantum", p.shape.quantum.value);
    if (p.shape.expert > 1) json_.field("expert", p.shape.expert);
    if (p.shape.vocabulary != vocabulary::last) json_.field("vocabulary", name_of(p.shape.vocabulary));
    if (!p.shape.words.empty()) {
      json_.key("words");
      list(p.shape.words, [](std::int64_t count) { return count; });
    }
    if (const std::string* const again = recompute_of(p)) json_.field("recompute", *again);
    if (!p.layers.empty()) {
      json_.key("layers");
      list(p.layers, [](int count) { return count; });
    }
    json_.field("bytes", p.memory_unit == memory_unit::byte).key("limit");
    p.shape.memory ? json_.value(p.shape.memory->amount) : json_.null();
    json_.field("step", ticks(p.step_time)).field("reduce", ticks(p.reduce_time));
    write_streams(p);
    json_.field("bubble", p.bubble).field("efficiency", p.efficiency).field("planning", p.planning_time.value);
    if (p.mfu) json_.field("mfu", *p.mfu);
    if (p.any_layout_bound) json_.field("anyLayout", ticks(*p.any_layout_bound));
    if (p.rank_time) {
      json_.key("spent").open('{');
      for (const auto& [name, part] : rank_time_parts_of(p)) json_.field(name, ((*p.rank_time).*part).value);
      json_.close('}');
    }
    json_.field("bound", ticks(p.lower_bound)).key("bounds").open('[');
    for (const bound& b : p.bounds) json_.open('[').value(b.name).value(ticks(b.time)).close(']');
    json_.close(']').key("merges").open('[');
    for (const merge& m : p.merges) write_short_merge(json_, m);
    json_.close(']').key("replicas").open('[');
    simulators::plan_graphs graphs(p, simulator_);
    for (std::size_t r = 0; r < p.replicas.size(); ++r)
      if (result<void> written = write_replica(p, r, graphs); !written) return written;
    json_.close(']');
    if (!ranks.empty()) write_measured(p, ranks);
    json_.close('}');
    return success();
  }

  /// Of each stage, when its stream is busy with gathers of weights and sums of gradients: begin, end, begin, end, ...
  void write_streams(const plan& p) {
    const auto known = [&](const replica_plan& r) {
      return r.gradients.size() == static_cast<std::size_t>(p.shape.reduced_parts());
    };
    if (!p.reduction || !std::all_of(p.replicas.begin(), p.replicas.end(), known)) return;
    json_.key("streams").open('[');
    for (int stage = 0; stage < p.shape.stages; ++stage) {
      std::vector<simulators::stream_use> all = simulators::gathered_buckets(*p.reduction, p.shape, stage);
      const std::vector<simulators::stream_use> sums = simulators::reduced_buckets(p, stage);
      all.insert(all.end(), sums.begin(), sums.end());
      json_.open('[');
      for (std::size_t k = 0; k < all.size(); ++k) {
        if (k == 0 || all[k].begin > all[k - 1].end) json_.value(ticks(all[k].begin));
        if (k + 1 == all.size() || all[k + 1].begin > all[k].end) json_.value(ticks(all[k].end));
      }
      json_.close(']');
    }
    json_.close(']');
  }

  /// Ranks in order, each with its reduction (begin, end), its peak in tokens, and for each instruction the pause
  /// before it and its duration. Instants are rounded, not durations, so that they add up.
  void write_measured(const plan& p, std::span<const step_report> ranks) {
    const executors::measured_figures f = executors::figures_of(p, ranks);
    json_.key("measured").open('{').field("step", ticks(f.step)).field("bubble", f.bubble).field("off", f.off);
    json_.key("ranks").open('[');
    for (std::size_t k = 0; k < ranks.size(); ++k) {
      const step_report& rank = ranks[k];
      const seconds reduction = executors::reduction_begin(p, ranks, k % static_cast<std::size_t>(p.shape.stages));
      json_.line();
      json_.open('{').field("peak", rank.peak_tokens.value).key("reduce").open('[').value(ticks(reduction));
      json_.value(ticks(std::max(reduction, rank.elapsed + rank.reduce))).close(']').key("run").open('[');
      std::int64_t known = 0;
      for (const timed_instruction& t : rank.timeline)
        for (const std::int64_t instant : {ticks(t.begin), ticks(t.end)}) {
          json_.value(instant - known);
          known = instant;
        }
      json_.close(']').close('}');
    }
    json_.close(']').close('}');
  }

  result<void> write_replica(const plan& p, std::size_t replica, simulators::plan_graphs<Simulator>& graphs) {
    const replica_plan& r = p.replicas[replica];
    if (result<void> built = graphs.select(replica); !built) return built;
    const workload& work = graphs.work(replica);
    const simulators::timeline lanes =
        simulators::lanes_of(graphs.graph(), graphs.start(), r.programs.size(), graphs.position(replica));
    json_.line();
    json_.open('{').field("sequences", r.sequences.size()).field("makespan", ticks(lanes.makespan));
    json_.key("peak");
    list(r.peak_memory, [](double held) { return held; });
    json_.key("passes").open('[');
    for (const pass d : {pass::forward, pass::backward}) write_pass(p, replica, d);
    json_.close(']');
    if (r.times.apart.count() > 0) write_weights(p, replica);
    if (r.times.has(places::stages)) write_vocabulary(r.times, p.shape);
    if (!r.loans.empty()) write_loans(r.loans);
    json_.key("stages").open('[');
    const bool follows_memory = p.memory_unit == memory_unit::token || !r.rates.empty();
    for (std::size_t stage = 0; stage < r.programs.size(); ++stage) {
      json_.line();
      json_.open('{');
      write_program(r.programs[stage], p.shape);
      write_gaps(work, lanes.stages[stage], stage);
      if (follows_memory) write_memory(work, r.programs[stage], stage, p.memory_unit);
      json_.close('}');
    }
    json_.close(']');
    write_critical(simulators::critical_path(graphs.graph(), graphs.start()), graphs.position(replica), r.programs);
    json_.close('}');
    return success();
  }

  void write_pass(const plan& p, std::size_t replica, pass d) {
    const replica_plan& r = p.replicas[replica];
    const auto packs = views::packs(p, replica, d);
    json_.open('{').key("counts");
    list(packs, [](const pack_view& pack) { return pack.slices.size(); });
    json_.key("slices").open('[');
    for (const pack_view& pack : packs)
      for (const slice& x : pack.slices) json_.value(x.sequence.value).value(x.begin.value).value(x.length.value);
    json_.close(']');
    write_columns("time", r.times.calls[d], static_cast<std::size_t>(p.shape.parts()));
    write_columns("message", r.times.messages[d], static_cast<std::size_t>(p.shape.parts()));
    json_.close('}');
  }

  /// The packs whose weight gradients run apart, and how long they take.
  void write_weights(const plan& p, std::size_t replica) {
    json_.key("weights").open('{').key("packs").open('[');
    for (const pack_view& pack : views::packs(p, replica, pass::backward))
      if (!pack.weight_times.empty()) json_.value(pack.pack.value);
    json_.close(']');
    write_columns("time", p.replicas[replica].times.calls[instruction_kind::weights],
                  static_cast<std::size_t>(p.shape.parts()));
    json_.close('}');
  }

  /// What calls of a spread vocabulary take, and their messages, per stage.
  void write_vocabulary(const timings& times, const shape& s) {
    json_.key("vocabulary").open('{');
    for (const time_column c : time_columns)
      if (c.each() == places::stages) write_columns(c.name(), times[c], count_of(c.each(), s));
    json_.close('}');
  }

  /// Attention that stages lend each other: pass, who lends and who helps (stage, pack, chunk), sequence, queries and
  /// keys.
  void write_loans(std::span<const loan> loans) {
    json_.key("loans").open('[');
    for (const loan& l : loans) {
      json_.open('[').value(l.pass() == pass::forward ? 0 : 1);
      for (const loan::side& side : {l.lender, l.helper})
        json_.value(side.stage).value(side.what.pack.value).value(side.what.chunk);
      json_.value(l.queries.sequence.value).value(l.queries.length.value).value(l.context.length.value).close(']');
    }
    json_.close(']');
  }

  /// Times per part and pack. Most parts cost the same: each different column is written once, a constant one as
  /// one number.
  void write_columns(const char* name, std::span<const seconds> table, std::size_t parts) {
    std::vector<std::vector<std::int64_t>> columns;
    std::vector<std::size_t> of;
    for (std::size_t part = 0; part < parts; ++part) {
      std::vector<std::int64_t> column;
      for (std::size_t cell = part; cell < table.size(); cell += parts) column.push_back(ticks(table[cell]));
      if (std::adjacent_find(column.begin(), column.end(), std::not_equal_to<>()) == column.end())
        column.resize(std::min<std::size_t>(column.size(), 1));
      of.push_back(static_cast<std::size_t>(std::find(columns.begin(), columns.end(), column) - columns.begin()));
      if (of.back() == columns.size()) columns.push_back(std::move(column));
    }
    json_.key(name).open('{').key("of");
    list(of, [](std::size_t column) { return column; });
    json_.key("columns").open('[');
    for (const auto& column : columns) list(column, [](std::int64_t t) { return t; });
    json_.close(']').close('}');
  }

  /// A letter per instruction; packs run in order, so that letters (and chunks) name them.
  void write_program(const program& code, const shape& s) {
    std::string letters;
    letters.reserve(code.size());
    for (const instruction& i : code) letters += name_of(i, 1).front();
    json_.field("code", letters);
    if (s.chunks == 1) return;
    json_.key("chunks");
    list(code, [](const instruction& i) { return i.chunk; });
  }

  /// Pairs of (instructions since the pair before, idle time before this one). What rounding alone makes, at most
  /// two ticks, is left out and does not add up: the next gap is counted from what the page knows.
  /// What a pack of a row waits for the longest of it is idle time, too.
  void write_gaps(const workload& work, std::span<const timed_instruction> lane, std::size_t stage) {
    std::int64_t known = 0;
    std::size_t last = 0;
    json_.key("gaps").open('[');
    for (std::size_t i = 0; i < lane.size(); ++i) {
      const std::int64_t gap = ticks(lane[i].begin) - known;
      if (std::abs(gap) > 2) {
        json_.value(i - last).value(gap);
        last = i;
        known += gap;
      }
      known += ticks(time_of(work.times, lane[i].instruction, stage, work.shape));
    }
    json_.close(']');
  }

  /// Changes of what the stage holds while each instruction runs: tokens, or MiB.
  void write_memory(const workload& work, const program& code, std::size_t stage, memory_unit unit) {
    const double scale = unit == memory_unit::byte ? 1.0 / (1 << 20) : 1.0;
    std::int64_t known = 0;
    json_.key("memory").open('[');
    simulators::follow_memory(work, code, static_cast<int>(stage), [&](const instruction&, double held) {
      const std::int64_t now = std::llround(held * scale);
      json_.value(now - known);
      known = now;
    });
    json_.close(']');
  }

  /// The path as runs of instructions on one stage: (stage, first, count); a message leads from each to the next, or,
  /// where replicas share sequences, another replica's part of the path.
  void write_critical(std::span<const simulators::critical_task> path, std::size_t replica,
                      std::span<const program> programs) {
    const simulators::critical_seconds sum = simulators::seconds_on(path);
    json_.key("critical").open('{').field("forward", ticks(sum.forward)).field("backward", ticks(sum.backward));
    json_.field("messages", ticks(sum.messages)).key("runs").open('[');
    std::vector<std::size_t> at(programs.size(), 0);  // a path visits a stage's instructions in order
    std::size_t count = 0;
    for (const simulators::critical_task& c : path) {
      if (c.what.is_message || c.what.replica != replica) {
        if (count > 0) json_.value(count);
        count = 0;
        continue;
      }
      const program& code = programs[c.what.stage];
      std::size_t& i = at[c.what.stage];
      while (code[i] != c.what.what) ++i;
      if (count++ == 0) json_.value(c.what.stage).value(i);
    }
    if (count > 0) json_.value(count);
    json_.close(']').close('}');
  }

  json_out json_;
  const Simulator& simulator_;
};

[[nodiscard]] inline result<void> check_facts(const page_facts& facts, std::size_t plans) {
  if (!facts.plans.empty() && facts.plans.size() != plans)
    return error{errc::invalid_input, "page_facts of " + std::to_string(facts.plans.size()) + " plans for a page of " +
                                          std::to_string(plans) + "; give one for each plan, or none"};
  for (std::size_t k = 0; k < facts.plans.size(); ++k) {
    if (!facts.plans[k].speed_up) continue;
    const auto [low, high] = *facts.plans[k].speed_up;
    if (!(low > 0 && low <= high && std::isfinite(high)))
      return error{errc::invalid_input, "page_facts of plan " + std::to_string(k) + ": a speed-up between " +
                                            std::to_string(low) + " and " + std::to_string(high) +
                                            "; give 0 < low <= high"};
  }
  return success();
}

}  // namespace detail

/// Writes one HTML page that shows plans of one batch: key figures, a lane per stage and replica, the critical path,
/// memory, and what every pack holds and waited for. The first plan is the main one; the others are comparisons. The
/// first lines say how much faster it is than the fastest of the others that fit. A plan fits into its own memory
/// limit, or, where it has none, into that of the first plan.
/// Of a plan that was run, the page shows the measured step as well: alone, and each lane under the predicted one on
/// the same axis, with the ratio of every instruction, of the step, and the measured bubble.
/// Where samples share beginnings, each pack shows its sequences, in hues near their parents', and the path of the one
/// under the pointer is marked. Copies of a path have its hues, and are hatched.
/// The page is self-contained and loads nothing. A view is its address: `#tab=1&t0=0.5&t1=0.7&replica=2&critical=1&
/// memory=0&pick=F12@2.3` shows seconds 0.5 to 0.7 of replica 2 in the second tab, its pack F12 on stage 3 picked
/// (`F12@2.3m` as measured). Lanes get lower until all of them are in view; `tall=1` shows them higher.
/// Shapes    measured[k] holds the reports of one step of plans[k], a rank each, rank = replica * stages + stage; what
///           is empty or left out was not measured. Of a report, loss and token counts of the batch are not read.
///           `batches` adds a plot of their step times. `simulator` finds the predicted times and the critical path
///           (concepts/planning.hpp). `facts` says what the plans do not.
/// Requires  plans of one batch, however they cut its paths; as many steps of each planner
/// Errors    invalid_input: no plan, a measured step that is not one of its plan, facts of another number of plans, or
///           a range of a speed-up that is none; those of task_graph::assign, when programs cannot run; those of the
///           simulator; unwritable: the stream has failed
/// Complexity O(instructions), streamed
template <class Simulator = simulators::sweep>
[[nodiscard]] result<void> write_timeline(std::ostream& out, std::span<const plan> plans,
                                          std::span<const std::vector<step_report>> measured = {},
                                          const batch_times& batches = {}, const Simulator& simulator = {},
                                          const page_facts& facts = {}) {
  if (plans.empty()) return error{errc::invalid_input, "a timeline page shows at least one plan, got none"};
  if (measured.size() > plans.size())
    return error{errc::invalid_input,
                 std::to_string(measured.size()) + " measured steps for " + std::to_string(plans.size()) + " plans"};
  for (std::size_t k = 0; k < measured.size(); ++k)
    if (!measured[k].empty())
      if (result<void> fits = executors::check_measured(plans[k], measured[k]); !fits) return fits;
  if (result<void> known = detail::check_facts(facts, plans.size()); !known) return known;
  for (const std::string_view text : detail::timeline_page) out << text;
  out << "<script id=\"data\" type=\"application/json\">";
  if (result<void> written = detail::timeline_writer(out, simulator).write(plans, measured, batches, facts); !written)
    return written;
  out << "</script>\n<script>\n";
  for (const std::string_view text : detail::timeline_script) out << text;
  out << "</script>\n</body>\n</html>\n";
  if (!out) return error{errc::unwritable, "the timeline page could not be written: the output stream failed"};
  return success();
}

}  // namespace slimpack::io

#endif
