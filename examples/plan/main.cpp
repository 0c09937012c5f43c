// slimpack-plan: plans training steps for real sequence lengths, a model and a cluster, and shows how good they are.

#include "batches.hpp"
#include "options.hpp"
#include "planners.hpp"
#include "progress.hpp"
#include "report.hpp"

#include <slimpack/core/plan_hash.hpp>
#include <slimpack/costs/gpus.hpp>
#include <slimpack/detail/amount.hpp>
#include <slimpack/io/file.hpp>
#include <slimpack/io/gpu.hpp>
#include <slimpack/io/model_config.hpp>
#include <slimpack/io/plan_json.hpp>
#include <slimpack/io/timeline.hpp>
#include <slimpack/io/trace.hpp>
#include <slimpack/simulator/bgl.hpp>
#include <slimpack/simulator/bounds.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cli {
namespace {

using namespace slimpack;

/// What every batch is planned with.
struct setting {
  any_cost cost;
  std::optional<costs::model_shape> model;
  std::optional<costs::gpu> device;
  slimpack::shape shape;
};

result<setting> prepare(const options& o) {
  setting s{{}, {}, {}, o.shape};
  if (o.model) {
    result<costs::model_shape> model = io::read_model(*o.model);
    if (!model) return std::move(model).error();
    s.model = std::move(model).value();
    if (o.shape.parts() > s.model->layers)
      return error{errc::invalid_input, "--pp " + std::to_string(o.shape.stages) + (o.shape.chunks > 1 ? " x --vpp " + std::to_string(o.shape.chunks) : "") +
                                            " exceeds the " + std::to_string(s.model->layers) + " layers of " + s.model->name + "; lower it"};
  }
  if (o.gpu) {
    s.device = costs::gpus::named(*o.gpu);
    if (!s.device) {
      result<costs::gpu> read = io::read_gpu(*o.gpu);
      if (!read) return error{read.error().code, read.error().detail + " (--gpu takes h100, a100, h200 or a JSON file)"};
      s.device = std::move(read).value();
    }
  }
  if (o.quadratic) {
    s.cost = *o.quadratic;
    return s;
  }
  constexpr double reserve = 4.0 * 1024 * 1024 * 1024;  // context, communication buffers, fragments
  if (!s.shape.memory) {
    if (s.device->memory.value <= reserve)
      return error{errc::out_of_memory, s.device->name + " has " + detail::amount(s.device->memory.value, memory_unit::byte) +
                                            ", less than the 4 GiB kept free; set --memory"};
    s.shape.memory = memory_limit{memory_unit::byte, s.device->memory.value - reserve};
  }
  result<costs::transformer> made = costs::transformer::make(*s.model, *s.device, s.shape, {.recompute = o.recompute, .hop = o.hop});
  if (!made) return std::move(made).error();
  s.cost = std::move(made).value();
  return s;
}

/// What would make the longest sequence fit, for a plan that needs too many bytes; or tokens.
std::string advice(const options& o, const setting& s, std::span<const tokens> lengths) {
  const tokens longest = *std::max_element(lengths.begin(), lengths.end());
  if (o.planner != "slimpack" && plan_named({"slimpack", s.shape, {}, solvers::search_budget::fast()}, lengths, s.cost))
    return "--planner slimpack fits";
  if (!s.shape.memory) return "lower --quantum";
  if (s.shape.chunks > 1) {
    shape plain = s.shape;
    plain.chunks = 1;
    if (s.shape.memory->unit == memory_unit::token && plan_named({o.planner, plain, o.max_context.value_or(tokens{0}), solvers::search_budget::fast()}, lengths, s.cost))
      return "--vpp 1 fits";
  }
  if (s.shape.memory->unit == memory_unit::token)
    return "raise --memory (the longest sequence alone has " + std::to_string(longest.value) + " tokens) or lower --max-context";
  const auto fits = [&](shape on, costs::recompute r) {
    on.memory = s.shape.memory;
    const result<costs::transformer> made = costs::transformer::make(*s.model, *s.device, on, {.recompute = r});
    if (!made) return false;
    const request asked{o.planner, on, o.max_context.value_or(tokens{0}), solvers::search_budget::fast()};
    return plan_named(asked, lengths, made.value()).has_value();
  };
  for (const auto& [name, r] : {std::pair{"selective", costs::recompute::selective}, {"full", costs::recompute::full}})
    if (r > o.recompute && fits(s.shape, r)) return std::string("--recompute ") + name + " would make it fit";
  for (const auto& [name, degree] : {std::pair{"--tp ", &shape::tensor}, {"--pp ", &shape::stages}, {"--cp ", &shape::context}})
    for (int times = 2; times <= 16; times *= 2) {
      shape wider = s.shape;
      wider.*degree *= times;
      if (degree == &shape::tensor && wider.tensor > s.device->gpus_per_node) continue;
      if (fits(wider, o.recompute)) return name + std::to_string(wider.*degree) + " would make it fit";
    }
  return "no single change of --recompute, --tp, --pp or --cp makes it fit: change several, or lower --max-context";
}

/// Least step time of any plan that cuts no sequence: each crosses the pipeline and comes back as one piece.
seconds uncut_floor(const plan& p, const any_cost& any) {
  return std::visit(
      [&](const auto& cost) {
        seconds floor = p.lower_bound;
        for (std::size_t i = 0; i < p.lengths.size(); ++i) {
          shape whole = p.shape;
          whole.quantum = p.lengths[i];
          const sequence s{{static_cast<std::uint32_t>(i)}, p.lengths[i]};
          floor = std::max(floor, simulator::chain_bound(cost, whole, s) + p.reduce_time);
        }
        return floor;
      },
      any);
}

/// Plans with one planner; a baseline that does not fit is planned without the limit and marked.
row plan_row(const std::string& name, bool main_plan, const options& o, const setting& s, std::span<const tokens> lengths) {
  const progress shown("planning " + name);
  const deadline limit(o.time_limit_ms);
  request asked{name, s.shape, o.max_context.value_or(tokens{0}), o.effort, limit.token()};
  row r{name, plan_named(asked, lengths, s.cost)};
  if (!r.plan && r.plan.error().code == errc::out_of_memory && !main_plan && s.shape.memory) {
    asked.shape.memory = memory_limit{s.shape.memory->unit, std::numeric_limits<double>::infinity()};
    r.plan = plan_named(asked, lengths, s.cost);
    r.over_memory = r.plan.has_value();
    if (r.plan) r.plan.value().shape.memory.reset();
  }
  if (r.plan) {
    plan& p = r.plan.value();
    const auto begin = std::chrono::steady_clock::now();
    if (result<void> same = simulator::certify(p); !same) {
      r.plan = std::move(same).error();
      return r;
    }
    p.planning_time += seconds{std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
    p.cost = o.cost_text;
    if (s.model) p.model = s.model->name;
    if (s.device) p.gpu = s.device->name;
    p.hash = hash_of(p);
  }
  return r;
}

/// "plan.json" for the only batch, "plan-0.json", "plan-1.json" ... for several.
std::filesystem::path numbered(const std::filesystem::path& path, std::size_t batch, std::size_t batches) {
  if (batches == 1) return path;
  std::filesystem::path name = path.stem();
  name += "-" + std::to_string(batch);
  name += path.extension();
  return path.parent_path() / name;
}

/// Said before planning, which may take long; writing itself is checked again.
result<void> check_writable(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code failed;
  const char* why = path.empty()                                     ? "its name is empty"
                    : std::filesystem::is_directory(path, failed)      ? "it is a folder"
                    : !std::filesystem::is_directory(folder, failed) ? "its folder does not exist"
                    : access(folder.c_str(), W_OK) != 0              ? "its folder is not writable"
                                                                     : nullptr;
  if (!why) return slimpack::success();
  return error{errc::unwritable, path.string() + ": cannot be written: " + why};
}

result<void> write_outputs(const options& o, const std::vector<row>& rows, std::size_t batch) {
  const plan& main_plan = rows.front().plan.value();
  const auto write = [&](const std::optional<std::filesystem::path>& path, const char* what, const auto& content) -> result<void> {
    if (!path) return slimpack::success();
    const std::filesystem::path name = numbered(*path, batch, o.batches);
    if (result<void> written = io::write_file(name, content); !written) return written;
    std::cout << "wrote " << name.string() << what << "\n";
    return slimpack::success();
  };
  if (result<void> r = write(o.json, "", [&](std::ostream& out) { return io::write_plan(out, main_plan); }); !r) return r;
  if (result<void> r = write(o.trace, "  (open it at ui.perfetto.dev)", [&](std::ostream& out) { return io::write_trace(out, main_plan); }); !r) return r;
  return write(o.timeline, "  (open it in a browser)", [&](std::ostream& out) {
    std::vector<plan> shown;
    for (const row& r : rows)
      if (r.plan) shown.push_back(r.plan.value());
    return io::write_timeline(out, shown);
  });
}

int fail(const error& e) { return complain(e.detail, e.code == errc::out_of_memory ? 3 : 2); }

/// Whether every file can be written, and none is an input or written twice.
result<void> check_outputs(const options& o) {
  std::vector<std::filesystem::path> taken{o.lengths};
  if (o.model) taken.push_back(*o.model);
  if (o.gpu) taken.emplace_back(*o.gpu);
  std::error_code failed;
  for (std::filesystem::path& path : taken) path = std::filesystem::weakly_canonical(std::filesystem::absolute(path), failed);
  for (const auto& path : {o.json, o.trace, o.timeline})
    for (std::size_t b = 0; path && b < o.batches; ++b) {
      const std::filesystem::path name = numbered(*path, b, o.batches);
      if (result<void> writable = check_writable(name); !writable) return writable;
      const std::filesystem::path whole = std::filesystem::weakly_canonical(std::filesystem::absolute(name), failed);
      if (std::filesystem::exists(whole, failed) && !std::filesystem::is_regular_file(whole, failed)) continue;  // a pipe or device
      if (std::find(taken.begin(), taken.end(), whole) != taken.end())
        return error{errc::unwritable, name.string() + ": cannot be written: it is an input, or another output"};
      taken.push_back(whole);
    }
  return slimpack::success();
}

int run(const options& o) {
  if (result<void> writable = check_outputs(o); !writable) return fail(writable.error());
  result<setting> prepared = prepare(o);
  if (!prepared) return fail(prepared.error());
  const setting& s = prepared.value();
  result<batches> loaded = load(o);
  if (!loaded) return fail(loaded.error());
  for (const std::string& note : loaded.value().notes) std::cout << "note      " << note << "\n";
  for (std::size_t b = 0; b < loaded.value().lengths.size(); ++b) {
    const std::vector<tokens>& lengths = loaded.value().lengths[b];
    if (s.model && s.model->max_positions > 0)
      if (const tokens longest = *std::max_element(lengths.begin(), lengths.end()); longest.value > s.model->max_positions)
        std::cout << "note      the longest sequence has " << longest.value << " tokens, the model was made for " << s.model->max_positions << "\n";
    std::vector<row> rows{plan_row(o.planner, true, o, s, lengths)};
    if (!rows.front().plan) {
      error e = rows.front().plan.error();
      if (e.code == errc::out_of_memory) e.detail += "; " + advice(o, s, lengths);
      return fail(e);
    }
    for (const std::string& name : o.compare)
      if (std::none_of(rows.begin(), rows.end(), [&](const row& r) { return r.planner == name; }))
        rows.push_back(plan_row(name, false, o, s, lengths));
    if (o.batches > 1) std::cout << (b ? "\n" : "") << "batch " << b << "\n";
    print(std::cout, o, rows, uncut_floor(rows.front().plan.value(), s.cost));
    if (result<void> written = write_outputs(o, rows, b); !written) return fail(written.error());
  }
  return 0;
}

}  // namespace
}  // namespace cli

int main(int argc, char** argv) {
  const std::variant<cli::options, int> parsed = cli::parse(argc, argv);
  if (const int* status = std::get_if<int>(&parsed)) return *status;
  try {
    const int status = cli::run(std::get<cli::options>(parsed));
    std::cout.flush();
    return std::cout ? status : cli::complain("standard output cannot be written", 2);
  } catch (const std::exception& e) {  // memory for absurdly large shapes, above all
    return cli::complain(std::string("gave up: ") + e.what(), 2);
  }
}
