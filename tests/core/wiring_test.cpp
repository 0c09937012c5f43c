#include <slimpack/core/slice.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/core/wiring/wiring.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace slimpack::wiring_test {
namespace {

std::string text(pack_place p) { return facts_of(p.kind).letter + std::to_string(p.at); }

std::vector<pack_place> all_places(const wiring& wires) {
  std::vector<pack_place> all;
  for (std::size_t k = 0; k < instruction_kinds.size(); ++k)
    for (pack_place p{static_cast<instruction_kind>(k), 0}; wires.has(p); ++p.at) all.push_back(p);
  return all;
}

/// Who sends to whom, sender by sender.
std::string messages(const shape& on) {
  const wiring wires(on);
  std::string all;
  for (const pack_place p : all_places(wires))
    for (const wire& w : wires.after(p)) all += text(w.from) + text(w.to) + ' ';
  return all;
}

/// Who waits for whom on one stage.
std::string waits(const shape& on) {
  const wiring wires(on);
  std::string all;
  for (const pack_place p : all_places(wires))
    if (wires.awaited_by(p)) all += text(*wires.awaited_by(p)) + text(p) + ' ';
  return all;
}

constexpr shape two_by_two{.stages = 2, .chunks = 2};
constexpr shape spread{.stages = 3, .chunks = 2, .vocabulary = vocabulary::spread};

TEST(Wiring, OfLayersLeadsFromPartToPart) {
  EXPECT_EQ(messages(two_by_two), "F0F1 F1F2 F2F3 B1B0 B2B1 B3B2 ");
  EXPECT_EQ(waits(two_by_two), "F3B3 B0W0 B1W1 B2W2 B3W3 ");
}

TEST(Wiring, OfASpreadVocabularyPutsItsEndsBeforeAndBehind) {
  EXPECT_EQ(messages(spread),
            "F0F1 F1F2 F2F3 F3F4 F4F5 F5V0 F5V1 B0G2 B1B0 B2B1 B3B2 B4B3 B5B4 E0E1 E1E2 E2F0 "
            "V0V2 V1V2 V2U0 V2U1 G1G0 G2G1 ");
  EXPECT_EQ(waits(spread), "V2B5 B0W0 B1W1 B2W2 B3W3 B4W4 B5W5 F5V2 V0U0 V1U1 V2U2 ");
}

TEST(Wiring, OfOneStageSendsNothing) {
  EXPECT_EQ(messages({}), "");
  EXPECT_EQ(waits({}), "F0B0 B0W0 ");
}

TEST(Wiring, TellsReceiversWhatSendersAreTold) {
  for (const shape& on : {two_by_two, spread}) {
    const wiring wires(on);
    std::multiset<std::string> sent, received;
    for (const pack_place p : all_places(wires)) {
      for (const wire& w : wires.after(p)) {
        sent.insert(text(w.from) + text(w.to) + std::to_string(w.number));
        EXPECT_EQ(w.from, p);
        EXPECT_EQ(w.receiver, stage_of(w.to, on));
      }
      for (const wire& w : wires.before(p)) {
        received.insert(text(w.from) + text(w.to) + std::to_string(w.number));
        EXPECT_EQ(w.to, p);
      }
    }
    EXPECT_EQ(sent, received);
  }
}

TEST(Wiring, NumbersTheWiresOfAPass) {
  const wiring wires(spread);
  std::set<std::uint32_t> forward, backward;
  for (const pack_place p : all_places(wires))
    for (const wire& w : wires.after(p))
      EXPECT_TRUE((facts_of(w.carries).pass == pass::forward ? forward : backward).insert(w.number).second);
  EXPECT_EQ(forward.size(), wires.wires(pass::forward));
  EXPECT_EQ(backward.size(), wires.wires(pass::backward));
  EXPECT_EQ(*forward.rbegin() + 1, wires.wires(pass::forward));
  EXPECT_EQ(*backward.rbegin() + 1, wires.wires(pass::backward));
}

TEST(Wiring, NumbersPlacesOfAllKinds) {
  const wiring wires(spread);
  std::set<std::uint32_t> numbers;
  for (const pack_place p : all_places(wires)) numbers.insert(wires.number_of(p));
  EXPECT_EQ(numbers.size(), wires.size());
  EXPECT_EQ(*numbers.rbegin() + 1, wires.size());
}

TEST(Wiring, PricesMessagesByTheirStage) {
  EXPECT_TRUE(sends(message_kind::embedded, 2, spread));
  EXPECT_FALSE(sends(message_kind::hidden, 2, spread));
  EXPECT_TRUE(sends(message_kind::partial, 1, spread));
  EXPECT_FALSE(sends(message_kind::statistics, 2, spread));
  EXPECT_FALSE(sends(message_kind::gradients, 0, spread));
  EXPECT_TRUE(sends(message_kind::backward, 0, spread));
  EXPECT_FALSE(sends(message_kind::backward, 0, two_by_two));
  EXPECT_FALSE(sends(message_kind::embedded, 0, two_by_two));
}

TEST(Rules, PairPlaces) {
  const auto pairs = [](place_pattern p) {
    std::string all;
    each_pair(p, 3, 3,
              [&](std::uint32_t from, std::uint32_t to) { all += std::to_string(from) + std::to_string(to) + ' '; });
    return all;
  };
  EXPECT_EQ(pairs(place_pattern::same), "00 11 22 ");
  EXPECT_EQ(pairs(place_pattern::next), "01 12 ");
  EXPECT_EQ(pairs(place_pattern::previous), "10 21 ");
  EXPECT_EQ(pairs(place_pattern::last_to_first), "20 ");
  EXPECT_EQ(pairs(place_pattern::first_to_last), "02 ");
  EXPECT_EQ(pairs(place_pattern::last_to_last), "22 ");
  EXPECT_EQ(pairs(place_pattern::last_to_others), "20 21 ");
  EXPECT_EQ(pairs(place_pattern::others_to_last), "02 12 ");
}

TEST(StepKinds, HaveLettersAndHashesOfTheirOwn) {
  std::set<char> letters;
  std::set<std::uint32_t> hashes;
  for (const instruction_facts& k : instruction_kinds) letters.insert(k.letter), hashes.insert(k.hash);
  EXPECT_EQ(letters.size(), instruction_kinds.size());
  EXPECT_EQ(hashes.size(), instruction_kinds.size());
}

// What a pack runs of itself: each kind behind those that send to it, or that it waits for on its stage.
TEST(StepKinds, OfAPackComeBehindThoseThatTheyWaitFor) {
  const auto place = [](instruction_kind k) { return std::ranges::find(kinds_of_a_pack, k) - kinds_of_a_pack; };
  for (std::size_t k = 0; k < instruction_kinds.size(); ++k)
    EXPECT_EQ(std::ranges::count(kinds_of_a_pack, instruction_kind(k)),
              instruction_kind(k) != instruction_kind::weights)
        << instruction_kinds[k].letter;
  for (const wire_rule& r : wire_rules) EXPECT_LE(place(r.from), place(r.to)) << facts_of(r.carries).name;
  for (const wait_rule& r : wait_rules) EXPECT_LT(place(r.awaited), place(r.waiting)) << facts_of(r.waiting).letter;
}

// A pack's way in a pass does not branch: no place is left, or come to, by two messages of it.
TEST(StepKinds, HaveOneWay) {
  const wiring wires(spread);
  const auto ways = [](std::span<const wire> of) {
    return std::ranges::count_if(of, [](const wire& w) { return facts_of(w.carries).of_way; });
  };
  for (const pass p : both_passes) {
    std::ptrdiff_t begins = 0, ends = 0;
    for (std::size_t k = 0; k < instruction_kinds.size(); ++k) {
      const auto kind = static_cast<instruction_kind>(k);
      if (facts_of(kind).pass != p) continue;
      for (std::uint32_t at = 0; at < wires.places(kind); ++at) {
        const std::ptrdiff_t in = ways(wires.before({kind, at})), out = ways(wires.after({kind, at}));
        EXPECT_LE(std::max(in, out), 1) << facts_of(kind).letter << at;
        begins += in < out, ends += out < in;
      }
    }
    EXPECT_EQ(begins, 1) << name_of(p);
    EXPECT_EQ(ends, 1) << name_of(p);
  }
}

TEST(Columns, AreTimedWhereAStepHasTheirKind) {
  for (const time_column c : time_columns) {
    EXPECT_TRUE(is_timed(c, spread)) << c.name();
    EXPECT_EQ(is_timed(c, two_by_two), c.each() == places::parts) << c.name();
  }
}

}  // namespace
}  // namespace slimpack::wiring_test
