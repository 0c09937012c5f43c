#include "memory_split.hpp"

#include "texts.hpp"

#include <slimpack/core/detail/amount.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/simulators/plan_graphs.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cli {
namespace {

using namespace slimpack;

/// Where the plan holds most.
struct fullest {
  std::size_t replica{};
  std::size_t stage{};
  double held{};
};

fullest fullest_of(const plan& p) {
  fullest most;
  for (std::size_t r = 0; r < p.replicas.size(); ++r)
    for (std::size_t stage = 0; stage < p.replicas[r].peak_memory.size(); ++stage)
      if (p.replicas[r].peak_memory[stage] > most.held) most = {r, stage, p.replicas[r].peak_memory[stage]};
  return most;
}

/// What is held while each instruction of the stage runs, by these rates alone.
std::vector<double> held_by(workload work, const memory_rates& rates, const std::vector<program>& programs,
                            std::size_t stage) {
  work.rates[stage] = rates;
  simulators::stage_memory memory(work, static_cast<int>(stage));
  std::vector<double> held;
  for (const instruction& i : programs[stage]) held.push_back(memory.during(i)), memory.run(i);
  return held;
}

/// Fixed bytes of a stage, of a table of saved tensors that a change was made to.
template <class Change>
double fixed_bytes(const setting& s, const row& planned, std::size_t stage, const Change& change) {
  setting own = s;
  change(own.tensors);
  const result<any_cost> cost = cost_on(own, planned.planner, planned.layout);
  if (!cost) return 0;
  const auto rates =
      std::visit([&](const auto& one) { return slimpack::memory_of(one, static_cast<int>(stage)); }, cost.value());
  return rates ? rates->fixed : 0;
}

}  // namespace

void print_memory(std::ostream& out, const setting& s, const row& planned) {
  const plan& p = planned.plan.value();
  if (p.memory_unit != memory_unit::byte || !s.device) return;
  const fullest most = fullest_of(p);
  const replica_plan& r = p.replicas[most.replica];
  if (most.stage >= r.rates.size()) return;
  const memory_rates& rates = r.rates[most.stage];
  const workload work = simulators::workload_of(p, most.replica);
  const std::vector<double> all = held_by(work, rates, r.programs, most.stage);
  const auto at = std::max_element(all.begin(), all.end()) - all.begin();

  const auto amount = [](double size) { return slimpack::detail::amount(size, memory_unit::byte); };
  std::vector<std::vector<std::string>> table{{"memory of the fullest GPU", "holds", "of it", "sharded over"}};
  double told = 0;
  const auto line = [&](const std::string& what, double size, const std::string& over) {
    if (size < 0.0005 * most.held) return;
    told += size;
    table.push_back({what, amount(size), percent(size / most.held, 1), over});
  };
  const double copies = static_cast<double>(p.shape.replicas) * p.shape.context;
  const std::string everywhere = s.tensors.gathered_weight > 0 ? fixed(copies, 0) + " copies" : "not sharded";
  const bool trains = !is_forward_only(p);
  std::vector<std::pair<const char*, double costs::saved_tensors::*>> states{
      {"weights", &costs::saved_tensors::weight},
      {"gradients", &costs::saved_tensors::gradient},
      {"optimizer", &costs::saved_tensors::optimizer}};
  if (!trains) states.clear(), line("weights", rates.fixed, everywhere);  // and nothing else
  for (const auto& [what, of] : states) {
    const auto member = of;  // clang 14 lets no lambda have a structured binding
    const double without = fixed_bytes(s, planned, most.stage, [&](costs::saved_tensors& t) { t.*member = 0; });
    line(what, rates.fixed - without,
         member == &costs::saved_tensors::optimizer ? fixed(copies, 0) + " copies" : everywhere);
  }
  if (trains) line("gathered weights and their gradients", rates.fixed - told, "-");
  struct share_of_packs {
    const char* what;
    double memory_rates::*member;
    double rate;
  };
  const auto whole = [&](const char* what, double memory_rates::*member) {
    return share_of_packs{what, member, rates.*member};
  };
  const share_of_packs of_packs[]{
      {trains ? "activations that wait for their backward" : "keys and values of sequences under way",
       &memory_rates::live_token, rates.least_token()},
      {"kept beside them for later slices: keys and values", &memory_rates::live_token, rates.prefix_token},
      whole("gradients of keys and values", &memory_rates::gradient_token),
      whole("running forward pack", &memory_rates::forward_token),
      whole("running backward pack: logits, a layer computed again", &memory_rates::backward_token),
      whole("running forward pack: scores of its queries and keys", &memory_rates::forward_pair),
      whole("running backward pack: scores of its queries and keys", &memory_rates::backward_pair),
      whole("keys and values of other replicas", &memory_rates::other_token),
      whole("kept for weight gradients that are computed later", &memory_rates::weight_token),
      whole("logits of a spread vocabulary", &memory_rates::logit_token),
      whole("gradients that come back from a spread vocabulary", &memory_rates::turned_token)};
  const auto held = [&](const memory_rates& by) {
    return held_by(work, by, r.programs, most.stage)[static_cast<std::size_t>(at)];
  };
  constexpr memory_rates none{.fixed = 0, .live_token = 0};
  const double kept = held(none);  // whatever the rates: what a workload counts by piece, tokens of other replicas
                                   // among it
  const bool shares = std::any_of(p.merges.begin(), p.merges.end(), [&](const merge& m) {
    return std::find(m.replicas.begin(), m.replicas.end(), most.replica) != m.replicas.end();
  });
  for (const share_of_packs& one : of_packs) {
    memory_rates alone = none;
    alone.*one.member = one.rate;
    const bool of_others = one.member == &memory_rates::other_token;
    if (!of_others || shares) line(one.what, held(alone) - (of_others ? 0 : kept), "-");
  }
  line("other data that pieces keep", most.held - told, "-");
  out << "\n";
  print_table(out, table);
  out << "It is a GPU of replica " << most.replica << ", stage " << most.stage << ". ";
  if (const double left = s.device->memory.value - most.held; left >= 0)
    out << amount(left) << " of its " << amount(s.device->memory.value) << " are left.";
  else
    out << "The plan is too large for it: it has " << amount(s.device->memory.value) << ", " << amount(-left)
        << " too little.";
  out << " Its weights are those of one of " << p.shape.tensor
      << " tensor-parallel ranks. There are\nreplicas x context-parallel ranks copies of the weights, and fewer of "
         "experts.\n";
}

}  // namespace cli
