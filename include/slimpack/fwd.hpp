#ifndef SLIMPACK_FWD_HPP
#define SLIMPACK_FWD_HPP

/// Names without definitions or constraints, for headers that only mention them.
namespace slimpack {

struct slice;
struct sequence;
struct shape;
struct problem;
struct partition;
struct workload;
struct plan;
struct replica_plan;
struct rank_plan;
struct rank_time;
struct merge;
struct loan;
struct piece;
struct step_outline;
struct step_report;
struct edge_value;
class edge_values;
struct message_format;
struct vocabulary_format;
struct error;
class micropacks;
class outgoing;
class plan_error;
template <class Plan>
class basic_plan_ticket;
class deadline;
struct shape_search;

namespace slicers {
struct equal_cost;
struct uniform;
struct whole;
}  // namespace slicers

namespace costs {
struct quadratic;
class network;
struct memory;
class transformer;
class profiled;
class time_table;
class kernel_times;
}  // namespace costs

namespace divide {
struct searched;
struct estimated;
}  // namespace divide

namespace solvers {
struct two_phase;
struct megatron;
struct dp_balanced;
struct karmarkar_karp;
struct chunked;
struct slimpipe;
struct context_parallel;
template <class Solver>
struct refined;
template <class Inner>
struct milp;
struct milp_limits;
struct milp_answer;
struct milp_assignment;
}  // namespace solvers

namespace schedules {
struct one_f_one_b;
struct list;
struct zero_bubble;
}  // namespace schedules

namespace shapes {
struct layout;
struct layer_times;
struct space;
struct candidate;
struct ranking;
}  // namespace shapes

namespace executors {
struct packflow;
template <class Transport>
class replica_group;
}  // namespace executors

namespace transports {
class threads;
class mpi;
}  // namespace transports

namespace simulators {
struct boost_graph;
class changing_order;
struct window_change;
struct sweep;
class task_graph;
struct timeline;
}  // namespace simulators

}  // namespace slimpack

#endif
