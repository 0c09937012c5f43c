// What real trainers need of the runtime (R1 to R20), and which test shows it. Adoption.* are here.
//
//   R1   a state per piece, move-only, back once   executors: Packflow.GivesEachStateBackOnce; PackflowFailure
//   R2   backward by whole forward pieces          core: CommonRefinement.*; compile_fail.backward_cuts; executors:
//                                                  Packflow.BackwardPiecesAreForwardPiecesWhereTheComputeCannotCutThem
//   R3   by piece or by pack, one message a pack   Adoption.SendsOneMessageAPackHoweverItIsCalled; executors:
//                                                  PackflowForms.*; example.adopt_graph_packs
//   R4   what a piece says; two callbacks          executors: Packflow.WeighsPiecesByTheirValidTokens,
//                                                  TellsEachSequenceOnceWhenItsForwardAndItsBackwardAreDone
//   R5   a backward or a discard; abort_step       executors: PackflowFailure.StopsEveryRankWithOneMessage...
//   R6   a gradient that is missing or too small   executors: PackflowFailure, no_input_gradient and short_gradient
//   R7   a wrong width                             executors: PackflowDisagreement.RanksWithDifferent...DoNotBegin
//   R8   the trainer's own tensors                 executors: Packflow.KeepsMessagesInTheComputesOwnTensors...;
//                                                  example.adopt_autograd (as_span)
//   R9   ranks and messages of the trainer's own   Adoption.ALinkTakesUnderThirtyLines, InitialisesNoRanks;
//                                                  example.adopt; transports: BlockingTransport.*
//   R10  one thread                                Adoption.MakesEveryCallOnTheCallersThread
//   R11  reduction inside backward                 Adoption.LeavesGradientsAloneWhereTheComputeReducesItself;
//                                                  executors: Packflow.ReplicasWithoutWorkRunOnePieceOfNoWeight
//   R12  one node for dX and dW                    compile_fail.computes_for
//   R13  dense attention, bytes measured           simulator: KeptMemory.*, MeasuredMemory.*
//   R14  nothing throws                            headers.no_exceptions; executors: PackflowFailure, forward_fails
//   R15  macros of a logging library               headers.logging_before, logging_after, other_logging_before, macros
//   R16  ways to build; no Eigen                   consumer.*; headers.reach
//   R17  layers that overwrite gradients           testing: StageComputeLawsReport.*
//   R18  buffers sized once; one source file       Adoption.HasAsManyPacksInFlightAsItSays; example.adopt_fixed;
//                                                  executors: Packflow.CountsPacksInFlight; consumer.*
//   R19  an arena per sequence                     Adoption.TellsASequencesLengthWithItsFirstSlice; example.adopt_arena
//   R20  the optimizer stays outside               Adoption.GivesEveryRankTheSameLossBeforeTheOptimizer;
//                                                  executors: PackflowFailure.*
//
// Adoption.TakesUnderAHundredLines counts what each kind of trainer had to write.
#include "../executors/diary.hpp"
#include "../executors/everywhere.hpp"
#include "../executors/prefix_model.hpp"

#include <slimpack/executors/packflow.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/transports/blocking.hpp>
#include <slimpack/transports/threads.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::adoption_test {
namespace {

const std::filesystem::path examples = std::filesystem::path(SLIMPACK_TEST_DATA).parent_path();

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Lines from the one that begins with `first` to the next that begins with `last`, both counted; 0 without either.
std::ptrdiff_t lines_between(const std::vector<std::string>& lines, const std::string& first, const std::string& last) {
  const auto has = [](const std::string& with) {
    return [with](const std::string& line) {
      const std::size_t at = line.find_first_not_of(' ');
      return at != std::string::npos && line.compare(at, with.size(), with) == 0;
    };
  };
  const auto from = std::find_if(lines.begin(), lines.end(), has(first));
  const auto to = std::find_if(from, lines.end(), has(last));
  return to == lines.end() ? 0 : to - from + 1;
}

TEST(Adoption, TakesUnderAHundredLines) {
  for (const char* name : {"adopt_autograd.cpp", "adopt_graph_packs.cpp", "adopt_arena.cpp", "adopt_fixed.cpp",
                           "adopt_shared.cpp", "adopt_tree.cpp", "adopt_tree_autograd.cpp"}) {
    const std::ptrdiff_t adopts = lines_between(lines_of(examples / name), "// What adopts slimpack", "// End of what");
    EXPECT_GT(adopts, 20) << name;
    EXPECT_LT(adopts, 100) << name;
  }
  EXPECT_LT(lines_of(examples / "adopt_autograd.cpp").size(), 160u);
  EXPECT_LT(lines_of(examples / "adopt_arena.cpp").size(), 150u);
  EXPECT_LE(lines_of(examples / "adopt_tree.cpp").size(), 150u);
  const std::vector<std::string> all = lines_of(examples / "adopt.cpp");
  EXPECT_GT(all.size(), 20u);
  EXPECT_LT(all.size(), 100u);
}

TEST(Adoption, ALinkTakesUnderThirtyLines) {
  const std::ptrdiff_t link = lines_between(lines_of(examples / "adopt.cpp"), "struct socket_link", "};");
  EXPECT_GT(link, 5);
  EXPECT_LT(link, 30);
}

TEST(Adoption, InitialisesNoRanks) {
  int headers = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(examples.parent_path() / "include")) {
    if (entry.path().extension() != ".hpp") continue;
    ++headers;
    for (const std::string& line : lines_of(entry.path()))
      for (const char* call : {"MPI_Init(", "MPI_Init_thread(", "MPI_Finalize("})
        EXPECT_EQ(line.find(call), std::string::npos) << entry.path() << ": " << line;
  }
  EXPECT_GT(headers, 50);
}

/// Notes the thread of everything that it is asked.
class on_one_thread : public prefix_by_piece {
 public:
  using prefix_by_piece::prefix_by_piece;
  using state = prefix_by_piece::state;
  mutable std::map<std::string, std::set<std::thread::id>> heard;

  [[nodiscard]] message_format format() const { return note("format"), prefix_by_piece::format(); }
  [[nodiscard]] tokens valid_tokens(const slice& s) const { return note("valid_tokens"), s.length; }
  std::vector<double> make_tensor(tokens n) {
    return note("make_tensor"), std::vector<double>(static_cast<std::size_t>(n.value * tests::width));
  }
  void begin_step(const step_outline&) { note("begin_step"); }
  result<state> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    return note("forward"), prefix_by_piece::forward(p, in, out);
  }
  result<void> backward(const piece& p, state s, std::span<const std::byte> in, outgoing& out) {
    note("backward");
    if (fails && p.is_first()) return error{errc::compute_failed, "as asked"};
    return prefix_by_piece::backward(p, std::move(s), in, out);
  }
  void sequence_forwarded(sequence_id) { note("sequence_forwarded"); }
  void sequence_done(sequence_id) { note("sequence_done"); }
  template <class Group>
  result<void> reduce(Group& group) {
    return note("reduce"), prefix_by_piece::reduce(group);
  }
  [[nodiscard]] double loss() const { return note("loss"), prefix_by_piece::loss(); }
  [[nodiscard]] bytes held() const { return note("held"), bytes{}; }
  void discard(const piece&, const state&) { note("discard"); }
  void abort_step() { note("abort_step"); }
  bool fails{};

 private:
  void note(const char* what) const { heard[what].insert(std::this_thread::get_id()); }
};

/// A socket to the one other rank.
struct socket_link {
  int socket;
  bool send(int /*peer*/, std::span<const std::byte> bytes) {
    return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  bool receive(int /*peer*/, std::span<std::byte> bytes) {
    return ::recv(socket, bytes.data(), bytes.size(), MSG_WAITALL) == static_cast<ssize_t>(bytes.size());
  }
};

// A transport with threads of its own is where a callback could come from elsewhere.
TEST(Adoption, MakesEveryCallOnTheCallersThread) {
  const plan p = tests::small_plan({.stages = 2, .quantum = {4}});
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  std::vector<on_one_thread> stages = tests::stages_of<on_one_thread>(p);
  std::array<std::thread::id, 2> callers;
  tests::on_every_rank(2, [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    callers[at] = std::this_thread::get_id();
    transports::blocking transport{socket_link{pair[rank]}, rank, 2, {.time_out = {20}}};
    EXPECT_TRUE(executors::packflow{}.execute(p, stages[at], transport));
    stages[at].fails = rank == 1;
    EXPECT_FALSE(executors::packflow{}.execute(p, stages[at], transport));
  });
  for (const int socket : pair) ::close(socket);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    for (const char* what : {"format", "valid_tokens", "make_tensor", "begin_step", "forward", "backward",
                             "sequence_forwarded", "sequence_done", "reduce", "loss", "held", "discard", "abort_step"})
      EXPECT_EQ(stages[rank].heard[what], std::set<std::thread::id>{callers[rank]}) << what << " on rank " << rank;
  }
}

/// Leaves gradients as backward made them.
class reduces_itself : public prefix_by_piece {
 public:
  using prefix_by_piece::prefix_by_piece;
  template <class Group>
  result<void> reduce(Group& /*group*/) {
    return success();
  }
};
static_assert(stage_compute<reduces_itself>);

TEST(Adoption, LeavesGradientsAloneWhereTheComputeReducesItself) {
  const plan p = tests::small_plan({.stages = 2, .replicas = 3, .quantum = {4}});
  std::vector<reduces_itself> stages = tests::stages_of<reduces_itself>(p);
  for (const result<step_report>& r : tests::run_everywhere(p, stages)) ASSERT_TRUE(r) << r.error().detail;
  const prefix_model::gradients all = prefix_model::whole(p.lengths, 2);
  for (std::size_t stage = 0; stage < 2; ++stage) {
    double sum = 0;
    int whole = 0;
    for (std::size_t replica = 0; replica < 3; ++replica) {
      sum += stages[replica * 2 + stage].gradient()[0];
      whole += stages[replica * 2 + stage].gradient()[0] == all.weight[stage];
    }
    EXPECT_EQ(sum, all.weight[stage]);
    EXPECT_EQ(whole, 0);
  }
}

/// Counts what is sent to other stages.
struct counting_port {
  using handle = transports::threads::handle;
  transports::threads::port inner;
  int sent{};

  [[nodiscard]] int rank() const { return inner.rank(); }
  [[nodiscard]] int size() const { return inner.size(); }
  result<handle> send(int peer, int channel, std::span<const std::byte> data) {
    sent += channel != 0;  // the collectives'
    return inner.send(peer, channel, data);
  }
  result<handle> receive(int peer, int channel, std::span<std::byte> data) {
    return inner.receive(peer, channel, data);
  }
  result<bool> test(handle& h) { return inner.test(h); }
  result<void> wait(handle& h) { return inner.wait(h); }
  void abort(std::string_view reason) { inner.abort(reason); }
};

template <class Compute>
std::vector<int> messages_of(const plan& p) {
  std::vector<Compute> stages = tests::stages_of<Compute>(p);
  transports::threads world{tests::ranks_of(p), {.time_out = {20}}};
  std::vector<int> sent(stages.size());
  tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    counting_port port{world.endpoint(rank)};
    EXPECT_TRUE(executors::packflow{}.execute(p, stages[at], port));
    sent[at] = port.sent;
  });
  return sent;
}

TEST(Adoption, SendsOneMessageAPackHoweverItIsCalled) {
  const plan p = tests::small_plan();
  const partition& packs = p.replicas[0].partition;
  const auto forward = static_cast<int>(packs.forward.size());
  const auto backward = static_cast<int>(packs.backward.size());
  EXPECT_GT(packs.forward.slices().size(), packs.forward.size()) << "packs of several pieces show the difference";
  const std::vector<int> expected{forward, forward + backward, backward};  // three stages
  EXPECT_EQ(messages_of<prefix_by_piece>(p), expected);
  EXPECT_EQ(messages_of<prefix_by_pack>(p), expected);
}

/// Counts forward packs until the last of their tokens has run backward.
class slots : public prefix_in_arena<backward_cuts::forward_cuts> {
 public:
  using prefix_in_arena::prefix_in_arena;
  std::size_t told{}, most{};

  void begin_step(const step_outline& o) { told = o.packs_in_flight; }
  result<void> forward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
    tokens size{};
    for (const piece& one : pack) slot_[key(one)] = packs_, size += one.slice.length;
    live_[packs_++] = size;
    most = std::max(most, live_.size());
    return each(pack, in, out, [&](const piece& one, std::span<const std::byte> i, outgoing& o) {
      return prefix_in_arena::forward(one, i, o);
    });
  }
  result<void> backward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
    for (const piece& one : pack) {
      const std::size_t slot = slot_.at(key(one));
      if ((live_[slot] -= one.slice.length) == tokens{}) live_.erase(slot);
    }
    return each(pack, in, out, [&](const piece& one, std::span<const std::byte> i, outgoing& o) {
      return prefix_in_arena::backward(one, i, o);
    });
  }

 private:
  static std::pair<sequence_id, tokens> key(const piece& p) { return {p.slice.sequence, p.slice.begin}; }

  template <class Call>
  result<void> each(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out, Call call) {
    std::span<std::byte> to = out.bytes();
    for (const piece& one : pack) {
      const std::size_t size = static_cast<std::size_t>(one.slice.length.value) * format().bytes_per_token();
      outgoing part = to.empty() ? outgoing{} : outgoing{to.first(size)};
      if (result<void> done = call(one, in.empty() ? in : in.first(size), part); !done) return done;
      if (!in.empty()) in = in.subspan(size);
      if (!to.empty()) to = to.subspan(size);
    }
    return slimpack::success();
  }

  std::map<std::pair<sequence_id, tokens>, std::size_t> slot_;
  std::map<std::size_t, tokens> live_;
  std::size_t packs_{};
};

TEST(Adoption, HasAsManyPacksInFlightAsItSays) {
  int several = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    testing::generator random(seed);
    const std::vector<tokens> lengths = tests::awkward_lengths(random, {4}, 14);
    for (const tests::named_planner& planner : tests::every_planner()) {
      const plan p = planner.make({.stages = 3, .quantum = {4}}, lengths).value();
      std::vector<slots> stages = tests::stages_of<slots>(p);
      for (const result<step_report>& r : tests::run_everywhere(p, stages)) ASSERT_TRUE(r) << r.error().detail;
      for (const slots& stage : stages) {
        EXPECT_EQ(stage.most, stage.told) << planner.name << ", seed " << seed;
        several += stage.told > 1;
      }
    }
  }
  EXPECT_GT(several, 0);
}

TEST(Adoption, TellsASequencesLengthWithItsFirstSlice) {
  const plan p = tests::small_plan();
  std::vector<tests::diary> stages = tests::stages_of<tests::diary>(p);
  for (const result<step_report>& r : tests::run_everywhere(p, stages)) ASSERT_TRUE(r);
  int cut = 0;
  for (const tests::diary& stage : stages) {
    std::map<sequence_id, tokens> forwarded;
    for (const tests::diary::entry& e : stage.entries) {
      if (e.direction != pass::forward) continue;
      EXPECT_EQ(e.what.slice.begin, forwarded[e.what.slice.sequence]);  // what an arena must have run before
      EXPECT_EQ(e.what.sequence_length, p.lengths[e.what.slice.sequence.value]);
      forwarded[e.what.slice.sequence] = e.what.slice.end();
      cut += !e.what.is_last();
    }
  }
  EXPECT_GT(cut, 0);
}

TEST(Adoption, GivesEveryRankTheSameLossBeforeTheOptimizer) {
  const plan p = tests::small_plan({.stages = 2, .replicas = 2, .quantum = {4}});
  std::vector<prefix_by_piece> stages = tests::stages_of<prefix_by_piece>(p);
  const prefix_model::gradients expected = prefix_model::whole(p.lengths, 2);
  std::int64_t sum = 0;
  for (const tokens t : p.lengths) sum += t.value;
  const auto reports = tests::run_everywhere(p, stages);
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    const step_report& report = reports[rank].value();
    EXPECT_EQ(report.loss_sum, expected.loss);
    EXPECT_EQ(report.valid_tokens.value, sum);
    EXPECT_EQ(report.processed.value, sum);
    EXPECT_EQ(stages[rank].gradient()[0], expected.weight[rank % 2]);  // not applied, not zeroed
  }
}

}  // namespace
}  // namespace slimpack::adoption_test
