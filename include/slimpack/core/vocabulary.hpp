#ifndef SLIMPACK_CORE_VOCABULARY_HPP
#define SLIMPACK_CORE_VOCABULARY_HPP

#include <slimpack/core/units.hpp>

#include <utility>
#include <vector>

namespace slimpack {

/// What a stage does for a pack with its share of a vocabulary that is spread over the stages (core/vocabulary.hpp).
enum class vocabulary_call : unsigned char {
  embed,            ///< E
  output,           ///< V
  output_weights,   ///< U
  embed_gradients,  ///< G
};

/// What its messages carry.
enum class vocabulary_rows : unsigned char {
  embedded,    ///< from E on a stage to the next, and from the last stage to part 0
  hidden,      ///< from the last part to V on a stage
  partial,     ///< from V on a stage to V on the last
  statistics,  ///< from V on the last stage to U on a stage
  gradients,   ///< from G on a stage to the one before it
};

/// What the ends of a model take on each stage, where its vocabulary is spread over them.
///
///   E  from stage 0 to the last, with the sum of embedded rows; from there to the F on part 0
///   V  on each stage after the last part's F, which sends it the hidden rows. Of its own words it has for each token
///      the largest logit, the sum of exponentials, the gradient of the hidden row that these make, and the row of the
///      target. It sends these to the last stage, whose V comes after all others, and puts them together: then loss and
///      gradient are there, on the stage that runs the last part's B
///   U  on each stage, when the last stage has sent what makes its softmax the whole one
///   G  after part 0's B, from the last stage to stage 0, with the gradient of embedded rows
/// What part 0's B sends to the last stage is in pass_timing::message of part 0.
/// Source    the vocabulary over pipeline stages, with one barrier, is Algorithm 2 of arXiv:2411.05288. Derived:
///           messages to the last stage in place of all-reduces, since only its B needs the result; and that V does not
///           go from stage to stage, as E does: on each stage it waits for the instruction that runs there, so that a
///           pack in flight more is needed for about four stages; gathered, it waits twice, however many stages there
///           are
/// Units     seconds; those of calls with their overhead
/// Shapes    all [pack * stages + stage], packs of the forward pass, of G the backward pass; all empty where the
///           vocabulary is not spread
struct vocabulary_timing {
  std::vector<seconds> embed;            ///< E
  std::vector<seconds> embedded;         ///< from its end to the arrival of the rows where they go next
  std::vector<seconds> hidden;           ///< from the end of the last part's F to the arrival at V; 0 on the last stage
  std::vector<seconds> output;           ///< V
  std::vector<seconds> partial;          ///< from its end to the arrival at the last stage's V; 0 on the last stage
  std::vector<seconds> statistics;       ///< from the end of the last stage's V to the arrival at U; 0 on the last
                                         ///< stage
  std::vector<seconds> output_weights;   ///< U
  std::vector<seconds> embed_gradients;  ///< G
  std::vector<seconds> gradients;        ///< from its end to the arrival of the rows where they go next; 0 on stage 0

  [[nodiscard]] bool empty() const noexcept { return output.empty(); }
  friend bool operator==(const vocabulary_timing&, const vocabulary_timing&) = default;
};

/// Its columns with their names in plan files, in order.
inline constexpr std::pair<const char*, std::vector<seconds> vocabulary_timing::*> vocabulary_columns[]{
    {"embed", &vocabulary_timing::embed},
    {"embedded", &vocabulary_timing::embedded},
    {"hidden", &vocabulary_timing::hidden},
    {"output", &vocabulary_timing::output},
    {"partial", &vocabulary_timing::partial},
    {"statistics", &vocabulary_timing::statistics},
    {"output_weights", &vocabulary_timing::output_weights},
    {"embed_gradients", &vocabulary_timing::embed_gradients},
    {"gradients", &vocabulary_timing::gradients}};

}  // namespace slimpack

#endif
