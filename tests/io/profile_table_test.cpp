#include <slimpack/io/profile_table.hpp>

#include "scratch.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace slimpack::profile_table_test {
namespace {

using io::profile_note;
using io::profile_table;
using io::read_profile_tables;

const std::string products = "gpu,m,n,k,ms\nG,128,64,32,0.5\nG,256,64,32,1\nG,512,64,32,2\n";
const std::string attention_head = "gpu,kernel,batch,q_tokens,kv_tokens,q_heads,kv_heads,head_dim,fwd_ms\n";

/// How many rows the four lists have.
std::vector<std::size_t> rows_of(const profile_table& t) {
  return {t.attention.size(), t.products.size(), t.layers.size(), t.collectives.size()};
}

TEST(ProfileTables, AreOfEachFileByNameWithOneListOfRows) {
  const scratch s;
  (void)s.file("d.csv", attention_head + "G,f,1,8,8,2,1,64,1\n");
  (void)s.file("b.csv", "gpu,op,gpus,bytes,ms\nG,all_reduce,2,512,1\nG,all_reduce,2,1024,1\n");
  (void)s.file("c.csv", "gpu,model,hidden,ffn,q_heads,kv_heads,tp,tokens,add_us\nG,M,8,8,1,1,1,4,1\n");
  (void)s.file("a.csv", products);
  (void)s.file("e.txt", products);
  const std::vector<profile_table> tables = read_profile_tables(s.folder()).value();
  ASSERT_EQ(tables.size(), 4u);
  EXPECT_EQ(rows_of(tables[0]), (std::vector<std::size_t>{0, 3, 0, 0}));
  EXPECT_EQ(rows_of(tables[1]), (std::vector<std::size_t>{0, 0, 0, 2}));
  EXPECT_EQ(rows_of(tables[2]), (std::vector<std::size_t>{0, 0, 1, 0}));
  EXPECT_EQ(rows_of(tables[3]), (std::vector<std::size_t>{1, 0, 0, 0}));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(tables[i].file, (s.folder() / (std::string(1, "abcd"[i]) + ".csv")).string());
    EXPECT_TRUE(tables[i].measures);
  }
}

TEST(ProfileTables, OfOneFileAreItsOwnWhateverItsNameEndsIn) {
  const scratch s;
  const std::vector<profile_table> tables = read_profile_tables(s.file("measured.txt", products)).value();
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].products[2].time, seconds{2e-3});
}

// Empty lines, and rows that are left out, are not counted among them.
TEST(ProfileTables, KnowTheLinesOfTheirRows) {
  const scratch s;
  const auto file = s.file("a.csv", attention_head +
                                        "\nG,f,1,128,128,8,2,64,1\nG,f,1,256,256,8,2,64,2\nG,f,1,512,512,8,2,64,4\n"
                                        "G,f,1,8,8,1,1,1/2/3,1\nG,f,1,1024,1024,8,2,64,8\n");
  const std::vector<profile_table> tables = read_profile_tables(file).value();
  EXPECT_EQ(tables[0].lines, (std::vector<std::size_t>{3, 4, 5, 7}));
  EXPECT_EQ(tables[0].attention.size(), 4u);
  ASSERT_EQ(tables[0].notes.size(), 1u);
  EXPECT_EQ(tables[0].notes[0].gpu, "G");
}

TEST(ProfileTables, OfAnotherFormAreSkippedWithANote) {
  const scratch s;
  (void)s.file("a.csv", products);
  const auto other = s.file("b.csv", "model,layers\nx,1\n");
  const std::vector<profile_table> tables = read_profile_tables(s.folder()).value();
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_TRUE(tables[0].notes.empty());
  EXPECT_FALSE(tables[1].measures);
  EXPECT_EQ(rows_of(tables[1]), (std::vector<std::size_t>{0, 0, 0, 0}));
  EXPECT_EQ(
      tables[1].notes,
      (std::vector<profile_note>{{"", other.string() + ":1: skipped, these columns are no measurements of kernels"}}));
}

TEST(ProfileTables, AreReadAllOrNone) {
  const scratch s;
  (void)s.file("a.csv", products);
  const auto bad = s.file("b.csv", "gpu,m,n,k,ms\nG,1,2,3,0\n");
  const auto read = read_profile_tables(s.folder());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, errc::invalid_input);
  EXPECT_EQ(read.error().detail.find(bad.string() + ":2: column ms: "), 0u) << read.error().detail;
}

TEST(ProfileTables, NeedAFileThatMeasuresSomething) {
  const scratch s;
  EXPECT_EQ(complaint(read_profile_tables(s.folder()), s.folder(), errc::invalid_input), "holds no .csv files");
  EXPECT_EQ(complaint(read_profile_tables(s.folder() / "none"), s.folder() / "none", errc::unreadable),
            "cannot be opened: No such file or directory");
  (void)s.file("x.csv", "a,b\n1,2\n");
  EXPECT_EQ(complaint(read_profile_tables(s.folder()), s.folder(), errc::invalid_input),
            "measures nothing, expected columns gpu kernel batch q_tokens kv_tokens q_heads kv_heads head_dim fwd_ms; "
            "or gpu m n k ms; "
            "or gpu model hidden ffn q_heads kv_heads tp tokens; or gpu op gpus ms bytes");
}

}  // namespace
}  // namespace slimpack::profile_table_test
