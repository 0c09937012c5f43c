#include <slimpack/io/profile.hpp>

#include "scratch.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace profile_test {
namespace {

using slimpack::bytes;
using slimpack::errc;
using slimpack::seconds;
using slimpack::tokens;
using slimpack::costs::collective;
using slimpack::io::gpu_family;
using slimpack::io::profile;
using slimpack::io::profile_note;
using slimpack::io::read_profile;

const std::string attention_head = "gpu,kernel,batch,q_tokens,kv_tokens,q_heads,kv_heads,head_dim,";
const std::string attention_rows = "G,f,1,128,128,8,2,64,1\nG,f,1,256,256,8,2,64,2\nG,f,1,512,512,8,2,64,4\n";
const std::string product_rows = "G,128,64,32,0.5\nG,256,64,32,1\nG,512,64,32,2\n";

void put(const scratch& s, const std::string& name, std::string_view content) {
  ASSERT_TRUE(std::filesystem::exists(s.file(name, content)));
}

profile read(const scratch& s, std::string_view content) { return read_profile(s.file("any.csv", content)).value(); }

/// What is said of the file behind its name.
std::string refusal(const scratch& s, std::string_view content) {
  const auto file = s.file("bad.csv", content);
  const auto found = read_profile(file);
  if (found) return "no error";
  EXPECT_EQ(found.error().code, errc::invalid_input);
  EXPECT_EQ(found.error().detail.find(file.string() + ":"), 0u) << found.error().detail;
  EXPECT_EQ(found.error().detail.find('\n'), std::string::npos);
  return found.error().detail.substr(file.string().size() + 1);
}

TEST(Profile, ReadsAttention) {
  const scratch s;
  const profile p = read(s, attention_head + "causal,deterministic_bwd,fwd_ms,bwd_ms\n" +
                                "H100-SXM5,fa3,2,1024,4096,64,8,128,1,0,1.5,4.25\n"
                                "H100-SXM5,fa3,2,2048,4096,64,8,128,0,1,2.5,\n"
                                "H100-SXM5,fa3,2,4096,4096,64,8,128,,,3.5,9\n");
  ASSERT_EQ(p.attention.size(), 3u);
  EXPECT_EQ(p.attention[0], (slimpack::costs::attention_sample{.gpu = "H100-SXM5",
                                                               .kernel = "fa3",
                                                               .batch = 2,
                                                               .queries = {1024},
                                                               .keys = {4096},
                                                               .heads = 64,
                                                               .kv_heads = 8,
                                                               .head_dim = 128,
                                                               .causal = true,
                                                               .deterministic = false,
                                                               .forward = {1.5e-3},
                                                               .backward = seconds{4.25e-3}}));
  EXPECT_FALSE(p.attention[1].causal);
  EXPECT_TRUE(p.attention[1].deterministic);
  EXPECT_FALSE(p.attention[1].backward);
  EXPECT_TRUE(p.attention[2].causal);
  EXPECT_FALSE(p.attention[2].deterministic);
}

TEST(Profile, TakesAttentionForCausalWhereTheFileDoesNotSay) {
  const scratch s;
  const profile p = read(s, attention_head + "fwd_ms\n" + attention_rows);
  EXPECT_TRUE(p.attention[0].causal);
  EXPECT_FALSE(p.attention[0].backward);
}

TEST(Profile, ReadsProducts) {
  const scratch s;
  const profile p = read(s, "gpu,m,n,k,ms\n" + product_rows);
  ASSERT_EQ(p.products.size(), 3u);
  EXPECT_EQ(p.products[1], (slimpack::costs::product_sample{.gpu = "G", .m = 256, .n = 64, .k = 32, .time = {1e-3}}));
}

TEST(Profile, ReadsLayersWithTheOperationsThatWereMeasured) {
  const scratch s;
  const profile p = read(s,
                         "gpu,model,hidden,ffn,q_heads,kv_heads,tp,tokens,attn_pre_proj_ms,add_us,emb_ms\n"
                         "A100,M,4096,14336,32,8,2,8,0.25,3,\n"
                         "A100,M,4096,14336,32,8,2,16,0.5,4,0.125\n"
                         "A100,M,4096,14336,32,8,2,24,0.75,5,0.25\n");
  ASSERT_EQ(p.layers.size(), 3u);
  EXPECT_EQ(p.layers[0], (slimpack::costs::layer_sample{.gpu = "A100",
                                                        .model = "M",
                                                        .hidden = 4096,
                                                        .ffn = 14336,
                                                        .q_heads = 32,
                                                        .kv_heads = 8,
                                                        .tensor = 2,
                                                        .tokens = {8},
                                                        .attn_pre_proj = seconds{0.25e-3},
                                                        .add = seconds{3e-6}}));
  EXPECT_EQ(p.layers[1].emb, seconds{0.125e-3});
}

TEST(Profile, ReadsCollectivesOnOneNodeAndOnSeveral) {
  const scratch s;
  const profile p = read(s,
                         "gpu,node_type,op,gpus,gpus_per_node,bytes,ms,samples\n"
                         "A100-80GB,a100_dgx,all_reduce,16,8,2048,0.25,3\n"
                         "A100-80GB,a100_dgx,send_recv,2,1,4096,0.5,3\n"
                         "A100-80GB,a100_dgx,alltoall,4,8,8192,1,3\n");
  ASSERT_EQ(p.collectives.size(), 3u);
  EXPECT_EQ(p.collectives[0], (slimpack::costs::collective_sample{.gpu = "A100-80GB",
                                                                  .node = "a100_dgx",
                                                                  .op = collective::all_reduce,
                                                                  .ranks = 16,
                                                                  .ranks_per_node = 8,
                                                                  .size = {2048},
                                                                  .time = {0.25e-3}}));
  EXPECT_EQ(p.collectives[1].op, collective::send_receive);
  EXPECT_EQ(p.collectives[1].ranks_per_node, 1);
  EXPECT_EQ(p.collectives[2].op, collective::all_to_all);
  EXPECT_EQ(p.collectives[2].ranks_per_node, 4);  // a node has 8 GPUs, of which 4 took part
}

TEST(Profile, TakesCollectivesForOneNodesWhereTheFileDoesNotSay) {
  const scratch s;
  const profile p = read(s,
                         "gpu,op,gpus,bytes,ms\nG,all_gather,8,512,1\nG,all_gather,8,1024,1\n"
                         "G,all_gather,8,2048,1\n");
  EXPECT_EQ(p.collectives[0].ranks_per_node, 8);
  EXPECT_EQ(p.collectives[0].node, "");
}

TEST(Profile, TakesTimesInAnyUnit) {
  const scratch s;
  for (const auto& [column, expected] : {std::pair{"s", 2.0}, {"ms", 2e-3}, {"us", 2e-6}, {"ns", 2e-9}})
    EXPECT_EQ(read(s, std::string("gpu,m,n,k,") + column + "\n" + product_rows).products[2].time, seconds{expected});
}

TEST(Profile, TakesSizesInAnyUnit) {
  const scratch s;
  const std::string rows = "G,all_reduce,2,1,1\nG,all_reduce,2,2,2\nG,all_reduce,2,3,3\n";
  for (const auto& [column, expected] : {std::pair{"bytes", 3.0}, {"KiB", 3072.0}, {"MB", 3e6}, {"GiB", 3221225472.0}})
    EXPECT_EQ(read(s, std::string("gpu,op,gpus,") + column + ",ms\n" + rows).collectives[2].size, bytes{expected});
}

TEST(Profile, TellsFormsByTheirColumnsWhateverTheirOrderAndTheFilesName) {
  const scratch s;
  put(s, "attention.csv", "ms,k,n,m,gpu,remark\n1,2,3,4,G,x\n2,2,3,8,G,\n3,2,3,16,G,\n");
  put(s, "zero.csv",
      "fwd_s,head_dim,kv_heads,q_heads,kv_tokens,q_tokens,batch,kernel,gpu\n1,64,1,2,32,16,1,f,G\n"
      "2,64,1,2,32,24,1,f,G\n3,64,1,2,32,32,1,f,G\n");
  const profile p = read_profile(s.folder()).value();
  EXPECT_EQ(p.products.size(), 3u);
  EXPECT_EQ(p.attention.size(), 3u);
  EXPECT_TRUE(p.notes.empty());
}

TEST(Profile, SkipsOtherFilesWithANote) {
  const scratch s;
  put(s, "a.csv", "gpu,m,n,k,ms\n" + product_rows);
  const auto other = s.file("b.csv", "\nmodel,layers,fwd_ms\nx,1,2\n");
  put(s, "c.txt", "no table");
  const profile p = read_profile(s.folder()).value();
  EXPECT_EQ(
      p.notes,
      (std::vector<profile_note>{{"", other.string() + ":2: skipped, these columns are no measurements of kernels"}}));
}

TEST(Profile, OfTheShippedTablesHasAllTheirRows) {
  const profile p = read_profile(data("profiles")).value();
  EXPECT_EQ(p.attention.size(), 600u + 600u + 40u + 612u + 176u + 33u);
  EXPECT_EQ(p.products.size(), 2u * 1100u);
  EXPECT_EQ(p.layers.size(), 788u);
  EXPECT_EQ(p.collectives.size(), 2u * 252u + 392u);
  EXPECT_EQ(p.families(), (std::vector<std::string>{"a100", "h100"}));
}

TEST(Profile, NamesTheColumnThatAFormLacks) {
  const scratch s;
  EXPECT_EQ(refusal(s, "gpu,kernel,batch,q_tokens,q_heads,kv_heads,head_dim,fwd_ms\n"),
            "1: lacks the column kv_tokens, it has gpu, kernel, batch, q_tokens, q_heads, kv_heads, head_dim, fwd_ms");
  EXPECT_EQ(refusal(s, "gpu,m,n,k\n1,2,3,4\n"), "1: lacks the column s, ms, us or ns, it has gpu, m, n, k");
  EXPECT_EQ(refusal(s, "gpu,op,gpus,ms\nG,all_reduce,2,1\n"),
            "1: lacks the column bytes, KiB, MiB, GiB, KB, MB or GB, it has gpu, op, gpus, ms");
  EXPECT_EQ(refusal(s, "gpu,model,hidden,ffn,q_heads,kv_heads,tp,tokens\nG,M,1,1,1,1,1,1\n").substr(0, 57),
            "1: lacks the column attn_pre_proj_ms or that of another o");
}

TEST(Profile, RefusesUnitsThatItDoesNotKnow) {
  const scratch s;
  EXPECT_EQ(refusal(s, attention_head + "fwd_min\n" + attention_rows),
            "1: column fwd_min has an unknown unit, expected one of fwd_s, fwd_ms, fwd_us or fwd_ns");
  EXPECT_EQ(refusal(s, attention_head + "fwd_ms,bwd_hours\nG,f,1,128,128,8,2,64,1,1\n"),
            "1: column bwd_hours has an unknown unit, expected one of bwd_s, bwd_ms, bwd_us or bwd_ns");
  EXPECT_EQ(refusal(s, "gpu,m,n,k,ms\nG,1,2,3,4 ms\n"),
            "2: column ms: \"4 ms\" is not a number, expected a decimal number without a unit");
}

TEST(Profile, RefusesAQuantityInTwoUnits) {
  const scratch s;
  EXPECT_EQ(refusal(s, "gpu,m,n,k,ms,us\nG,1,2,3,4,4000\n"), "1: has both ms and us, expected one of s, ms, us or ns");
}

TEST(Profile, RefusesTimesThatAreNotMoreThanZero) {
  const scratch s;
  for (const std::string time : {"-0.5", "0", "-0"})
    EXPECT_EQ(refusal(s, "gpu,m,n,k,ms\nG,1,2,3,4\nG,2,2,3," + time + "\n"),
              "3: column ms: " + time + " is not more than 0");
  EXPECT_EQ(refusal(s, attention_head + "fwd_ms,bwd_ms\nG,f,1,8,8,1,1,64,1,-2\n"),
            "2: column bwd_ms: -2 is not more than 0");
}

TEST(Profile, RefusesTimesThatNoKernelTakes) {
  const scratch s;
  EXPECT_EQ(refusal(s, attention_head + "fwd_ms\nG,f,1,128,128,8,2,64,1e-10\n"),
            "2: column fwd_ms: 1e-10 is less than a picosecond or more than a day: is the unit right?");
  EXPECT_EQ(refusal(s, "gpu,m,n,k,s\nG,128,64,32,86401\n"),
            "2: column s: 86401 is less than a picosecond or more than a day: is the unit right?");
}

TEST(Profile, RefusesRowsOfNoGpu) {
  const scratch s;
  EXPECT_EQ(refusal(s, "gpu,m,n,k,ms\n,128,64,32,1\n"), "2: column gpu: is empty");
}

TEST(Profile, RefusesSizesThatAreNone) {
  const scratch s;
  EXPECT_EQ(refusal(s, "gpu,m,n,k,ms\nG,1.5,2,3,4\n"), "2: column m: 1.5 is not a whole number from 1 to 1000000000");
  EXPECT_EQ(refusal(s, "gpu,m,n,k,ms\nG,0,2,3,4\n"), "2: column m: 0 is not a whole number from 1 to 1000000000");
  EXPECT_EQ(refusal(s, attention_head + "fwd_ms,causal\nG,f,1,8,8,1,1,64,1,2\n"),
            "2: column causal: 2 is neither 0 nor 1");
  EXPECT_EQ(refusal(s, attention_head + "fwd_ms\nG,f,1,16,8,1,1,64,1\n"),
            "2: column kv_tokens: 8 is less than q_tokens; it counts the prefix and the queries");
  EXPECT_EQ(refusal(s, "gpu,op,gpus,bytes,ms\nG,gossip,8,512,1\n"),
            "2: column op: \"gossip\" is none of all_reduce, all_gather, reduce_scatter, alltoall, send_recv");
  EXPECT_EQ(refusal(s, "gpu,op,gpus,bytes,ms\nG,all_reduce,1,512,1\n"), "2: column gpus: is 1, expected at least 2");
}

// 192 for queries and keys, 128 for values: as much work as 160 for both.
TEST(Profile, TakesHeadsOfTwoWidthsForTheirMean) {
  const scratch s;
  for (const std::string cell : {"192/128", "\"(192, 128)\"", "192 128", "192-128"}) {
    const profile p = read(s, attention_head + "fwd_ms\n" + attention_rows + "G,f,1,1024,1024,8,2," + cell + ",8\n");
    ASSERT_EQ(p.attention.size(), 4u) << cell;
    EXPECT_EQ(p.attention[3].head_dim, 160) << cell;
  }
  const profile p = read(s, attention_head +
                                "v_head_dim,fwd_ms\nG,f,1,128,128,8,2,192,128,1\nG,f,1,256,256,8,2,64,,2\n"
                                "G,f,1,512,512,8,2,64,,4\n");
  EXPECT_EQ(p.attention[0].head_dim, 160);
  EXPECT_EQ(p.attention[1].head_dim, 64);
}

TEST(Profile, LeavesOutRowsOfShapesThatItDoesNotKnow) {
  const scratch s;
  const auto file = s.file("a.csv", attention_head + "fwd_ms\n" + attention_rows + "G,f,1,8,8,1,1,192/128/64,1\n" +
                                        "G,f,1,1024,1024,8,2,64,8\nG,f,1,8,8,1,1,1/2/3,1\n");
  const profile p = read_profile(file).value();
  EXPECT_EQ(p.attention.size(), 4u);
  const std::string left_out = file.string() +
                               ":5: column head_dim: \"192/128/64\" is no width of heads that is known, " +
                               "left out; such rows in all: 2";
  EXPECT_EQ(p.notes, (std::vector<profile_note>{{"G", left_out}}));
  EXPECT_EQ(refusal(s, attention_head + "fwd_ms\nG,f,1,8,8,1,1,-8,1\n").substr(0, 22), "2: column head_dim: -8");
}

TEST(Profile, NotesTooFewSizesOfAGpuToFit) {
  const scratch s;
  const auto products = s.file("p.csv", "gpu,m,n,k,ms\n" + product_rows + "B,1,2,3,4\nB,1,2,3,5\n");
  EXPECT_EQ(read_profile(products).value().notes,
            (std::vector<profile_note>{
                {"B", products.string() + ":6: B has 1 size in this file, too few to fit: measure at least 3"}}));
  const auto slices = s.file("a.csv", attention_head + "fwd_ms\nG,f,1,8,8,1,1,64,1\nG,f,1,8,16,1,1,64,1\n");
  EXPECT_EQ(read_profile(slices).value().notes,
            (std::vector<profile_note>{
                {"G", slices.string() + ":3: G has 2 sizes in this file, too few to fit: measure at least 3"}}));
}

TEST(Profile, RefusesFilesWithoutRows) {
  const scratch s;
  EXPECT_EQ(refusal(s, "gpu,m,n,k,ms\n"), "1: no rows follow the column names");
}

// The slice of 256 queries and 512 keys is slower than that of 512 and 512, which has more work: 4 ms against 3.
TEST(Profile, NotesTheWorstOfTimesThatFallAsSizesGrow) {
  const scratch s;
  const auto file = s.file("f.csv", attention_head +
                                        "fwd_ms\nG,f,1,512,512,8,2,64,3\nG,f,1,256,256,8,2,64,2\n"
                                        "G,f,1,256,512,8,2,64,4\nG,f,2,512,512,8,2,64,1\n");
  EXPECT_EQ(read_profile(file).value().notes,
            (std::vector<profile_note>{
                {"G", file.string() + ":2: column fwd_ms: q_tokens 512, kv_tokens 512, 25 % faster than the smaller " +
                          "size in line 4; such rows in all: 1"}}));
}

TEST(Profile, NotesNothingWhereTimesRise) {
  const scratch s;
  EXPECT_TRUE(read(s, attention_head + "fwd_ms\n" + attention_rows).notes.empty());
}

TEST(Profile, NamesTheBackwardThatFalls) {
  const scratch s;
  const profile p = read(s, attention_head +
                                "fwd_ms,bwd_ms\nG,f,1,8,8,1,1,64,1,6\nG,f,1,8,16,1,1,64,2,3\n"
                                "G,f,1,8,32,1,1,64,3,\n");
  ASSERT_EQ(p.notes.size(), 1u);
  EXPECT_NE(p.notes[0].text.find(":3: column bwd_ms: q_tokens 8, kv_tokens 16, 50 % faster"), std::string::npos)
      << p.notes[0].text;
}

TEST(Profile, NeedsAFolderOrFileThatMeasuresSomething) {
  const scratch s;
  EXPECT_EQ(complaint(read_profile(s.folder()), s.folder(), errc::invalid_input), "holds no .csv files");
  EXPECT_EQ(complaint(read_profile(s.folder() / "none"), s.folder() / "none", errc::unreadable),
            "cannot be opened: No such file or directory");
  put(s, "x.csv", "a,b\n1,2\n");
  EXPECT_EQ(complaint(read_profile(s.folder()), s.folder(), errc::invalid_input).substr(0, 34),
            "measures nothing, expected columns");
}

TEST(Profile, OfOneGpuHasTheRowsOfItsFamily) {
  const scratch s;
  const profile p = read(s,
                         "gpu,m,n,k,ms\nH100-SXM5-80GB,1,1,1,1\nh100_pcie,2,1,1,2\nH100,3,1,1,3\nH200,1,1,1,1\n"
                         "H200,2,1,1,1\nH200,3,1,1,1\nH100-SXM5-80GB,2,1,1,1\nH100-SXM5-80GB,3,1,1,1\n"
                         "h100_pcie,1,1,1,2\nh100_pcie,3,1,1,2\nH100,1,1,1,3\nH100,2,1,1,3\n");
  EXPECT_EQ(p.of("H100-SXM5-80GB").value().products.size(), 9u);
  EXPECT_EQ(p.of("h200").value().products.size(), 3u);
  EXPECT_EQ(p.of("B200-SXM").error().detail, "nothing was measured on B200-SXM (b200), only on h100, h200");
}

TEST(Profile, OfOneGpuHasTheNotesOnItsTimes) {
  const scratch s;
  const profile p = read(s, "gpu,m,n,k,ms\nA,1,1,1,2\nA,2,1,1,1\nA,3,1,1,3\nB,1,1,1,1\nB,2,1,1,2\nB,3,1,1,1\n");
  EXPECT_EQ(p.notes.size(), 2u);
  const profile own = p.of("b").value();
  ASSERT_EQ(own.notes.size(), 1u);
  EXPECT_EQ(own.notes[0].gpu, "B");
}

TEST(GpuFamily, IsWhatStandsBeforeTheFirstSeparatorInSmallLetters) {
  EXPECT_EQ(gpu_family("H100-SXM5-80GB"), "h100");
  EXPECT_EQ(gpu_family("A100_PCIe"), "a100");
  EXPECT_EQ(gpu_family("B200 180GB"), "b200");
  EXPECT_EQ(gpu_family("h100"), "h100");
  EXPECT_EQ(gpu_family(""), "");
  EXPECT_EQ(gpu_family("NVIDIA H100 80GB HBM3"), "h100");
  EXPECT_EQ(gpu_family("nvidia-a100-sxm4"), "a100");
  EXPECT_EQ(gpu_family("Tesla V100-SXM2"), "v100");
  EXPECT_EQ(gpu_family("NVIDIA GeForce RTX 4090"), "4090");
  EXPECT_EQ(gpu_family("NVIDIA"), "nvidia");
}

TEST(Profile, OfAnotherBoardGoesWithItsClockAndItsMemory) {
  profile own;
  own.attention.push_back({.gpu = "G", .queries = {128}, .keys = {128}, .forward = {1.0}, .backward = seconds{3}});
  own.products.push_back({.gpu = "G", .m = 1, .n = 1, .k = 1, .time = {2}});
  own.layers.push_back({.gpu = "G", .attn_pre_proj = seconds{1}, .add = seconds{1}});
  const slimpack::costs::gpu measured{.peak_bf16_flops = 100, .memory_bandwidth = 30},
      board{.peak_bf16_flops = 80, .memory_bandwidth = 10};
  const profile told = own.on_board(measured, board);
  EXPECT_DOUBLE_EQ(told.attention[0].forward.value, 1.25);
  EXPECT_DOUBLE_EQ(told.attention[0].backward->value, 3.75);
  EXPECT_DOUBLE_EQ(told.products[0].time.value, 2.5);
  EXPECT_DOUBLE_EQ(told.layers[0].attn_pre_proj->value, 1.25);
  EXPECT_DOUBLE_EQ(told.layers[0].add->value, 3);
  EXPECT_FALSE(told.layers[0].mlp_act);
  EXPECT_EQ(own.on_board(measured, measured).products, own.products);
}

}  // namespace
}  // namespace profile_test
