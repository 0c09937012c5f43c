#include <slimpack/executors/joined/row_threads.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::row_threads_test {
namespace {

using executors::meeting;
using executors::run_row;

/// What happened, in order. One piece runs at a time, so it needs no lock; the thread sanitizer tells where not.
using diary = std::vector<std::string>;

/// A row's exchange as the runtime has it: it notes calls, and answers with what is set here.
struct exchange_stub final : sharing {
  std::vector<slice> mine, theirs;
  std::vector<std::byte> sent, coming;  // rows of the last give or owe; what take gives, or due adds
  diary* notes{};
  std::string fails;  // at this call
  std::thread::id caller = std::this_thread::get_id();

  [[nodiscard]] sequence_id sequence() const override { return {7}; }
  [[nodiscard]] slimpack::exchange exchange() const override { return slimpack::exchange::keep; }
  [[nodiscard]] std::span<const std::uint32_t> sharers() const override { return {}; }
  [[nodiscard]] std::size_t self() const override { return 0; }
  [[nodiscard]] std::span<const slice> own() const override { return mine; }
  [[nodiscard]] std::span<const slice> others() const override { return theirs; }
  [[nodiscard]] result<void> noted(const std::string& call, int layer) {
    EXPECT_EQ(std::this_thread::get_id(), caller) << call;
    if (notes != nullptr) notes->push_back(call + ' ' + std::to_string(layer));
    if (call == fails) return error{errc::transport_failed, "no " + call};
    return success();
  }
  [[nodiscard]] result<void> give(int layer, std::span<const std::byte> rows) override {
    sent.assign(rows.begin(), rows.end());
    return noted("give", layer);
  }
  [[nodiscard]] result<std::span<const std::byte>> take(int layer) override {
    if (result<void> done = noted("take", layer); !done) return done.error();
    return std::span<const std::byte>(coming);
  }
  [[nodiscard]] result<void> owe(int layer, std::span<const std::byte> rows) override {
    sent.assign(rows.begin(), rows.end());
    return noted("owe", layer);
  }
  [[nodiscard]] result<void> add(int layer, std::span<std::byte> rows, adder plus) override {
    if (result<void> done = noted("due", layer); !done) return done;
    plus(rows, coming);
    return success();
  }
  [[nodiscard]] result<void> launch(int, std::span<const std::byte>) override { return noted("launch", 0); }
  [[nodiscard]] result<parcel> rotate(int, std::span<const std::byte>) override {
    return error{errc::out_of_order, "rotate"};
  }
};

/// Keys and values, and gradients, by layer and token.
struct ledger_stub {
  std::int64_t width{1};
  std::map<std::pair<int, std::int64_t>, std::vector<double>> values, gradients;
  std::thread::id caller = std::this_thread::get_id();

  void read(int layer, const slice& s, std::span<std::byte> to) const { copy(values, layer, s, to); }
  [[nodiscard]] result<void> write(int layer, const slice& s, std::span<const std::byte> from) {
    put(values, layer, s, from);
    return success();
  }
  [[nodiscard]] result<void> read_gradients(int layer, const slice& s, std::span<std::byte> to) const {
    copy(gradients, layer, s, to);
    return success();
  }
  void write_gradients(int layer, const slice& s, std::span<const std::byte> from) { put(gradients, layer, s, from); }

 private:
  void copy(const auto& all, int layer, const slice& s, std::span<std::byte> to) const {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    ASSERT_EQ(to.size(), static_cast<std::size_t>(s.length.value * width) * sizeof(double));
    for (std::int64_t t = s.begin.value; t < s.end().value; ++t, to = to.subspan(bytes()))
      std::memcpy(to.data(), all.at({layer, t}).data(), bytes());
  }
  void put(auto& all, int layer, const slice& s, std::span<const std::byte> from) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    ASSERT_EQ(from.size(), static_cast<std::size_t>(s.length.value * width) * sizeof(double));
    for (std::int64_t t = s.begin.value; t < s.end().value; ++t, from = from.subspan(bytes())) {
      std::vector<double>& row = all[{layer, t}];
      row.resize(static_cast<std::size_t>(width));
      std::memcpy(row.data(), from.data(), bytes());
    }
  }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(width) * sizeof(double); }
};

piece piece_of(std::int64_t begin, std::int64_t length) {
  piece p;
  p.slice = {{7}, {begin}, {length}};
  return p;
}
constexpr row_format one_number{2, {1, element_type::float64}, {1, element_type::float64}};

std::vector<std::byte> bytes_of(const std::vector<double>& numbers) {
  const std::span<const std::byte> all = std::as_bytes(std::span(numbers));
  return {all.begin(), all.end()};
}

/// A row of n pieces of two tokens, one slice; the others have the two tokens before them.
struct small_row {
  diary notes;
  exchange_stub with;
  ledger_stub ledger;
  std::vector<piece> row;

  explicit small_row(std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) row.push_back(piece_of(2 + 2 * i, 2));
    with.theirs = {{{7}, {0}, {2}}};
    with.mine = {{{7}, {2}, {2 * n}}};
    with.notes = &notes;
    expect(pass::forward);
    for (std::int64_t t = 0; t < 2 + 2 * n; ++t)
      for (const int layer : {0, 1})
        ledger.values[{layer, t}] = ledger.gradients[{layer, t}] = {static_cast<double>(t)};
  }
  void expect(pass way) { with.coming = bytes_of(std::vector<double>(way == pass::forward ? 2 : 2 * row.size())); }
  result<void> run(const auto& call, pass way = pass::forward) {
    expect(way);
    return run_row(way, row, with, one_number, ledger, call);
  }
};

// ---- order and threads

TEST(RowThreads, RunOnePieceAtATimeInOrderFromMeetingToMeeting) {
  for (const pass way : both_passes) {
    small_row small(3);
    std::vector<std::thread::id> threads(3);
    const auto call = [&](std::size_t i, const meeting& meet) {
      threads[i] = std::this_thread::get_id();
      for (int step = 0; step < 2; ++step) {
        const int layer = nth_place(way, step, 2);
        small.notes.push_back("piece " + std::to_string(i) + " before " + std::to_string(layer));
        meet(layer);
        EXPECT_EQ(std::this_thread::get_id(), threads[i]);
      }
      small.notes.push_back("piece " + std::to_string(i) + " ends");
    };
    const result<void> done = small.run(call, way);
    ASSERT_TRUE(done) << done.error().detail;
    diary expected;
    for (int step = 0; step < 2; ++step) {
      const std::string layer = ' ' + std::to_string(nth_place(way, step, 2));
      for (const char* i : {"0", "1", "2"}) expected.push_back(std::string("piece ") + i + " before" + layer);
      for (const char* what : {"give", "take"})
        expected.push_back((way == pass::forward ? what : what[0] == 'g' ? "owe" : "due") + layer);
    }
    for (const char* i : {"0", "1", "2"}) expected.push_back(std::string("piece ") + i + " ends");
    EXPECT_EQ(small.notes, expected);
    EXPECT_EQ(threads[0], std::this_thread::get_id());
    EXPECT_TRUE(threads[0] != threads[1] && threads[1] != threads[2] && threads[0] != threads[2]);
  }
}

TEST(RowThreads, ARowOfOnePieceRunsOnTheCallersThread) {
  small_row small(1);
  int met = 0;
  const auto call = [&](std::size_t, const meeting& meet) -> result<void> {
    for (const int layer : {0, 1}) meet(layer), ++met;
    EXPECT_EQ(std::this_thread::get_id(), small.with.caller);
    return success();
  };
  EXPECT_TRUE(small.run(call));
  EXPECT_EQ(met, 2);
  EXPECT_EQ(small.notes, (diary{"give 0", "take 0", "give 1", "take 1"}));
}

TEST(RowThreads, AMeetingOfAPieceThatNobodySharesDoesNothing) {
  const meeting nobody;
  nobody(0), nobody(3);
}

TEST(RowThreads, WhereNoPieceMeetsNothingIsExchanged) {
  small_row small(3);
  int run = 0;
  EXPECT_TRUE(small.run([&](std::size_t, const meeting&) { ++run; }));
  EXPECT_EQ(run, 3);
  EXPECT_TRUE(small.notes.empty());  // of which the runtime makes an error
}

// ---- rows

/// Slices of a sequence, drawn; between them are gaps. Of every token at most one of the two has a slice.
void draw_slices(testing::generator& random, std::vector<slice>& mine, std::vector<slice>& theirs) {
  std::int64_t at = 0;
  for (std::int64_t n = random.between(1, 6); n > 0; --n) {
    at += random.between(0, 2);
    const slice s{{7}, {at}, {random.between(1, 9)}};
    (random.once_in(2) ? mine : theirs).push_back(s);
    at = s.end().value;
  }
  if (mine.empty()) mine.push_back({{7}, {at}, {3}});
}

double number(const char* of, int layer, std::int64_t token, std::int64_t column) {
  return std::sin(static_cast<double>(of[0] + 31 * layer + 7 * token + column));
}

TEST(RowThreads, JoinAndPartRowsByToken) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::generator random(seed);
    exchange_stub with;
    draw_slices(random, with.mine, with.theirs);
    ledger_stub ledger;
    ledger.width = random.between(1, 3);
    const int layers = static_cast<int>(random.between(1, 3));
    const message_format wide{ledger.width, element_type::float64};
    std::vector<piece> row;
    for (const slice& s : with.mine)
      for (std::int64_t at = 0; at < s.length.value;) {
        const std::int64_t length = random.between(1, s.length.value - at);
        row.push_back(piece_of(s.begin.value + at, length));
        at += length;
      }
    const pass way = random.once_in(2) ? pass::forward : pass::backward;
    if (way == pass::backward) std::reverse(row.begin(), row.end());
    const auto all = [&](std::span<const slice> slices, const char* of, int layer) {
      std::vector<double> numbers;
      for (const slice& s : slices)
        for (std::int64_t t = s.begin.value; t < s.end().value; ++t)
          for (std::int64_t c = 0; c < ledger.width; ++c) numbers.push_back(number(of, layer, t, c));
      return numbers;
    };
    const auto has = [&](const slice& s, const auto& table, const auto& value, int layer) {
      for (std::int64_t t = s.begin.value; t < s.end().value; ++t)
        for (std::int64_t c = 0; c < ledger.width; ++c)
          EXPECT_EQ(table.at({layer, t}).at(static_cast<std::size_t>(c)), value(layer, t, c)) << layer << ' ' << t;
    };
    const auto fill = [&](const slice& s, auto& table, const char* of, int layer) {
      for (std::int64_t t = s.begin.value; t < s.end().value; ++t)
        for (std::int64_t c = 0; c < ledger.width; ++c) table[{layer, t}].push_back(number(of, layer, t, c));
    };
    for (int layer = 0; way == pass::backward && layer < layers; ++layer)
      for (const slice& s : with.theirs) fill(s, ledger.gradients, "theirs", layer);
    const auto forward = [&](std::size_t i, const meeting& meet) {
      for (int layer = 0; layer < layers; ++layer) {
        fill(row[i].slice, ledger.values, "own", layer);
        if (i == 0) with.coming = bytes_of(all(with.theirs, "theirs", layer));
        meet(layer);
        EXPECT_EQ(with.sent, bytes_of(all(with.mine, "own", layer)));
        for (const slice& s : with.theirs)
          has(
              s, ledger.values, [](int l, auto t, auto c) { return number("theirs", l, t, c); }, layer);
      }
    };
    const auto backward = [&](std::size_t i, const meeting& meet) {
      for (int layer = layers; layer-- > 0;) {
        fill(row[i].slice, ledger.gradients, "own", layer);
        if (i == 0) with.coming = bytes_of(all(with.mine, "due", layer));
        meet(layer);
        EXPECT_EQ(with.sent, bytes_of(all(with.theirs, "theirs", layer)));
        has(
            row[i].slice, ledger.gradients,
            [](int l, auto t, auto c) { return number("own", l, t, c) + number("due", l, t, c); }, layer);
      }
    };
    const row_format format{layers, wide, wide};
    const result<void> done = way == pass::forward ? run_row(way, row, with, format, ledger, forward)
                                                   : run_row(way, row, with, format, ledger, backward);
    EXPECT_TRUE(done) << done.error().detail;
  }
}

/// Rows in memory of a device lie where the ledger says.
struct ledger_with_room : ledger_stub {
  std::vector<std::byte> memory = std::vector<std::byte>(1024);
  std::vector<std::size_t> asked;
  std::span<std::byte> room(std::size_t size) {
    asked.push_back(size);
    return std::span(memory).first(size);
  }
};
TEST(RowThreads, RowsLieInTheLedgersRoomWhereItHasOne) {
  small_row small(2);
  ledger_with_room ledger;
  static_cast<ledger_stub&>(ledger) = small.ledger;
  small.expect(pass::backward);
  EXPECT_TRUE(run_row(pass::backward, small.row, small.with, one_number, ledger,
                      [](std::size_t, const meeting& meet) { meet(1), meet(0); }));
  EXPECT_EQ(ledger.asked, (std::vector<std::size_t>{16, 32, 16, 32}));  // what is owed, and what is due
  EXPECT_EQ(std::memcmp(ledger.memory.data(), bytes_of({2, 3, 4, 5}).data(), 32), 0);
}

/// Every element of 16 bits is its own nearest, and sums are the exact ones, rounded once, to even where both are near.
template <class Bits>
void expect_sums(std::uint16_t one, std::uint16_t infinity, int digits) {
  EXPECT_EQ(Bits::value(one), 1.0F);
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (std::isnan(Bits::value(half)))
      EXPECT_TRUE(std::isnan(Bits::value(Bits::nearest(Bits::value(half)))));
    else
      EXPECT_EQ(Bits::nearest(Bits::value(half)), half);
  }
  for (std::uint16_t half = 0; half + 1 < infinity; ++half) {  // half-way between neighbours, and next to that
    const float low = Bits::value(half), high = Bits::value(static_cast<std::uint16_t>(half + 1));
    const float middle = low + (high - low) / 2;
    EXPECT_EQ(Bits::nearest(middle), half + half % 2);
    EXPECT_EQ(Bits::nearest(std::nextafter(middle, low)), half);
    EXPECT_EQ(Bits::nearest(std::nextafter(middle, high)), half + 1);
  }
  const auto next = static_cast<std::uint16_t>(one + 1);
  std::array<std::uint16_t, 3> sum{one, next, static_cast<std::uint16_t>(infinity - 1)};
  const std::array<std::uint16_t, 3> other{next, one, static_cast<std::uint16_t>(infinity - 1)};
  detail::add_halves<Bits>(std::as_writable_bytes(std::span(sum)), std::as_bytes(std::span(other)));
  EXPECT_EQ(sum[0], sum[1]);
  EXPECT_EQ(Bits::value(sum[0]), 2.0F);  // 2 + 2^(1 - digits) has two neighbours
  EXPECT_EQ(Bits::value(next), 1 + std::ldexp(1.0F, 1 - digits));
  EXPECT_EQ(sum[2], infinity);
}
TEST(RowThreads, AddElementsOfSixteenBits) {
  expect_sums<detail::bfloat16_bits>(0x3f80, 0x7f80, 8);
  expect_sums<detail::float16_bits>(0x3c00, 0x7c00, 11);
}

/// Rows of zeros, of any format.
struct blank_ledger {
  void read(int, const slice&, std::span<std::byte>) {}
  void write(int, const slice&, std::span<const std::byte>) {}
  void read_gradients(int, const slice&, std::span<std::byte> to) { std::fill(to.begin(), to.end(), std::byte{}); }
  void write_gradients(int, const slice&, std::span<const std::byte>) {}
};
TEST(RowThreads, AddGradientsInTheirElement) {
  for (const element_type element : {element_type::float32, element_type::float64, element_type::float16,
                                     element_type::bfloat16, element_type::int8}) {
    small_row small(2);
    blank_ledger ledger;
    small.with.coming.assign(4 * size_of(element), {});
    const result<void> done = run_row(pass::backward, small.row, small.with, {1, {1, element}, {1, element}}, ledger,
                                      [](std::size_t, const meeting& meet) { meet(0); });
    EXPECT_EQ(done.has_value(), element != element_type::int8);
    if (done) continue;
    EXPECT_EQ(done.error().code, errc::invalid_input);
    EXPECT_EQ(done.error().detail, "gradients of rows are floating-point numbers, where rows() says int8");
  }
}

// ---- what a thread has

thread_local int level = 0;  // of the trainer's, by thread
struct level_guard {
  explicit level_guard(int set, diary& to) : before(std::exchange(level, set)), notes(to) {}
  level_guard(const level_guard&) = delete;
  level_guard& operator=(const level_guard&) = delete;
  ~level_guard() {
    notes.push_back("held " + std::to_string(level));
    level = before;
  }
  int before;
  diary& notes;
};
TEST(RowThreads, CarryWhatTheCallersThreadHas) {
  small_row small(3);
  diary held;
  std::vector<int> seen(3);
  level = 5;
  const auto enter = [&] { return [&, set = level] { return level_guard(set, held); }; };
  const auto call = [&](std::size_t i, const meeting& meet) {
    meet(0);
    seen[i] = level++;
    meet(1);
  };
  EXPECT_TRUE(run_row(pass::forward, small.row, small.with, one_number, small.ledger, call, enter));
  EXPECT_EQ(seen, (std::vector<int>{5, 5, 5}));
  EXPECT_EQ(held, (diary{"held 6", "held 6"}));
  EXPECT_EQ(level, 6);
}

// ---- what goes wrong

std::string sentence(const result<void>& done) { return done ? "well" : done.error().detail; }

TEST(RowThreads, NamePiecesThatMeetElsewhere) {
  const std::string law = ": all pieces of a row meet in the same layers, in one order";
  small_row small(3);
  const auto other_layer = small.run([](std::size_t i, const meeting& meet) { meet(i == 2 ? 1 : 0); });
  EXPECT_EQ(sentence(other_layer), "sequence 7 [6, 8) meets in layer 1 where sequence 7 [2, 4) meets in layer 0" + law);
  ASSERT_FALSE(other_layer);
  EXPECT_EQ(other_layer.error().code, errc::out_of_order);
  const auto fewer = small.run([](std::size_t i, const meeting& meet) {
    for (const int layer : {0, 1})
      if (i != 1 || layer == 0) meet(layer);
  });
  EXPECT_EQ(sentence(fewer), "sequence 7 [4, 6) has ended where sequence 7 [2, 4) meets in layer 1" + law);
  const auto more = small.run([](std::size_t i, const meeting& meet) {
    if (i > 0) meet(0);
  });
  EXPECT_EQ(sentence(more), "sequence 7 [4, 6) meets in layer 0 where sequence 7 [2, 4) has ended" + law);
}

TEST(RowThreads, RefuseMeetingsOnThreadsOfAnEngine) {
  for (const std::size_t wrong : {0U, 1U}) {
    small_row small(2);
    int left = 0;
    const auto done = small.run([&](std::size_t i, const meeting& meet) {
      if (i != wrong) return meet(0);
      std::thread engine([&] {
        try {
          meet(0);
        } catch (...) {
          ++left;
        }
      });
      engine.join();
    });
    EXPECT_EQ(sentence(done), wrong == 0 ? "sequence 7 [2, 4) meets on another thread than its own"
                                         : "sequence 7 [4, 6) meets on another thread than its own");
    EXPECT_EQ(left, 1);
  }
}

struct counted {
  explicit counted(int& n) : alive(n) { ++alive; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --alive; }
  int& alive;
};

/// Who fails where, and how.
enum class fault { returns, throws, throws_a_number };

TEST(RowThreads, TellTheFirstCauseAndUnwindAllPieces) {
  for (const fault how : {fault::returns, fault::throws, fault::throws_a_number})
    for (std::size_t who = 0; who < 3; ++who)
      for (int when = 0; when < 3; ++when) {
        SCOPED_TRACE(std::to_string(who) + " fails after " + std::to_string(when) + " meetings");
        small_row small(3);
        int alive = 0, most = 0, as_errors = 0;
        const auto call = [&](std::size_t i, const meeting& meet) -> result<void> {
          const counted here(alive);
          most = std::max(most, alive);
          for (int layer = 0; layer < 3; ++layer) {
            if (i == who && layer == when) {
              if (how == fault::returns) return error{errc::invalid_input, "of piece " + std::to_string(i)};
              if (how == fault::throws) throw std::runtime_error("of piece " + std::to_string(i));
              throw 42;
            }
            if (layer == 2) break;
            try {
              meet(layer);
            } catch (const std::exception&) {
              ++as_errors;
              throw;
            }
          }
          return success();
        };
        std::string told;
        try {
          told = sentence(small.run(call));
          EXPECT_EQ(how, fault::returns);
        } catch (const std::exception& e) {
          told = e.what();
          EXPECT_EQ(how, fault::throws);
        } catch (int thrown) {
          EXPECT_EQ(how, fault::throws_a_number);
          EXPECT_EQ(thrown, 42);
        }
        EXPECT_EQ(told, how == fault::throws_a_number ? "" : "of piece " + std::to_string(who));
        EXPECT_EQ(alive, 0);
        EXPECT_EQ(most, when == 0 ? static_cast<int>(who) + 1 : 3);
        EXPECT_EQ(as_errors, 0);
        EXPECT_EQ(small.notes.size(), 2U * static_cast<std::size_t>(when));
      }
}

TEST(RowThreads, TellWhatTheExchangeSays) {
  for (const char* at : {"give", "take", "owe", "due"}) {
    small_row small(3);
    small.with.fails = at;
    int alive = 0, after = 0;
    const auto call = [&](std::size_t, const meeting& meet) {
      const counted here(alive);
      meet(0);
      ++after;
    };
    const bool forward = at[0] == 'g' || at[0] == 't';
    const result<void> done = small.run(call, forward ? pass::forward : pass::backward);
    EXPECT_EQ(sentence(done), std::string("no ") + at);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, errc::transport_failed);
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(after, 0);
  }
}

/// One whose function `fails` goes wrong.
struct broken_ledger : blank_ledger {
  int fails{};
  result<void> done(int here) const {
    if (here == fails) return error{errc::out_of_memory, "no room " + std::to_string(here)};
    return success();
  }
  result<void> read(int, const slice&, std::span<std::byte>) { return done(0); }
  result<void> write(int, const slice&, std::span<const std::byte>) { return done(1); }
  result<void> read_gradients(int, const slice& s, std::span<std::byte>) { return done(s.begin.value == 0 ? 2 : 3); }
  void write_gradients(int, const slice&, std::span<const std::byte>) {
    if (fails == 4) throw std::runtime_error("no room 4");
  }
};
TEST(RowThreads, TellWhatTheLedgerSays) {
  for (int fails = 0; fails < 5; ++fails) {
    small_row small(2);
    broken_ledger ledger;
    ledger.fails = fails;
    const pass way = fails < 2 ? pass::forward : pass::backward;
    small.expect(way);
    int swallowed = 0;
    const auto call = [&](std::size_t, const meeting& meet) {
      try {
        meet(0);
      } catch (...) {
        ++swallowed;
      }
    };
    std::string told;
    try {
      told = sentence(run_row(way, small.row, small.with, one_number, ledger, call));
    } catch (const std::exception& e) {
      told = e.what();
    }
    EXPECT_EQ(told, "no room " + std::to_string(fails));  // even where calls go on as if all were well
    EXPECT_EQ(swallowed, 2);
  }
}

// An error ends a row, and not what comes after it.
TEST(RowThreads, RunTheNextRowAfterAnError) {
  small_row small(4);
  EXPECT_FALSE(small.run([](std::size_t i, const meeting& meet) { meet(i == 3 ? 1 : 0); }));
  small.notes.clear();
  EXPECT_TRUE(small.run([](std::size_t, const meeting& meet) { meet(0), meet(1); }));
  EXPECT_EQ(small.notes, (diary{"give 0", "take 0", "give 1", "take 1"}));
}

}  // namespace
}  // namespace slimpack::row_threads_test
