#include <slimpack/io/gpu.hpp>
#include <slimpack/io/lengths.hpp>
#include <slimpack/io/model_config.hpp>
#include <slimpack/io/plan_json.hpp>
#include <slimpack/io/saved_tensors.hpp>
#include <slimpack/io/stage_profile.hpp>

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace slimpack::json_document_test {
namespace {

using io::detail::document_of;
using io::detail::json;
using io::detail::malformed;

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(document_of(text));
  } catch (const malformed& what) {
    return what.what();
  }
  return "read";
}

std::string repeated(const std::string& what, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += what;
  return all;
}

template <class T>
std::string told(const result<T>& read) {
  return read ? std::string("read") : read.error().detail;
}

TEST(JsonDocument, IsWhatTheParserOfTheLibraryMakes) {
  for (const std::string text :
       {R"({"b": 1, "a": [true, false, null, -3, 2.5e-3, "x\u00e9", {}, []], "c": {"b": {"b": 18446744073709551615}}})",
        "[]", "{}", "3", "\"text\"", "null", "[[[1], [2]], {\"a\": {\"a\": [{\"a\": 1}]}}]", " [1 , 2 ]\n"}) {
    EXPECT_EQ(document_of(text), json::parse(text)) << text;
    EXPECT_EQ(document_of(text).dump(), json::parse(text).dump()) << text;  // members in the same order
  }
}

TEST(JsonDocument, HasEachKeyOnceAndNamesThePlace) {
  EXPECT_EQ(refusal(R"({"a": 1, "b": 2, "a": 1})"), "has two keys \"a\"");
  EXPECT_EQ(refusal(R"({"a": [{}, {"x": {"b": 1, "b": 2}}]})"), "a[1].x has two keys \"b\"");
  EXPECT_EQ(refusal(R"([{"\u001b[2J": 1, "\u001b[2J": 2}])"), "[0] has two keys \"\\x1b[2J\"");
  std::string many = "{";
  for (int i = 0; i < 100; ++i) many += "\"key" + std::to_string(i) + "\": 1, ";
  EXPECT_EQ(refusal(many + "\"key77\": 1}"), "has two keys \"key77\"");
  EXPECT_EQ(refusal(many + "\"last\": 1}"), "read");
}

TEST(JsonDocument, MayNestOnlySoDeep) {
  EXPECT_EQ(refusal(repeated("[", 100) + repeated("]", 100)), "read");
  EXPECT_NE(refusal(repeated("[", 101) + repeated("]", 101)).find("is nested more than 100 deep"), std::string::npos);
  EXPECT_NE(refusal(repeated("{\"a\": ", 101) + "1" + repeated("}", 101)).find("is nested more than 100 deep"),
            std::string::npos);
}

TEST(JsonDocument, SaysWhereItIsNoJsonAndWhichNumberIsTooLarge) {
  EXPECT_EQ(refusal("{\"a\": 1,}"), "not JSON, or cut short: syntax error at byte 9");
  EXPECT_EQ(refusal("[1, 2"), "not JSON, or cut short: syntax error at byte 6");
  EXPECT_EQ(refusal(""), "not JSON, or cut short: syntax error at byte 1");
  EXPECT_EQ(refusal("{\"a\": [1, 1e999]}"), "a holds a number too large for a double");
}

// A value that is nested 100,000 deep ended the program in a destructor, whichever file it stood in.
TEST(JsonReaders, RefuseWhatNestsTooDeep) {
  for (const std::string open : {"[", "{\"a\":"}) {
    const std::string deep = repeated(open, 100000);
    std::istringstream gpu("{\"name\": \"x\", \"memory_bytes\": " + deep), model("{\"num_hidden_layers\": " + deep),
        plan("{\"format\": " + deep), profile("{\"format\": " + deep), tensors("{\"none\": " + deep), list("[" + deep),
        lines("{\"length\": " + deep);
    for (const std::string& why :
         {told(io::read_gpu(gpu, "f")), told(io::read_model(model, "f")), told(io::read_plan(plan, "f")),
          told(io::read_stage_profile(profile, "f")), told(io::read_saved_tensors(tensors, "f")),
          told(io::read_lengths(list, "f", io::lengths_format::json)),
          told(io::read_lengths(lines, "f", io::lengths_format::jsonl))}) {
      EXPECT_EQ(why.rfind("f: ", 0), why.find("f: ")) << why;
      EXPECT_NE(why.find("is nested more than 100 deep"), std::string::npos) << why;
      EXPECT_LT(why.size(), 200U) << why;
    }
  }
}

TEST(JsonReaders, RefuseTwoKeysOfOneName) {
  std::istringstream gpu(R"({"name": "x", "memory_bytes": 1, "memory_bytes": 8e10})");
  EXPECT_EQ(told(io::read_gpu(gpu, "gpu.json")), "gpu.json: has two keys \"memory_bytes\"");
  std::istringstream model(R"({"num_hidden_layers": 2, "rope_scaling": {"factor": 1, "factor": 2}})");
  EXPECT_EQ(told(io::read_model(model, "config.json")), "config.json: rope_scaling has two keys \"factor\"");
}

TEST(JsonReaders, MaskControlCharactersAndCutLongValues) {
  std::istringstream key("{\"na\\u001b[31mme\": 1}");
  EXPECT_EQ(told(io::read_gpu(key, "f")), "f: na\\x1b[31mme is not a known key");
  std::istringstream value("{\"name\": \"x\", \"memory_bytes\": \"" + std::string(200000, 'x') + "\"}");
  EXPECT_LT(told(io::read_gpu(value, "f")).size(), 200U);
  std::istringstream long_key("{\"" + std::string(200000, 'x') + "\": 1}");
  EXPECT_LT(told(io::read_gpu(long_key, "f")).size(), 200U);
}

}  // namespace
}  // namespace slimpack::json_document_test
