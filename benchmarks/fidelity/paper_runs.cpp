// Iterations of Megatron-LM that papers measured: how each was run, and what prices say of it.

#include "paper_runs.hpp"

#include "trainings.hpp"

#include <cmath>
#include <cstdio>
#include <utility>

namespace fidelity {

costs::stage_options megatron(bool sequence_parallel, const std::string& recompute) {
  costs::stage_options with;
  with.attention = costs::attention_kind::unfused;
  with.dropout = true;
  with.messages = costs::messages::waited_for;
  with.row_share = with.memory_share;
  with.norm_reads = 1;
  with.distributed_optimizer = false;
  with.reduction = costs::reduction::exposed;
  with.sequence_parallel = sequence_parallel;
  with.cuts = false;
  with.recompute = recompute == "full"        ? costs::recompute::full
                   : recompute == "selective" ? costs::recompute::attention
                                              : costs::recompute::none;
  return with;
}

prediction predicted(const paper_run& r, machines& cluster, price_kind by) {
  const machine& m = cluster.of(r.gpu);
  prediction best;
  const int of_stage = r.model.layers / r.on.stages;
  for (int chunks = 1; chunks <= (r.on.stages > 1 ? of_stage : 1); ++chunks) {
    if (r.chunks_printed ? chunks != r.on.chunks : of_stage % chunks != 0) continue;
    shape on = r.on;
    on.chunks = chunks;
    // What was printed ran, and so fitted.
    if (!r.chunks_printed) on.memory = memory_limit{memory_unit::byte, m.net.device().memory.value - 4 * gib};
    costs::stage_options with = r.with;
    with.longest = r.sequence * 8;
    with_price(by, m, r.model, on, with, [&](const auto& cost) {
      for (const int micro_batch : {1, 2, 4, 8}) {
        if (r.micro_batch && *r.micro_batch != micro_batch) continue;
        if (r.batch % (on.replicas * micro_batch) != 0) continue;
        if (chunks > 1 && r.batch / on.replicas / micro_batch % on.stages != 0) continue;
        const std::optional<seconds> t = iteration(cost, on, r.batch / on.replicas, r.sequence, micro_batch);
        if (t && *t < best.time) best = {*t, micro_batch, chunks};
      }
    });
  }
  return best;
}

costs::model_shape gpt_of(const cells& c, int layers, std::int64_t vocabulary) {
  return decoder("GPT", layers, c.count("hidden"), c.count("heads"), 4 * c.count("hidden"), vocabulary, false);
}

namespace {

paper_run run_of(const cells& c, const std::string& file, const std::string& label) {
  paper_run r;
  r.name = c.text("row_id") + " " + label;
  r.file = file;
  r.gpu = c.text("gpu");
  r.model = gpt_of(c, c.count("layers"), c.count("vocab"));
  r.batch = c.count("global_batch");
  r.sequence = {c.count("seq")};
  return r;
}

/// Rows of Korthikanti et al.: all printed. Tensor-parallel traffic of backward runs under the weight gradients.
void add_recompute_rows(const std::filesystem::path& data, std::vector<paper_run>& to) {
  each_row(data / "published/recompute_iteration_time.csv", [&](const cells& c) {
    paper_run r = run_of(c, "recompute", c.text("model") + " " + c.text("recompute"));
    r.on = {.stages = c.count("pp"),
            .replicas = c.count("dp"),
            .tensor = c.count("tp"),
            .chunks = c.count("virtual_stages")};
    r.chunks_printed = true;
    r.micro_batch = c.count("micro_batch");
    r.with = megatron(c.count("sequence_parallel") == 1, c.text("recompute"));
    r.measured = {c.measured("iteration_s")};
    to.push_back(r);
  });
}

/// Rows of Narayanan et al., SC21: full recompute, by an earlier Megatron-LM, which waits for tensor-parallel traffic
/// and adds each pack's 16-bit gradients to fp32 ones in a kernel of its own (megatron/model/distributed.py): that
/// products do so themselves is a later option, gradient_accumulation_fusion.
void add_sc21_rows(const std::filesystem::path& data, std::vector<paper_run>& to, std::vector<std::string>& notes) {
  const auto add = [&](paper_run r, const cells& c) {
    r.with = megatron(false, "full");
    r.with.hides_tensor_traffic = false;
    r.with.accumulation_traffic = 10;
    r.measured = {c.measured("derived_iteration_s")};
    to.push_back(std::move(r));
  };
  each_row(data / "published/megatron_sc21_weak_scaling.csv", [&](const cells& c) {
    paper_run r = run_of(c, "weak scaling", c.text("params_b") + "B");
    r.on = {.stages = c.count("pp"), .replicas = c.count("dp"), .tensor = c.count("tp")};
    add(std::move(r), c);
  });
  int sharded = 0;
  each_row(data / "published/megatron_sc21_ptd_vs_zero3.csv", [&](const cells& c) {
    int tensor = 0, stages = 0;
    if (std::sscanf(c.text("scheme").c_str(), "PTD tp%d pp%d", &tensor, &stages) != 2) {
      ++sharded;
      return;
    }
    paper_run r = run_of(c, "PTD", c.text("params_b") + "B");
    r.on = {.stages = stages, .replicas = c.count("dp"), .tensor = tensor};
    r.micro_batch = c.count("micro_batch");
    add(std::move(r), c);
  });
  if (sharded > 0)
    notes.push_back(
        std::to_string(sharded) +
        " ZeRO-3 rows left out: their weights are gathered layer by layer, which no shape of the library does");
}

}  // namespace

std::vector<paper_run> megatron_runs(const std::filesystem::path& data, machines& cluster,
                                     std::vector<std::string>& notes) {
  std::vector<paper_run> runs;
  add_recompute_rows(data, runs);
  add_sc21_rows(data, runs, notes);
  left_out others;
  std::erase_if(runs, [&](const paper_run& r) {
    bool possible = false;
    if (!cluster.describes(r.gpu))
      others.add(r.name, cluster.lacks(r.gpu));
    else
      others.attempt(r.name, [&] { possible = std::isfinite(predicted(r, cluster).time.value); });
    if (!possible && cluster.describes(r.gpu)) others.add(r.name, "it fits no memory, or cannot be divided as printed");
    return !possible;
  });
  others.tell(notes);
  return runs;
}

}  // namespace fidelity
