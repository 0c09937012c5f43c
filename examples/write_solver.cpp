// A solver of one's own: every sequence is a pack, dealt to the replicas in turn. Checked by the laws, beside
// one with a slip, then compared.
#include <slimpack/planner.hpp>
#include <slimpack/testing/solver_laws.hpp>

#include <iostream>

struct one_by_one {
  template <class Slicer, class Cost, class Schedule>
  slimpack::result<slimpack::solution> solve(const slimpack::problem& batch, const Slicer&, const Cost& cost,
                                             const Schedule& schedule) const {
    slimpack::solution found;
    found.replicas.resize(static_cast<std::size_t>(batch.shape.replicas));
    for (std::size_t i = 0; i < batch.lengths.size(); ++i) {
      const slimpack::sequence_id id{static_cast<std::uint32_t>(i)};
      slimpack::replica_solution& replica = found.replicas[i % found.replicas.size()];
      replica.sequences.push_back(id);
      for (slimpack::micropacks* packs : {&replica.partition.forward, &replica.partition.backward}) {
        packs->push({id, {0}, batch.lengths[i]});
        packs->close();
      }
    }
    slimpack::result<std::vector<slimpack::memory_rates>> rates = slimpack::rates_of(cost, batch.shape);
    if (!rates) return std::move(rates).error();
    for (slimpack::replica_solution& replica : found.replicas) {
      const slimpack::workload work = slimpack::price(replica.partition, cost, batch.shape, rates.value());
      slimpack::result<std::vector<slimpack::program>> programs = schedule.programs(work);
      if (!programs) return std::move(programs).error();
      replica.programs = std::move(programs).value();
    }
    return found;
  }
};

// The same with a slip: it leaves the last sequence of a batch out.
struct forgetful : one_by_one {
  template <class Slicer, class Cost, class Schedule>
  slimpack::result<slimpack::solution> solve(slimpack::problem batch, const Slicer& slicer, const Cost& cost,
                                             const Schedule& schedule) const {
    if (batch.lengths.size() > 1) batch.lengths = batch.lengths.first(batch.lengths.size() - 1);
    return one_by_one::solve(batch, slicer, cost, schedule);
  }
};

int main() {
  const slimpack::shape shape{.stages = 4, .replicas = 2};
  const slimpack::slicers::equal_cost slicer;
  const slimpack::costs::quadratic cost;
  // Both reports are shown here. In a test, assert one, since it converts to bool: EXPECT_TRUE(report) << report.
  std::cout << slimpack::testing::solver_laws(one_by_one{}, slicer, cost, slimpack::schedules::list{}, shape) << "\n";
  std::cout << slimpack::testing::solver_laws(forgetful{}, slicer, cost, slimpack::schedules::list{}, shape) << "\n";

  const std::vector<slimpack::tokens> lengths{{65536}, {30000}, {3000}, {2000}, {20000}, {900}, {700}, {11000}};
  const slimpack::plan mine = slimpack::planner{shape, slicer, cost, one_by_one{}}(lengths).value();
  const slimpack::plan best = slimpack::planner{shape, slicer, cost}(lengths).value();
  std::cout << "two_phase is " << static_cast<int>(100 * (mine.step_time / best.step_time)) / 100.0 << " x as fast\n";
}
