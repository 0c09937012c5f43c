// How well do the library's schedules and its simulator tell what pipelines do? The bubbles that Qi et al. computed for
// six schedules are to be met from the times that they profiled; so are the iterations that they measured, with one
// constant, and the order of schedules. Every constant is fitted on rows of other models than the row that is scored.

#include "data.hpp"
#include "scores.hpp"
#include "zero_bubble_runs.hpp"

#include <slimpack/io/csv.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fidelity {
namespace {

using namespace slimpack;

/// A table of the folder, if it is there.
std::optional<io::csv_table> table(const std::filesystem::path& data, const std::string& name) {
  const std::filesystem::path file = data / "published" / ("zero_bubble_" + name + ".csv");
  if (!std::filesystem::exists(file)) return std::nullopt;
  return io::csv_table::read(file).value();
}

/// Milliseconds or seconds that were measured.
double measured(const io::csv_table& rows, std::size_t i, const char* column) {
  return cells(rows, i).measured(column);
}

std::string shown(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// A pipeline of equal micro-batches, and what the authors profiled on it.
struct setting {
  std::string model;
  int stages{};
  int micro_batch{};
  int microbatches{};
  seconds forward;
  seconds inputs;
  seconds weights;
  seconds hop;

  [[nodiscard]] double work() const { return microbatches * (forward + inputs + weights).value; }
  [[nodiscard]] double bubble(double time) const { return 1 - work() / time; }
};

/// Cost model of a setting: every micro-batch takes what was profiled, a chunk of a stage its share of that.
struct profile {
  setting from;
  int chunks{1};
  double live{1};    ///< of a token until W
  double until_b{};  ///< of a token until B
  sends how{sends::beside};

  [[nodiscard]] seconds time(const slice&, pass p, int part) const {
    const bool last = p == pass::forward ? part == from.stages * chunks - 1 : part == 0;
    const seconds computed = p == pass::forward ? from.forward : from.inputs + from.weights;
    return computed * (1.0 / chunks) + (how == sends::blocking && !last ? from.hop : seconds{});
  }
  [[nodiscard]] seconds weight_time(const slice&, int) const { return from.weights * (1.0 / chunks); }
  [[nodiscard]] seconds message(tokens, pass, int) const { return how == sends::beside ? from.hop : seconds{}; }
  [[nodiscard]] std::optional<memory_rates> memory(int) const { return memory_rates{.live_token = live}; }
  [[nodiscard]] bytes kept(const slice& s, int) const { return {until_b * static_cast<double>(s.length.value)}; }
};

/// A schedule of the paper by its name there, at the times that were profiled.
outcome simulate(const std::string& schedule, const setting& s, const zero_bubble_model& m, sends how = sends::beside) {
  return run_zero_bubble(schedule, s.stages, s.microbatches, m, how,
                         [&](int chunks, double live, double until_b, sends with) {
                           return profile{.from = s, .chunks = chunks, .live = live, .until_b = until_b, .how = with};
                         });
}

/// Whether simulate knows a schedule; interleaved 1F1B needs a layer a stage.
bool can_simulate(const std::string& schedule, const setting& s, const zero_bubble_model& m) {
  if (schedule == "1F1B-I") return m.layers + 2 >= s.stages;
  const auto known = {"1F1B", "ZB-H1", "ZB-H2", "ZB-1p", "ZB-2p"};
  return std::find(known.begin(), known.end(), schedule) != known.end();
}

/// Models and settings that the tables of a folder tell of, and those that come with the library.
struct catalogue {
  std::map<std::string, zero_bubble_model> models;
  std::vector<setting> settings;

  explicit catalogue(const std::filesystem::path& data) {
    for (const std::filesystem::path& folder : {data, std::filesystem::path(SLIMPACK_DATA)}) {
      if (const std::optional<io::csv_table> rows = table(folder, "throughput"))
        for (std::size_t i = 0; i < rows->rows(); ++i)
          models.insert({rows->text(i, "model").value(),
                         {static_cast<int>(rows->number(i, "layers").value()), rows->number(i, "hidden").value(),
                          rows->number(i, "heads").value(), rows->number(i, "seq").value()}});
      if (const std::optional<io::csv_table> rows = table(folder, "profiled_times"))
        for (std::size_t i = 0; i < rows->rows(); ++i) {
          const auto count = [&](const char* column) { return static_cast<int>(rows->number(i, column).value()); };
          const auto time = [&](const char* column) { return seconds{measured(*rows, i, column) * 1e-3}; };
          settings.push_back({rows->text(i, "model").value(), count("pp"), count("micro_batch"), count("microbatches"),
                              time("t_f_ms"), time("t_b_ms"), time("t_w_ms"), time("t_comm_ms")});
        }
    }
  }

  /// The setting of a model whose number of micro-batches is nearest, its times scaled to the size of a micro-batch.
  [[nodiscard]] std::optional<setting> nearest(const std::string& name, int micro_batch, int microbatches) const {
    const auto distance = [&](const setting& s) {
      return std::pair(s.micro_batch != micro_batch, std::abs(std::log(double(s.microbatches) / microbatches)));
    };
    std::optional<setting> best;
    for (const setting& s : settings)
      if (s.model == name && (!best || distance(s) < distance(*best))) best = s;
    if (!best) return best;
    const double scale = double(micro_batch) / best->micro_batch;
    for (seconds setting::*part : {&setting::forward, &setting::inputs, &setting::weights, &setting::hop})
      (*best).*part = (*best).*part * scale;
    best->micro_batch = micro_batch;
    best->microbatches = microbatches;
    return best;
  }
  /// Why rows of a model are not scored.
  [[nodiscard]] std::string lacks(const std::string& name, int microbatches) const {
    const bool timed = std::any_of(settings.begin(), settings.end(), [&](const setting& s) { return s.model == name; });
    return "model " + name + ": " +
           (!timed                   ? "no times of it in zero_bubble_profiled_times.csv"
            : !models.contains(name) ? "no size of it in zero_bubble_throughput.csv"
                                     : "not profiled with " + std::to_string(microbatches) + " micro-batches");
  }
  [[nodiscard]] bool profiled(const setting& s) const {
    return std::any_of(settings.begin(), settings.end(), [&](const setting& t) {
      return t.model == s.model && t.micro_batch == s.micro_batch && t.microbatches == s.microbatches;
    });
  }
};

/// F1 to F3: bubbles that the authors computed.
std::vector<score> bubbles(const std::filesystem::path& data, const catalogue& known) {
  score f1{.id = "F1", .claim = "1F1B: bubble of the makespan, from profiled times", .kind = error_kind::absolute};
  score f2{.id = "F2", .claim = "interleaved 1F1B: bubble of the makespan", .kind = error_kind::absolute};
  score f3{
      .id = "F3", .claim = "zero-bubble schedules: bubble of the longest stage span", .kind = error_kind::absolute};
  double fullest = 0;
  std::vector<double> hops;  // by which interleaved 1F1B takes longer than published, per stage
  left_out others;
  const std::optional<io::csv_table> rows = table(data, "simulated_bubble");
  for (std::size_t i = 0; rows && i < rows->rows(); ++i) {
    const std::string schedule = rows->text(i, "schedule").value();
    const std::string name = rows->text(i, "model").value();
    const auto microbatches = static_cast<int>(rows->number(i, "microbatches").value());
    const auto s = std::find_if(known.settings.begin(), known.settings.end(),
                                [&](const setting& t) { return t.model == name && t.microbatches == microbatches; });
    if (s == known.settings.end() || !known.models.contains(name)) {
      others.add(rows->where(i), known.lacks(name, microbatches));
      continue;
    }
    if (!can_simulate(schedule, *s, known.models.at(name))) {
      f3.notes.push_back("left out: " + rows->where(i) + ", schedule " + schedule);
      continue;
    }
    const outcome got = simulate(schedule, *s, known.models.at(name));
    const bool splits = schedule.substr(0, 2) == "ZB";
    score& to = splits ? f3 : schedule == "1F1B" ? f1 : f2;
    const std::string label = name + " x" + std::to_string(microbatches) + " " + schedule;
    to.rows.push_back({label, s->bubble(splits ? got.span : got.makespan), rows->number(i, "bubble_rate").value()});
    if (splits) fullest = std::max(fullest, got.memory / got.limit);
    if (schedule == "1F1B-I")
      hops.push_back((got.makespan - s->work() / (1 - to.rows.back().measured)) / s->hop.value / s->stages);
    to.notes.push_back(label + ": bubble of the span " + shown("%.4f", s->bubble(got.span)) + ", of the makespan " +
                       shown("%.4f", s->bubble(got.makespan)) + "; holds " + shown("%.2f", got.memory) +
                       " micro-batches of " + std::to_string(s->stages) + " stages");
  }
  if (!hops.empty())
    f2.notes.push_back("longer than published by " + shown("%.2f", *std::min_element(hops.begin(), hops.end())) +
                       " to " + shown("%.2f", *std::max_element(hops.begin(), hops.end())) + " T_comm for each stage");
  others.tell(f1.notes);
  f1.goals = {{"largest error", std::abs(summarise(f1).worst), 1e-4}};
  f2.goals = {{"largest error", std::abs(summarise(f2).worst), 0.004}};
  f3.goals = {{"largest error", std::abs(summarise(f3).worst), 0.01},
              {"memory over what the schedule is allowed", fullest, 1}};
  return {std::move(f1), std::move(f2), std::move(f3)};
}

/// An iteration that the authors measured, and what the simulator says of it.
struct timed_step {
  std::string name{};
  std::string schedule{};
  std::string synchronisation{};
  setting at{};
  bool profiled{};
  double measured{};
  double samples{};     ///< of all GPUs
  double operations{};  ///< of one GPU
  double beside{};      ///< simulated, messages beside compute
  double blocking{};    ///< simulated, sends that stop their stage
};

/// What cannot be simulated is said in `notes`.
std::vector<timed_step> iterations_in(const std::filesystem::path& data, const catalogue& known,
                                      std::vector<std::string>& notes) {
  std::vector<timed_step> all;
  left_out others;
  const std::optional<io::csv_table> rows = table(data, "throughput");
  for (std::size_t i = 0; rows && i < rows->rows(); ++i) {
    const auto count = [&](const char* column) { return static_cast<int>(rows->number(i, column).value()); };
    const std::optional<setting> s =
        known.nearest(rows->text(i, "model").value(), count("micro_batch"), count("microbatches"));
    if (!s) {
      others.add(rows->where(i), known.lacks(rows->text(i, "model").value(), 0));
      continue;
    }
    timed_step made{.schedule = rows->text(i, "schedule").value(),
                    .synchronisation = rows->text(i, "optimizer_sync").value(),
                    .at = *s,
                    .profiled = known.profiled(*s),
                    .measured = measured(*rows, i, "derived_iteration_s")};
    const zero_bubble_model& m = known.models.at(s->model);
    if (!can_simulate(made.schedule, *s, m)) {
      notes.push_back("left out: " + rows->where(i) + ", schedule " + made.schedule);
      continue;
    }
    made.name = s->model + " " + std::to_string(s->micro_batch) + " x" + std::to_string(s->microbatches) + " " +
                made.schedule + ", " + made.synchronisation;
    made.samples = s->micro_batch * s->microbatches;
    made.operations = m.operations() * m.length * made.samples / s->stages;
    // Post-validation lets the optimizer step of a stage run beside others' last W; otherwise all wait for the last.
    for (const auto& [how, time] :
         {std::pair{sends::beside, &timed_step::beside}, {sends::blocking, &timed_step::blocking}}) {
      const outcome got = simulate(made.schedule, *s, m, how);
      made.*time = made.synchronisation == "post-validation" ? got.span : got.makespan;
    }
    all.push_back(std::move(made));
  }
  others.tell(notes);
  return all;
}

/// The factor between what is simulated and measured: the geometric mean over rows of other models than `without`.
template <class Time>
double factor(const std::vector<timed_step>& rows, const std::string& without, const Time& time) {
  double sum = 0;
  int count = 0;
  for (const timed_step& r : rows)
    if (r.profiled && r.at.model != without) sum += std::log(r.measured / time(r)), ++count;
  return count > 0 ? std::exp(sum / count) : 1;
}

/// The seconds that every iteration takes besides, of least relative error over the same rows.
double seconds_besides(const std::vector<timed_step>& rows, const std::string& without) {
  double error = 0;
  double weight = 0;
  for (const timed_step& r : rows)
    if (r.profiled && r.at.model != without)
      error += (1 - r.beside / r.measured) / r.measured, weight += 1 / (r.measured * r.measured);
  return weight > 0 ? error / weight : 0;
}

/// "mean x %, worst y %" of predictions of the scored rows.
template <class Prediction>
std::string errors_of(const std::vector<timed_step>& rows, const Prediction& predict) {
  score s;
  for (const timed_step& r : rows)
    if (r.profiled) s.rows.push_back({r.name, predict(r), r.measured});
  const summary all = summarise(s);
  return "mean " + shown("%.2f %%", 100 * all.mean) + ", worst " + shown("%.2f %%", 100 * all.worst) + " (" +
         all.worst_row + ")";
}

/// F4: seconds of an iteration.
score iteration_times(const std::vector<timed_step>& rows, const std::vector<timed_step>& shipped) {
  const auto blocking = [](const timed_step& r) { return r.blocking; };
  const auto beside = [](const timed_step& r) { return r.beside; };
  score s{.id = "F4", .claim = "seconds of zero-bubble iterations, from profiled times and one factor"};
  s.fitted = "the factor, for each row on the shipped rows of other models; over all of them it is " +
             shown("%.4f", factor(shipped, "", blocking));
  for (const timed_step& r : rows)
    s.rows.push_back({r.name, factor(shipped, r.at.model, blocking) * r.blocking, r.measured, r.profiled});
  const summary all = summarise(s);
  s.goals = {{"mean error", all.mean, 0.03}, {"largest error", std::abs(all.worst), 0.08}};
  s.notes.push_back(
      "rows without profiled times take those of the nearest number of micro-batches, scaled, and are not scored");
  s.notes.push_back("sends stop their stage for T_comm, as Megatron-LM's do; otherwise, each constant fitted alike:");
  s.notes.push_back("  messages beside compute, a factor: " + errors_of(rows, [&](const timed_step& r) {
                      return factor(shipped, r.at.model, beside) * r.beside;
                    }));
  s.notes.push_back("  messages beside compute, seconds an iteration: " + errors_of(rows, [&](const timed_step& r) {
                      return seconds_besides(shipped, r.at.model) + r.beside;
                    }));
  const auto operations = [](const timed_step& r) { return r.operations; };
  s.notes.push_back("baseline, operations at one rate: " + errors_of(rows, [&](const timed_step& r) {
                      return factor(shipped, r.at.model, operations) * r.operations;
                    }));
  s.notes.push_back("baseline, samples at the rate of the model's other rows: " +
                    errors_of(rows, [&](const timed_step& r) {
                      double rate = 0;
                      int count = 0;
                      for (const timed_step& other : rows)
                        if (other.profiled && other.at.model == r.at.model && other.name != r.name)
                          rate += other.samples / other.measured, ++count;
                      return r.samples * count / rate;
                    }));
  return s;
}

/// F5: which of two schedules of a setting is faster.
score order_of_schedules(const std::vector<timed_step>& rows) {
  score s{.id = "F5", .claim = "time of one schedule over another's in the same setting, and which is faster"};
  int pairs = 0;
  int right = 0;
  int right_beside = 0;
  for (auto a = rows.begin(); a != rows.end(); ++a)
    for (auto b = a + 1; b != rows.end(); ++b) {
      const bool same = a->at.model == b->at.model && a->at.micro_batch == b->at.micro_batch &&
                        a->at.microbatches == b->at.microbatches;
      if (!same || !a->profiled || a->schedule == b->schedule) continue;
      const auto agree = [&](double one, double other) { return (one < other) == (a->measured < b->measured); };
      ++pairs;
      right_beside += agree(a->beside, b->beside);
      s.rows.push_back({a->name + " / " + b->schedule + ", " + b->synchronisation, a->blocking / b->blocking,
                        a->measured / b->measured});
      if (agree(a->blocking, b->blocking))
        ++right;
      else
        s.notes.push_back("wrong: " + s.rows.back().name + " " + shown("%.4f", s.rows.back().predicted) +
                          ", measured " + shown("%.4f", s.rows.back().measured));
    }
  s.goals = {{"pairs in the right order", pairs > 0 ? double(right) / pairs : 0, 0.95, false}};
  s.notes.push_back(std::to_string(right) + " of " + std::to_string(pairs) + " pairs; with messages beside compute " +
                    std::to_string(right_beside));
  return s;
}

}  // namespace

std::vector<score> pipelines(const std::filesystem::path& data) {
  const catalogue known(data);
  std::vector<score> all = bubbles(data, known);
  std::vector<std::string> notes, unused;
  const std::vector<timed_step> rows = iterations_in(data, known, notes);
  const std::vector<timed_step> shipped = iterations_in(SLIMPACK_DATA, catalogue(SLIMPACK_DATA), unused);
  all.push_back(iteration_times(rows, shipped));
  all.back().notes.insert(all.back().notes.end(), notes.begin(), notes.end());
  all.push_back(order_of_schedules(rows));
  for (score& s : all) {
    if (!s.rows.empty()) continue;
    s.goals.clear();  // there is nothing to judge, only what was left out to tell
    std::erase_if(s.notes, [](const std::string& note) { return note.rfind("left out", 0) != 0; });
  }
  std::erase_if(all, [](const score& s) { return s.rows.empty() && s.notes.empty(); });
  return all;
}

}  // namespace fidelity
