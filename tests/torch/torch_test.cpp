// The stages of slimpack/adapters/torch.hpp: laws of stage computes, what they refuse, and what they count.
#include <slimpack/adapters/torch_laws.hpp>
#include <slimpack/core/rank_names.hpp>
#include <slimpack/executors/packflow.hpp>
#include <slimpack/planner_for.hpp>
#include <slimpack/profiling/driver.hpp>
#include <slimpack/testing/stage_compute_laws.hpp>
#include <slimpack/transports/threads.hpp>

#include "../../examples/adopt_torch/gpt.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack {
namespace {

using torch::Tensor;

/// The example's chunk, whose texts are those of documents, known by their keys.
struct keyed {
  static constexpr bool shares_rows = true, shares_prefixes = true;
  struct texts {
    std::vector<std::vector<std::int64_t>> own;    // words of each sequence, without its prefix
    std::map<sequence_id, std::int64_t> begins{};  // of each on its path
  };
  std::shared_ptr<gpt::gpt_part> part;
  std::shared_ptr<texts> known = std::make_shared<texts>();

  void load(libtorch::parts_of_sequences batch) const {
    *known = {};
    for (const std::vector<testing::document>& parts : batch) {
      std::vector<std::int64_t>& all = known->own.emplace_back();
      for (const testing::document& d : parts) {
        const auto key = static_cast<std::int64_t>(d.key % 1000);
        for (std::int64_t t = 0; t < d.length.value; ++t) all.push_back((t * t + t * (key % 11) + key) % gpt::words);
      }
      all.push_back(3);  // what comes behind
    }
  }
  [[nodiscard]] Tensor text(const slice& s) const {
    const std::vector<std::int64_t>& own = known->own.at(s.sequence.value);
    Tensor made = torch::empty({s.length.value}, torch::kLong);
    for (std::int64_t i = 0; i < s.length.value; ++i)
      made[i] = own.at(static_cast<std::size_t>(s.begin.value + i - known->begins[s.sequence]));
    return made;
  }
  [[nodiscard]] std::vector<Tensor> parameters() const { return part->parameters(); }
  Tensor forward(libtorch::slice_call& call, Tensor x) {
    for (const piece& p : call.pieces()) {
      known->begins[p.slice.sequence] = p.sequence_begin.value;
      for (const target_run& run : p.edges)
        if (run.sequence != p.slice.sequence) known->begins[run.sequence] = p.sequence_end().value;
    }
    if (!x.defined()) x = part->embedding(call.of_pieces([this](const slice& s) { return text(s); }));
    return part->forward(x, call.positions(), &call);
  }
  Tensor loss(libtorch::slice_call& call, const Tensor& y) {
    return call.loss(part->logits(y), [this](const slice& s) { return text(s); });
  }
};

libtorch::sizes sizes_of(int stages, element_type element) {
  const gpt::sizes g;
  return {{g.hidden, element}, g.depth / stages, gpt::key_heads, g.hidden / gpt::heads};
}

std::shared_ptr<gpt::gpt_part> part_of(int stage, int stages, element_type element = element_type::float64) {
  return std::make_shared<gpt::gpt_part>(stage, stages, gpt::sizes{.type = libtorch::scalar_of(element)});
}

template <class Stage>
auto model_of(element_type element = element_type::float64) {
  at::set_num_threads(1);
  return libtorch::laws_model(
      [element](int stage, int stages) {
        return std::make_unique<Stage>(sizes_of(stages, element), std::vector{keyed{part_of(stage, stages, element)}});
      },
      [](Stage& stage, libtorch::parts_of_sequences batch) { stage.chunk_of(0).load(batch); });
}

TEST(Torch, StagesKeepTheLawsOfStageComputes) {
  const testing::report found = testing::stage_compute_laws(
      model_of<libtorch::stage<keyed>>(), {.seed = 511, .cases = 2, .longest = {40}, .evaluates = true});
  EXPECT_TRUE(found) << found;
}

TEST(Torch, StagesOfPacksKeepTheLawsOfStageComputes) {
  const testing::report found = testing::stage_compute_laws(
      model_of<libtorch::pack_stage<keyed>>(), {.seed = 512, .cases = 2, .longest = {40}, .evaluates = true});
  EXPECT_TRUE(found) << found;
}

// Gradients of shared rows and of replicas are added up in float32, and rounded once.
TEST(Torch, StagesOfHalfPrecisionKeepTheLaws) {
  const testing::report found =
      testing::stage_compute_laws(model_of<libtorch::stage<keyed>>(element_type::bfloat16),
                                  {.seed = 513, .cases = 1, .longest = {40}, .evaluates = true});
  EXPECT_TRUE(found) << found;
}

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const plan_error& e) {
    EXPECT_EQ(e.code(), errc::wrong_message);
    return e.what();
  }
  return "nothing is refused";
}

TEST(Torch, TensorsThatAreNoMessagesAreRefused) {
  const Tensor rows = torch::zeros({3, 8}, torch::kFloat);
  EXPECT_EQ(as_span(rows).size(), 96u);
  const auto as_message = [](const Tensor& t) { return refusal_of([&] { (void)as_span(t); }); };
  EXPECT_EQ(as_message({}), "an undefined tensor was given as a message");
  EXPECT_EQ(as_message(rows.t()),
            "a tensor (8, 3) of Float on cpu was given as a message: its elements do not lie side by side, so call "
            "contiguous() first");
  EXPECT_EQ(as_message(torch::zeros({3, 8}, torch::requires_grad())),
            "a tensor (3, 8) of Float on cpu was given as a message: it needs gradients, so detach() it first");
  EXPECT_EQ(as_message(torch::zeros({3, 8}, torch::kMeta)),
            "a tensor (3, 8) of Float on meta was given as a message in memory of the host: copy it there, or use "
            "slimpack::libtorch::put");
  EXPECT_EQ(as_message(torch::zeros({3, 8}, torch::kLong)), "no message has elements of the type Long");

  std::array<std::byte, 96> memory{};
  const message_format format{8, element_type::float32};
  const auto put = [&](const Tensor& t) {
    outgoing out(memory);
    const result<void> done = libtorch::put(t, format, out);
    return done ? std::string("it is put") : done.error().detail;
  };
  EXPECT_EQ(put(rows), "it is put");
  EXPECT_EQ(put(torch::arange(24, torch::kFloat).view({8, 3}).t()), "it is put");
  EXPECT_EQ(as<float>(memory)[1], 3);  // row by row, although the tensor's elements do not lie so
  EXPECT_EQ(put(rows.to(torch::kDouble)), "a tensor (3, 8) of Double on cpu was given as a message of float32");
  EXPECT_EQ(put(rows.to(torch::kMeta)), "a tensor (3, 8) of Float on meta was given as a message in memory of cpu");
  EXPECT_EQ(put(rows.t()), "a tensor (8, 3) of Float on cpu was given as a message, which has the shape (tokens, 8)");
  EXPECT_EQ(put(torch::zeros({2, 8})), "a tensor (2, 8) of Float on cpu was given as a message of 3 tokens");
  EXPECT_EQ(put(torch::zeros({3, 8}, torch::requires_grad())),
            "a tensor (3, 8) of Float on cpu that needs gradients was given as a message: detach() it");
  outgoing nobody;
  EXPECT_TRUE(libtorch::put({}, format, nobody));  // at the end of the pipeline
}

/// A chunk that does something wrong.
struct wrong : keyed {
  std::function<Tensor(libtorch::slice_call&, Tensor)> instead;
  Tensor forward(libtorch::slice_call& call, Tensor x) {
    return instead ? instead(call, std::move(x)) : keyed::forward(call, std::move(x));
  }
};

/// The error of a step whose first stage is wrong.
std::string error_of(int replicas, std::function<Tensor(libtorch::slice_call&, Tensor)> instead) {
  using wrong_stage = libtorch::stage<wrong>;
  const plan p =
      planner_for<wrong_stage>({.stages = 2, .replicas = replicas, .quantum = {4}})(std::vector<tokens>{{40}, {3}})
          .value();
  const int ranks = 2 * replicas;
  transports::threads world(ranks);
  std::vector<std::future<std::string>> errors;
  for (int rank = 0; rank < ranks; ++rank)
    errors.push_back(std::async(std::launch::async, [&, rank]() -> std::string {
      const element_type numbers = element_type::float64;
      wrong own{{part_of(rank % 2, 2)}, rank == 0 ? instead : nullptr};
      const std::vector<std::vector<testing::document>> batch{{{tokens{40}, 1}}, {{tokens{3}, 2}}};
      own.load(batch);
      wrong_stage stage(sizes_of(2, numbers), {own});
      auto port = world.endpoint(rank);
      try {
        const result<step_report> step = executors::packflow{}.execute(p, stage, port);
        EXPECT_TRUE(step || stage.held() == bytes{});
        return step ? "no error" : step.error().detail;
      } catch (const std::exception& e) {
        return std::string("thrown: ") + e.what();
      }
    }));
  std::vector<std::string> all;
  for (auto& e : errors) all.push_back(e.get());
  return all[1];  // another rank hears of it in a line
}

TEST(Torch, WhatAChunkDoesWrongIsNamedWithItsPackAndSlice) {
  at::set_num_threads(1);
  using libtorch::slice_call;
  const auto zeros = [](slice_call& call, torch::TensorOptions options) {
    return torch::zeros({call.tokens(), 32}, options);
  };
  const std::string where = "rank 0 (replica 0, stage 0), F0: sequence ";
  EXPECT_EQ(error_of(1, [&](slice_call& call, const Tensor&) { return zeros(call, torch::kFloat); }),
            where + "1 [0, 3): a tensor (3, 32) of Float on cpu was given as a message of float64");
  EXPECT_EQ(error_of(1, [&](slice_call&, const Tensor&) { return Tensor(); }),
            where + "1 [0, 3): an undefined tensor was given as a message");
  const auto attended = [](std::int64_t more) {
    return [more](slice_call& call, const Tensor&) {
      const Tensor k = torch::zeros({call.tokens() + more, 2, 8}, torch::kDouble);
      return call.attend(0, k, k, k, gpt::causal);
    };
  };
  EXPECT_EQ(error_of(1, attended(1)),
            where + "1 [0, 3): a tensor (4, 2, 8) of Double on cpu was given to attend, which takes (3, heads, size)");
  EXPECT_EQ(error_of(2, attended(0)),
            where +
                "0 [0, 4): layer 0 attends to a sequence that replicas share, and has not begun with x = "
                "call.enter(0, x)");
}

TEST(Torch, BytesAreCounted) {
  libtorch::byte_counter counter;
  Tensor a = torch::zeros({1000}, torch::kFloat);
  EXPECT_EQ(counter.read().now, bytes{4000});
  { const Tensor b = torch::zeros({500}, torch::kDouble); }
  const profiling::memory_reading first = counter.gauge()();
  EXPECT_EQ(first.now, bytes{4000});
  EXPECT_EQ(first.peak, bytes{8000});
  EXPECT_EQ(counter.read().peak, bytes{4000});
  a.reset();
  EXPECT_EQ(counter.read().now, bytes{0});
}

// What a stage takes by the driver's trials is what its steps take.
TEST(Torch, MemoryIsMeasuredByCountedBytes) {
  at::set_num_threads(1);
  using keyed_stage = libtorch::stage<keyed>;
  libtorch::byte_counter counter;
  keyed own{part_of(0, 1)};
  for (Tensor& w : own.parameters()) w.mutable_grad() = torch::zeros_like(w);
  keyed_stage stage(sizes_of(1, element_type::float64), {own});
  transports::threads world(1);
  auto port = world.endpoint(0);
  shape on{.stages = 1, .quantum = {8}};
  profiling::driver drive{stage, on, tokens{64}, port};
  drive.budget = seconds{5};
  const auto load = [&](std::span<const sequence> all) {
    std::vector<std::vector<testing::document>> batch;
    for (const sequence& s : all) {
      batch.resize(std::max<std::size_t>(batch.size(), s.id.value + 1));
      batch[s.id.value] = {{s.length, s.id.value + 1}};
    }
    own.load(batch);
  };
  drive.prepare = load;
  profiling::memory_trials memory{counter.gauge()};
  drive.memory = &memory;
  const profiling::stage_profile profile = drive.measure().value();
  const profiling::memory_fit fit = memory.fit().value();
  const auto cost = profile.cost({.memory = {fit.rates}, .pair_bytes = {fit.pair_bytes}}).value();
  const std::vector<tokens> lengths{{64}, {64}, {56}, {24}, {8}, {40}};
  const plan p = planner_for<keyed_stage>(on, {}, cost)(lengths).value();
  std::vector<std::vector<testing::document>> batch;
  for (const tokens t : lengths) batch.push_back({{t, batch.size() + 1}});
  own.load(batch);
  (void)counter.read();
  (void)executors::packflow{}.execute(p, stage, port).value();
  const double measured = counter.read().peak.value, planned = p.replicas[0].peak_memory[0];
  std::printf("a token keeps %.0f bytes, calls are within %.2f of it; a step needs %.2f MB, as planned %.2f\n",
              fit.rates.live_token, fit.worst, measured / 1e6, planned / 1e6);
  EXPECT_NEAR(measured, planned, .1 * planned) << drive.seen.dropped.size() << " trials had no time";
}

TEST(Torch, TensorsOutliveTheirCounter) {
  Tensor a;
  {
    const libtorch::byte_counter counter;
    a = torch::ones({3});
  }
  EXPECT_EQ(a.sum().item<float>(), 3);
  a = torch::zeros({2});
}

}  // namespace
}  // namespace slimpack
