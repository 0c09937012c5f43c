#ifndef SLIMPACK_IO_DETAIL_LENGTHS_DOUBTS_PACKED_SAMPLES_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_DOUBTS_PACKED_SAMPLES_HPP

#include <slimpack/io/detail/json_in.hpp>
#include <slimpack/io/detail/lengths/field.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Samples that are rows of several sequences, or that are filled up, known by the members beside their tokens.
namespace slimpack::io::detail {

/// The whole numbers of an array, or of the only array in it. Nothing where it has anything else.
[[nodiscard]] inline std::optional<std::vector<std::int64_t>> integers_in(const json_place& place) {
  if (!place.is_array()) return std::nullopt;
  if (place.size() == 1) {
    const json_place inner = place.at(0);
    if (inner.is_array()) return integers_in(inner);
  }
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < place.size(); ++i) {
    const json& one = place.at(i).raw();
    if (!one.is_number_integer()) return std::nullopt;
    all.push_back(one.get<std::int64_t>());
  }
  return all;
}

/// How a member says that its sample has several sequences: by the numbers of an array, or by one number.
struct packed_sign {
  bool a_token{};  ///< the array has a number for each token; others have one for each sequence
  bool (*says_several)(const std::vector<std::int64_t>& numbers);
};

/// Lengths, or ends: those of one sequence are {n} and {0, n}.
inline constexpr packed_sign sequence_sizes{false, [](const std::vector<std::int64_t>& numbers) {
                                              return numbers.size() > 2 || (numbers.size() == 2 && numbers[0] != 0);
                                            }};
inline constexpr packed_sign sequence_starts{
    false, [](const std::vector<std::int64_t>& numbers) { return numbers.size() > 1; }};
inline constexpr packed_sign sequence_count{
    false, [](const std::vector<std::int64_t>& numbers) { return numbers.size() == 1 && numbers[0] > 1; }};
inline constexpr packed_sign sequence_of_token{true, [](const std::vector<std::int64_t>& numbers) {
                                                 return std::any_of(numbers.begin(), numbers.end(),
                                                                    [&](auto n) { return n != numbers[0]; });
                                               }};
inline constexpr packed_sign position_of_token{
    true, [](const std::vector<std::int64_t>& numbers) {
      return std::adjacent_find(numbers.begin(), numbers.end(), [](auto a, auto b) { return b < a || b == 0; }) !=
             numbers.end();
    }};
inline constexpr packed_sign numbered_mask{true, [](const std::vector<std::int64_t>& numbers) {
                                             return std::any_of(numbers.begin(), numbers.end(),
                                                                [](auto n) { return n > 1; });
                                           }};

/// The names of such members.
/// Source    FlashAttention (cu_seqlens), NeMo and Megatron Bridge (seq_start_id), axolotl (numbered attention_mask,
///           position_ids), TRL (seq_lengths), MaxText (inputs_segmentation, inputs_position), MosaicML (sequence_id)
inline constexpr std::pair<const char*, packed_sign> packed_fields[]{{"cu_seqlens", sequence_sizes},
                                                                     {"cu_seqlens_q", sequence_sizes},
                                                                     {"cu_seqlens_k", sequence_sizes},
                                                                     {"cu_seqlens_kv", sequence_sizes},
                                                                     {"cu_seq_lens", sequence_sizes},
                                                                     {"cu_seq_lens_q", sequence_sizes},
                                                                     {"cu_seq_lens_k", sequence_sizes},
                                                                     {"cu_lens", sequence_sizes},
                                                                     {"seq_lens", sequence_sizes},
                                                                     {"seqlens", sequence_sizes},
                                                                     {"seq_lengths", sequence_sizes},
                                                                     {"sequence_lengths", sequence_sizes},
                                                                     {"sample_lens", sequence_sizes},
                                                                     {"sample_lengths", sequence_sizes},
                                                                     {"lengths", sequence_sizes},
                                                                     {"seq_start_id", sequence_starts},
                                                                     {"seq_boundaries", sequence_sizes},
                                                                     {"num_seqs", sequence_count},
                                                                     {"num_sequences", sequence_count},
                                                                     {"n_seqs", sequence_count},
                                                                     {"segment_ids", sequence_of_token},
                                                                     {"segment_id", sequence_of_token},
                                                                     {"sequence_ids", sequence_of_token},
                                                                     {"sequence_id", sequence_of_token},
                                                                     {"document_ids", sequence_of_token},
                                                                     {"document_id", sequence_of_token},
                                                                     {"doc_ids", sequence_of_token},
                                                                     {"seq_ids", sequence_of_token},
                                                                     {"seq_idx", sequence_of_token},
                                                                     {"inputs_segmentation", sequence_of_token},
                                                                     {"decoder_segment_ids", sequence_of_token},
                                                                     {"position_ids", position_of_token},
                                                                     {"positions", position_of_token},
                                                                     {"inputs_position", position_of_token},
                                                                     {"attention_mask", numbered_mask}};

[[nodiscard]] inline bool names_packed(std::string_view field) {
  return std::any_of(std::begin(packed_fields), std::end(packed_fields),
                     [&](const auto& packed) { return packed.first == field; });
}

/// Refuses a sample of so many tokens that is a row of several sequences, or one that is filled up. Of a document with
/// arrays of rows, `row` says which of them the sample is. Throws malformed.
inline void check_packed(const json_place& sample, std::int64_t value, std::optional<std::size_t> row = {}) {
  for (const auto& [name, sign] : packed_fields) {
    const std::optional<json_place> member = sample.find({name});
    if (!member || (row && (!member->is_array() || *row >= member->size()))) continue;
    const json_place packed = row ? member->at(*row) : *member;
    if (packed.is_integer() && !sign.a_token) {
      if (sign.says_several({packed.raw().get<std::int64_t>()}))
        packed.expected("one sequence a sample: by its name it counts those that are packed into one row; " +
                        std::string(name_the_field));
      continue;
    }
    const std::optional<std::vector<std::int64_t>> numbers = integers_in(packed);
    if (!numbers || numbers->empty() || (sign.a_token && static_cast<std::int64_t>(numbers->size()) != value)) continue;
    if (sign.says_several(*numbers))
      packed.expected("one sequence a sample: by its name it has those of several that are packed into one row; " +
                      std::string(name_the_field));
  }
}

/// Sees whether rows of token ids look filled up to one size.
/// Rule      derived. All rows have as many ids, and at least half of them begin, or end, with the same id two or more
///           times, and have another one besides
class padded_rows {
 public:
  void add(const json_place& place) {
    const std::optional<std::vector<std::int64_t>> ids = integers_in(place);
    if (!ids || ids->empty()) return;
    if (rows_++ == 0) size_ = ids->size();
    if (ids->size() != size_) alike_ = false;
    const bool is_filler = std::all_of(ids->begin(), ids->end(), [&](std::int64_t id) { return id == ids->front(); });
    if (!alike_ || is_filler) return;
    if (ids->size() > 2 && (*ids)[0] == (*ids)[1]) front_.add(ids->front());
    if (ids->size() > 2 && (*ids)[size_ - 1] == (*ids)[size_ - 2]) back_.add(ids->back());
  }

  /// What users should know, or nothing.
  [[nodiscard]] std::optional<std::string> note(std::string_view field) const {
    if (!alike_ || rows_ < 2 || 2 * std::max(front_.rows, back_.rows) < rows_) return std::nullopt;
    const bool at_end = back_.rows >= front_.rows;
    const run& most = at_end ? back_ : front_;
    return "all " + std::to_string(rows_) + " rows of " + in_quotes(field) + " have " + std::to_string(size_) +
           " ids, and " + std::to_string(most.rows) + " of them " + (at_end ? "end" : "begin") +
           (most.rows == 1 ? "s" : "") + " with id " + std::to_string(most.id) +
           " several times: they look padded, and padding is counted as tokens";
  }

 private:
  /// The id that the first such row repeats, and how many rows do.
  struct run {
    std::int64_t id{};
    std::size_t rows{};
    void add(std::int64_t other) {
      if (rows == 0) id = other;
      if (other == id) ++rows;
    }
  };

  std::size_t rows_{};
  std::size_t size_{};
  bool alike_{true};
  run front_, back_;
};

}  // namespace slimpack::io::detail

#endif
