#include <slimpack/io/lengths.hpp>

#include "listed_lengths.hpp"
#include "scratch.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

/// Rows that several sequences are packed into, or that are filled up, are not taken for one sequence each.
namespace packed_lengths_test {
namespace {

using listed_lengths::field;
using listed_lengths::lengths_options;
using listed_lengths::notes_of;
using listed_lengths::said;
using slimpack::io::lengths_format;
using slimpack::io::read_lengths_list;

const std::string choose = "; name the field that holds the length or the tokens";
const std::string packed =
    " is an array, expected one sequence a sample: by its name it has those of several that are packed into one row" +
    choose;

TEST(PackedRows, AreRefusedByTheNameOfWhatIsBesideTheirTokens) {
  for (const std::string beside :
       {"cu_seqlens_q\": [0, 2, 5]", "cu_seq_lens_q\": [0, 2, 5]", "cu_seqlens\": [2, 5]", "lengths\": [2, 3]",
        "seq_lens\": [2, 3]", "sequence_lengths\": [2, 3]", "seq_start_id\": [0, 2]", "segment_ids\": [1, 1, 2, 2, 0]",
        "sequence_ids\": [0, 0, 1, 1, 1]", "document_ids\": [7, 7, 9, 9, 9]", "seq_idx\": [[0, 0, 1, 1, 1]]",
        "position_ids\": [0, 1, 0, 1, 2]", "position_ids\": [[0, 1, 0, 1, 2]]", "positions\": [5, 6, 3, 4, 5]",
        "inputs_segmentation\": [1, 1, 2, 2, 2]", "attention_mask\": [1, 1, 2, 2, 2]"}) {
    const std::string file = "{\"input_ids\": [9, 8, 7, 6, 5], \"" + beside + "}\n{\"input_ids\": [9]}\n";
    EXPECT_EQ(said(file), "line 1: " + beside.substr(0, beside.find('"')) + packed) << file;
    EXPECT_EQ(said(file, field("input_ids")), "5 1 ") << file;
  }
  EXPECT_EQ(said("{\"input_ids\": [9, 8], \"num_seqs\": 2}\n{}\n"),
            "line 1: num_seqs is 2, expected one sequence a sample: by its name it counts those that are packed into "
            "one row" +
                choose);
  for (const std::string beside :
       {"cu_seqlens\": [0, 3]", "seq_start_id\": [0]", "segment_ids\": [4, 4, 4]", "position_ids\": [0, 1, 2]",
        "position_ids\": [[0, 1, 2], [0, 0, 0]]", "document_ids\": [17, 42]", "document_id\": \"a\"", "num_seqs\": 1",
        "sequence_id\": 12", "attention_mask\": [1, 1, 1]"})
    EXPECT_EQ(said("{\"input_ids\": [9, 8, 7], \"" + beside + "}\n{\"input_ids\": [9]}\n"), "3 1 ") << beside;
}

TEST(PackedRows, OfADocumentAreRefusedWithTheirRow) {
  EXPECT_EQ(said(R"({"input_ids": [[1, 2, 3], [4, 5, 6]], "position_ids": [[0, 1, 2], [0, 1, 0]]})"),
            "line 1: position_ids[1]" + packed);
  EXPECT_EQ(said(R"({"input_ids": [[1, 2, 3], [4, 5, 6]], "position_ids": [[0, 1, 2], [0, 1, 2]]})"), "3 3 ");
  EXPECT_EQ(said(R"({"input_ids": [[1, 2], [4]], "num_seqs": [1, 2]})").substr(0, 36),
            "line 1: num_seqs[1] is 2, expected o");
}

TEST(PaddedRows, OfADocumentAreRefusedWhereTheirMaskSaysSo) {
  const std::string file = R"({"input_ids": [[1, 2, 3], [4, 5, 0]], "attention_mask": [[1, 1, 1], [1, 1, 0]]})";
  EXPECT_EQ(
      said(file),
      "line 1: input_ids[1] says 3 tokens, and attention_mask, which leaves out what is filled up, says 2" + choose);
  EXPECT_EQ(said(file, field("attention_mask")), "3 2 ");
  EXPECT_EQ(said(file, field("input_ids")), "3 3 ");
  EXPECT_EQ(said(R"({"input_ids": [[1, 2, 3], [4]], "attention_mask": [[1, 1, 1], [1]]})"), "3 1 ");
}

TEST(PaddedRows, WithoutAMaskAreNoted) {
  const std::vector<std::string> at_end{
      "all 3 rows of \"input_ids\" have 4 ids, and 2 of them end with id 0 several times: they look padded, "
      "and padding is counted as tokens"};
  EXPECT_EQ(notes_of("{\"input_ids\": [5, 6, 7, 8]}\n{\"input_ids\": [5, 6, 0, 0]}\n{\"input_ids\": [5, 0, 0, 0]}\n"),
            at_end);
  EXPECT_EQ(notes_of(R"({"input_ids": [[5, 6, 7, 8], [5, 6, 0, 0], [5, 0, 0, 0]]})"), at_end);
  EXPECT_EQ(notes_of("{\"u\": {\"x\": [5, 6, 7, 8]}}\n{\"u\": {\"x\": [5, 6, 0, 0]}}\n", field("u.x")),
            std::vector<std::string>{
                "all 2 rows of \"u.x\" have 4 ids, and 1 of them ends with id 0 several times: they look padded, "
                "and padding is counted as tokens"});
  EXPECT_TRUE(
      notes_of("{\"attention_mask\": [1, 1, 0, 0]}\n{\"attention_mask\": [1, 1, 1, 0]}\n", field("attention_mask"))
          .empty());
  EXPECT_EQ(
      notes_of("{\"input_ids\": [2, 2, 7, 8]}\n{\"input_ids\": [2, 2, 2, 9]}\n"),
      std::vector<std::string>{
          "all 2 rows of \"input_ids\" have 4 ids, and 2 of them begin with id 2 several times: they look padded, "
          "and padding is counted as tokens"});
  EXPECT_TRUE(notes_of("{\"input_ids\": [5, 6, 7, 0, 0]}\n{\"input_ids\": [5, 6, 0, 0]}\n").empty());
  EXPECT_TRUE(notes_of("{\"input_ids\": [9, 9, 9]}\n{\"input_ids\": [9, 9, 9]}\n").empty());  // filler of a trial
  EXPECT_TRUE(notes_of("{\"input_ids\": [1, 3, 3]}\n{\"input_ids\": [1, 4, 4]}\n{\"input_ids\": [1, 5, 5]}\n").empty());
}

TEST(EndsOfSequences, OfSeveralRowsBeginAnewInEach) {
  const lengths_options ends{lengths_format::cu_seqlens, {}};
  const lengths_options named{lengths_format::cu_seqlens, "cu"};
  const std::string all = "100 200 50 40 ";
  EXPECT_EQ(said("{\"cu\": [0, 100, 300]}\n{\"cu\": [0, 50, 90]}\n", named), all);
  EXPECT_EQ(said("{\"cu\": [100, 300]}\n{\"cu\": [50, 90]}\n", named), all);
  EXPECT_EQ(said("{\"cu_seqlens\": [0, 100, 300]}\n{\"cu_seqlens\": [0, 50, 90]}\n", ends), all);
  EXPECT_EQ(said("[[0, 100, 300], [0, 50, 90]]", ends), all);
  EXPECT_EQ(said(R"({"cu_seqlens": [[0, 100, 300], [0, 50, 90]]})", ends), all);
  EXPECT_EQ(said(R"([{"cu": [0, 100, 300]}, {"cu": [[0, 50, 90]]}])", named), all);
  EXPECT_EQ(said(R"({"cu_seqlens": [0, 100, 300]})", ends), "100 200 ");
  EXPECT_EQ(said("{\"cu\": [0, 100, 300, 300, 300]}\n{\"cu\": [0, 50, 50, 50, 50]}\n", named), "100 200 50 ");
  EXPECT_EQ(said("{\"cu\": [0, 100]}\n{\"cu\": [0, 50, 40]}\n", named),
            "line 2: cu[2]: 40 is less than the 50 before it, expected ends of sequences, in order");
  EXPECT_EQ(said("{\"cu\": [0, 100]}\n{\"cu\": 300}\n", named),
            "line 2: cu is 300, expected an array of ends, as there are before it");
  EXPECT_EQ(said("{\"cu\": 100}\n{\"cu\": [300]}\n", named),
            "line 2: cu is an array, expected the end of a sequence, a number, as there are before it");
  EXPECT_EQ(said("{\"cu\": [0, 1.5]}\n{}\n", named),
            "line 1: cu[1] is 1.5, expected the end of a sequence, a whole number, or an array of these");
}

TEST(EndsOfSequences, AreNotTakenFromTokens) {
  const lengths_options ends{lengths_format::cu_seqlens, {}};
  const std::string tokens = "line 1: input_ids has tokens by its name, expected ends of sequences" + choose;
  EXPECT_EQ(said("{\"input_ids\": [1, 2, 3]}\n{\"input_ids\": [5, 6, 7, 9]}\n", ends), tokens);
  EXPECT_EQ(said("{\"x\": [1, 2, 3]}\n{\"x\": [5]}\n", ends),
            "line 1: lacks the key \"cu_seqlens\", it has x" + choose);
}

TEST(EndsOfSequences, AreFoundInTheOnlyColumn) {
  const lengths_options ends{lengths_format::cu_seqlens, {}};
  EXPECT_EQ(said("end\n100\n300\n", ends), "100 200 ");
  EXPECT_EQ(said("\"offset\"\n0\n100\n300\n", ends), "100 200 ");
  EXPECT_EQ(said("id,cu_seqlens\n7,100\n8,300\n", ends), "100 200 ");
  EXPECT_EQ(said("100\n300\n", ends), "100 200 ");
}

}  // namespace
}  // namespace packed_lengths_test
