#ifndef SLIMPACK_TESTING_NAIVE_HPP
#define SLIMPACK_TESTING_NAIVE_HPP

/// The rules that plans obey in slow and obvious code, told of slices and not of packs' turns: what the laws hold
/// the library's quick code against. Shares nothing with the simulator but the vocabulary of core/.
///
///   naive/slices.hpp      whether slices run through their sequences
///   naive/joint_run.hpp   whether and when the programs of replicas end
///   naive/memory.hpp      what a stage holds meanwhile
#include <slimpack/testing/naive/joint_run.hpp>
#include <slimpack/testing/naive/memory.hpp>
#include <slimpack/testing/naive/slices.hpp>

#endif
