#ifndef SLIMPACK_SRC_HPP
#define SLIMPACK_SRC_HPP

/// For separate compilation (core/detail/separate_compilation.hpp): to be included in exactly one source file of a
/// program whose files all define SLIMPACK_SEPARATE_COMPILATION. It is not part of slimpack.hpp.
#ifndef SLIMPACK_SEPARATE_COMPILATION
#error "slimpack/src.hpp is for programs that define SLIMPACK_SEPARATE_COMPILATION in all files (slimpack::compiled)"
#endif

#include <slimpack/core/ensemble/impl/ensembles.ipp>
#include <slimpack/core/impl/plan_hash.ipp>
#include <slimpack/core/lending/impl/loans_of.ipp>
#include <slimpack/core/soundness/impl/completed_times.ipp>
#include <slimpack/core/soundness/impl/is_sound.ipp>
#include <slimpack/core/soundness/impl/sound_packs.ipp>
#include <slimpack/core/soundness/impl/sound_programs.ipp>
#include <slimpack/costs/impl/profiled.ipp>
#include <slimpack/costs/impl/profiled_of.ipp>
#include <slimpack/costs/impl/transformer.ipp>
#include <slimpack/executors/impl/checked_transport.ipp>
#include <slimpack/executors/impl/fitted_script.ipp>
#include <slimpack/executors/impl/greeting.ipp>
#include <slimpack/executors/impl/messages.ipp>
#include <slimpack/executors/impl/path_facts.ipp>
#include <slimpack/executors/impl/running_sums.ipp>
#include <slimpack/executors/impl/shared/row_rehearsal.ipp>
#include <slimpack/executors/impl/shared/row_transfers.ipp>
#include <slimpack/executors/impl/shared/running_exchange.ipp>
#include <slimpack/executors/impl/shared/shared_sequences.ipp>
#include <slimpack/executors/impl/stage_script.ipp>
#include <slimpack/executors/impl/stage_step.ipp>
#include <slimpack/executors/impl/transfer_script.ipp>
#include <slimpack/executors/lending/impl/loan_transfers.ipp>
#include <slimpack/io/impl/text_lengths.ipp>
#include <slimpack/pricing/impl/longest_check.ipp>
#include <slimpack/pricing/impl/price.ipp>
#include <slimpack/pricing/impl/time_faults.ipp>
#include <slimpack/profiling/impl/fit.ipp>
#include <slimpack/profiling/impl/memory_trials.ipp>
#include <slimpack/schedules/impl/list.ipp>
#include <slimpack/schedules/impl/spread_vocabulary.ipp>
#include <slimpack/simulators/graph/impl/joint.ipp>
#include <slimpack/simulators/graph/impl/task_graph.ipp>
#ifdef __cpp_exceptions
#include <slimpack/simulators/impl/boost_graph.ipp>
#endif
#include <slimpack/solvers/assembly/impl/checks.ipp>
#include <slimpack/solvers/assembly/impl/laws_check.ipp>
#include <slimpack/solvers/assembly/impl/plan_assembly.ipp>
#include <slimpack/solvers/impl/two_phase.ipp>
#include <slimpack/transports/impl/blocking_link.ipp>
#include <slimpack/transports/impl/mailbox.ipp>
#include <slimpack/transports/impl/rendezvous.ipp>
#include <slimpack/transports/impl/threads.ipp>

#endif
