#include <slimpack/core/micropack.hpp>
#include <slimpack/core/slice.hpp>

#include <gtest/gtest.h>

#include <utility>

namespace slimpack::partition_test {
namespace {

TEST(Partition, HasThePacksOfEachPass) {
  partition packs;
  packs.of(pass::forward).push({{0}, {0}, {10}});
  packs.of(pass::forward).close();
  packs.of(pass::backward).push({{0}, {6}, {4}});
  packs.of(pass::backward).close();
  packs.of(pass::backward).push({{0}, {0}, {6}});
  packs.of(pass::backward).close();
  EXPECT_EQ(packs.forward.size(), 1u);
  EXPECT_EQ(packs.backward.size(), 2u);
  EXPECT_EQ(&std::as_const(packs).of(pass::forward), &packs.forward);
  EXPECT_EQ(&std::as_const(packs).of(pass::backward), &packs.backward);
}

// Passes may be cut differently, and differ where either is cut differently.
TEST(Partition, DiffersByTheCutsOfEitherPass) {
  partition packs, other;
  for (partition* p : {&packs, &other})
    for (const pass way : both_passes) p->of(way).push({{0}, {0}, {10}}), p->of(way).close();
  EXPECT_EQ(packs, other);
  for (const pass way : both_passes) {
    partition cut = other;
    cut.of(way).clear();
    for (const tokens begin : {tokens{0}, tokens{5}}) cut.of(way).push({{0}, begin, {5}}), cut.of(way).close();
    EXPECT_NE(packs, cut);
  }
}

}  // namespace
}  // namespace slimpack::partition_test
