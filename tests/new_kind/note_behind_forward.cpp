// A library with one kind of instruction more, made by note_behind_forward.patch: N takes .1 ms behind each F. This
// program plans with it, writes and reads the plan, and runs it on threads.
#include <slimpack/executors/packflow.hpp>
#include <slimpack/io/plan_json.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/transports/threads.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << what << '\n';
  std::exit(1);
}

bool is_note(const slimpack::instruction& i) { return i.kind == slimpack::instruction_kind::note; }

/// 1F1B with N behind each F.
struct with_notes {
  slimpack::result<std::vector<slimpack::program>> programs(slimpack::workload work) const {
    auto found = slimpack::schedules::one_f_one_b{}.programs(work);
    if (!found) return found;
    for (slimpack::program& code : found.value()) {
      slimpack::program all;
      for (const slimpack::instruction& i : code) {
        all.push_back(i);
        if (i.kind == slimpack::instruction_kind::forward)
          all.push_back({slimpack::instruction_kind::note, i.pack, i.chunk});
      }
      code = all;
    }
    return found;
  }
};

/// Passes rows on.
struct copies {
  static constexpr slimpack::backward_cuts cuts = slimpack::backward_cuts::any;
  [[nodiscard]] slimpack::message_format format() const { return {1, slimpack::element_type::float64}; }
  [[nodiscard]] int chunks() const { return 2; }
  slimpack::result<void> forward(const slimpack::piece& p, std::span<const std::byte> in, slimpack::outgoing& out) {
    return pass_on(p, in, out);
  }
  slimpack::result<void> backward(const slimpack::piece& p, std::span<const std::byte> in, slimpack::outgoing& out) {
    return pass_on(p, in, out);
  }
  void discard(const slimpack::piece&) {}

 private:
  static slimpack::result<void> pass_on(const slimpack::piece& p, std::span<const std::byte> in,
                                        slimpack::outgoing& out) {
    const std::vector<double> none(static_cast<std::size_t>(p.slice.length.value));
    return out.put(in.empty() ? std::span<const double>(none) : slimpack::as<double>(in));
  }
};

}  // namespace

int main() {
  const slimpack::shape on{.stages = 2, .chunks = 2, .quantum = {4}};
  const std::vector<slimpack::tokens> lengths{{37}, {6}, {90}, {12}, {21}, {40}, {64}, {8}};
  const slimpack::slicers::equal_cost cut;
  const slimpack::costs::quadratic cost;
  const slimpack::solvers::chunked solver{.chunk = {32}};
  const slimpack::result<slimpack::plan> made = slimpack::planner{on, cut, cost, solver, with_notes{}}(lengths);
  expect(made.has_value(), made ? "" : made.error().detail);
  const slimpack::plan& p = made.value();
  const slimpack::replica_plan& r = p.replicas.front();
  const std::size_t packs = r.partition.forward.size();
  for (const slimpack::program& code : r.programs)
    expect(static_cast<std::size_t>(std::count_if(code.begin(), code.end(), is_note)) == 2 * packs,
           "each pack has N once on each chunk");
  const auto least = 2e-4 * static_cast<double>(packs);
  expect(p.step_time.value > least, "the step is no longer than N on a stage");
  std::cout << packs << " forward packs, a step of " << p.step_time.value * 1e3 << " ms, N " << least * 1e3
            << " ms of it on each stage\n";

  std::stringstream file;
  expect(slimpack::io::write_plan(file, p).has_value(), "the plan cannot be written");
  expect(file.str().find("\"N0.1\"") != std::string::npos, "the file does not name N");
  const slimpack::result<slimpack::plan> read = slimpack::io::read_plan(file);
  expect(read.has_value(), read ? "" : read.error().detail);
  expect(read.value().hash == p.hash, "the plan that is read is another");

  slimpack::transports::threads world{on.stages};
  const auto run = [&](int rank) {
    auto transport = world.endpoint(rank);
    copies stage;
    const slimpack::result<slimpack::step_report> done =
        slimpack::executors::packflow{}.execute(read.value(), stage, transport);
    expect(done.has_value(), done ? "" : done.error().detail);
    for (const slimpack::timed_instruction& t : done.value().timeline)
      if (is_note(t.instruction)) expect(t.end - t.begin >= slimpack::seconds{1e-4}, "N ran for less than .1 ms");
  };
  const std::jthread other(run, 1);
  run(0);
}
