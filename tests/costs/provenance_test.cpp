#include <slimpack/costs/provenance.hpp>

#include <gtest/gtest.h>

#include <sstream>

namespace provenance_test {
namespace {

using slimpack::seconds;
using slimpack::costs::origin;
using slimpack::costs::provenance;
using slimpack::costs::work;

// 6 s of products, of which 4 measured and 2 modelled; 2 s of traffic, measured.
provenance eight_seconds() {
  provenance p;
  p.add(work::products, origin::measured, seconds{4});
  p.add(work::products, origin::modelled, seconds{2});
  p.add(work::traffic, origin::measured, seconds{2});
  return p;
}

TEST(Provenance, SharesAddUpOverKindsOfWork) {
  EXPECT_EQ(eight_seconds().total(), seconds{8});
  EXPECT_EQ(eight_seconds().share(origin::measured), 0.75);  // (4 + 2) / 8
  EXPECT_EQ(eight_seconds().share(origin::modelled), 0.25);
  EXPECT_EQ(eight_seconds().share(origin::derived), 0);
}

TEST(Provenance, OfAKindOfWorkIsThatAlone) {
  EXPECT_EQ(eight_seconds().of(work::products).total(), seconds{6});
  EXPECT_EQ(eight_seconds().of(work::traffic).share(origin::measured), 1);
  EXPECT_EQ(eight_seconds().of(work::attention), provenance{});
}

TEST(Provenance, AddsAnotherSoManyTimes) {
  provenance p = eight_seconds();
  p.add(eight_seconds(), 3);
  EXPECT_EQ(p.total(), seconds{32});
  EXPECT_EQ(p.of(work::traffic).total(), seconds{8});
}

TEST(Provenance, OfNothingHasNoShares) { EXPECT_EQ(provenance{}.share(origin::measured), 0); }

TEST(Provenance, IsPrintedInHundredths) {
  std::ostringstream out;
  out << eight_seconds();
  EXPECT_EQ(out.str(), "75 % measured, 0 % interpolated, 0 % extrapolated, 0 % derived, 25 % modelled");
}

}  // namespace
}  // namespace provenance_test
