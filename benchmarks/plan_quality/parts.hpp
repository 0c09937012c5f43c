#ifndef SLIMPACK_BENCHMARKS_PLAN_QUALITY_PARTS_HPP
#define SLIMPACK_BENCHMARKS_PLAN_QUALITY_PARTS_HPP

#include "scoreboard.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace slimpack::plan_quality {

struct options {
  std::filesystem::path data;
  bool quick{};                               ///< one seed, no high effort, and nothing that takes longer than seconds
  std::vector<std::uint64_t> seeds{1, 2, 3};  ///< of the laws and of what is shuffled
  std::string models{};                       ///< the only ones of the realistic part, between commas; empty: all
  std::string gpus{};                         ///< likewise, the only clusters by their number of GPUs
  std::string constants{};                    ///< likewise, the only ones that refit changes
  std::filesystem::path rows{};               ///< where the realistic part keeps what it has finished; empty: nowhere
};

/// One function a part, each in a file of its own name. They print what they find as they find it.
void table(const options& o, scoreboard& board);      ///< useful work at each effort, on the laws
void bounds(const options& o, scoreboard& board);     ///< efficiency against the lower bound, on every list
void balance(const options& o, scoreboard& board);    ///< one stage: the slowest replica over the average
void planning(const options& o, scoreboard& board);   ///< planning time at each effort
void realistic(const options& o, scoreboard& board);  ///< real models on many GPUs, over baselines
void growth(const options& o, scoreboard& board);     ///< planning time over the number of sequences
void ranks(const options& o, scoreboard& board);      ///< divisions by estimates, and one rank that plans its own
void ablation(const options& o, scoreboard& board);   ///< what each idea adds
void exchanges(const options& o, scoreboard& board);  ///< shared sequences, by what their exchange costs
void frames(const options& o, scoreboard& board);     ///< a vocabulary that is spread over the stages, beside one that
                                                      ///< is not
void chunks(const options& o, scoreboard& board);     ///< virtual stages and weight gradients apart on a short batch
void calls(const options& o, scoreboard& board);      ///< computes called by piece, whose backward is cut at forward
                                                      ///< cuts
void refit(const options& o, scoreboard& board);      ///< every constant of the search against its neighbours

}  // namespace slimpack::plan_quality

#endif
