#include <slimpack/testing/stage_compute_laws.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What the laws say of computes that share rows, and have one fault each.
namespace slimpack::shared_compute_laws_test {
namespace {

/// What a compute does wrong in one layer of one stage, on one replica.
enum class fault {
  none,
  never_gives,      // returns before this layer
  gives_others,     // what travels is not what it attends to itself
  takes_in_vain,    // what it takes is not added
  forgets_rows,     // what it took in rows before is gone
  owes_nothing,     // an addend is lost
  owes_this_row,    // of later rows it owes nothing
  owes_twice,       // an addend is added twice
  due_twice,        // adds its own gradients to a sum that has them
  due_in_vain,      // leaves what others owe
  visits_in_vain,   // adds nothing to what goes round forward, or nothing of it to its own
  returns_in_vain,  // the same backward
};

struct place {
  static constexpr std::uint32_t everywhere = 9;
  fault what{fault::none};
  int stage{};
  int layer{};
  std::uint32_t replica{};
  exchange how{exchange::keep};  // by which alone it goes wrong
};

/// Layers of attention without queries: x + c / (t + 1) sum over s <= t of tanh(a x_s). Rows are these values.
class mean_stage {
 public:
  static constexpr backward_cuts cuts = backward_cuts::any;
  static constexpr exchange_set shares_rows = exchange_set::all();
  using message = std::span<const std::byte>;

  mean_stage(int stage, int layers, place wrong)
      : stage_(stage), layers_(static_cast<std::size_t>(layers)), wrong_(wrong) {
    gradient.resize(layers_ * 2);
  }

  std::vector<std::uint64_t> keys;
  std::vector<double> gradient;  // of a and c, per layer

  [[nodiscard]] message_format format() const { return {1, element_type::float64}; }
  /// Queries are where they are, and their sums; backward their slopes. In a ring values; backward their gradients.
  [[nodiscard]] row_format rows(std::uint32_t) const {
    return {static_cast<int>(layers_),
            format(),
            format(),
            {{{}, format()}, {format(), {}}},
            {{format(), {}}, {{}, format()}}};
  }
  void begin_step(const step_outline&) { sum_ = 0; }
  [[nodiscard]] double loss() const { return sum_; }
  [[nodiscard]] bytes held() const { return {static_cast<double>(arenas_.size())}; }
  void abort_step() { arenas_.clear(), gradient.assign(gradient.size(), 0); }
  void discard(const piece& p) { arenas_.erase(p.slice.sequence); }
  result<void> reduce(auto& group) { return group.sum(std::span<double>(gradient)); }

  result<void> forward(const piece& p, message in, outgoing& out) { return fore({&p, 1}, in, out, nullptr); }
  result<void> backward(const piece& p, message in, outgoing& out) { return back({&p, 1}, in, out, nullptr); }
  result<void> forward(std::span<const piece> row, message in, outgoing& out, sharing& with) {
    return fore(row, in, out, &with);
  }
  result<void> backward(std::span<const piece> row, message in, outgoing& out, sharing& with) {
    return back(row, in, out, &with);
  }

 private:
  struct layer_rows {
    std::vector<double> x, value, attended, dvalue;  // by token
    std::vector<std::size_t> taken;                  // tokens of others
  };
  struct arena {
    std::vector<layer_rows> layers;
    std::vector<double> miss;  // of the last stage
  };

  [[nodiscard]] double a(std::size_t layer) const {
    return 0.5 + 0.2 * static_cast<double>(stage_) + 0.3 * static_cast<double>(layer);
  }
  [[nodiscard]] double c(std::size_t layer) const {
    return 0.9 - 0.2 * static_cast<double>(stage_) - 0.3 * static_cast<double>(layer);
  }
  [[nodiscard]] static double wave(std::uint64_t key, std::size_t t) {
    return std::sin(0.7 * static_cast<double>(t + key % 11)) + 0.3;
  }
  [[nodiscard]] bool goes_wrong(fault what, std::size_t layer, const sharing* with) const {
    return with != nullptr && wrong_.what == what && wrong_.how == with->exchange() && wrong_.stage == stage_ &&
           wrong_.layer == static_cast<int>(layer) &&
           (wrong_.replica == place::everywhere || with->sharers()[with->self()] == wrong_.replica);
  }
  static std::vector<std::size_t> places(std::span<const slice> slices) {
    std::vector<std::size_t> all;
    for (const slice& s : slices)
      for (std::int64_t t = s.begin.value; t < s.end().value; ++t) all.push_back(static_cast<std::size_t>(t));
    return all;
  }
  static std::vector<std::size_t> places(std::span<const piece> pieces) {
    std::vector<slice> slices;
    for (const piece& p : pieces) slices.push_back(p.slice);
    return places(std::span<const slice>(slices));
  }
  static std::vector<double> picked(const std::vector<double>& by_token, const std::vector<std::size_t>& at) {
    std::vector<double> rows;
    for (const std::size_t t : at) rows.push_back(by_token[t]);
    return rows;
  }

  result<void> fore(std::span<const piece> row, message in, outgoing& out, sharing* with) {
    const piece& one = row.front();
    const std::uint64_t key = keys[one.slice.sequence.value];
    const std::vector<std::size_t> at = places(row);
    const auto length = static_cast<std::size_t>(one.sequence_length.value);
    arena& all = arenas_[one.slice.sequence];
    all.layers.resize(layers_);
    all.miss.resize(length);
    std::vector<double> x(at.size());
    for (std::size_t k = 0; k < at.size(); ++k) x[k] = in.empty() ? wave(key, at[k]) : as<double>(in)[k];
    for (std::size_t l = 0; l < layers_; ++l) {
      layer_rows& here = all.layers[l];
      for (std::vector<double>* const each : {&here.x, &here.value, &here.attended, &here.dvalue}) each->resize(length);
      for (std::size_t k = 0; k < at.size(); ++k) here.x[at[k]] = x[k], here.value[at[k]] = std::tanh(a(l) * x[k]);
      if (with != nullptr && with->exchange() == exchange::keep) {
        if (goes_wrong(fault::never_gives, l, with)) return out.put(x);
        std::vector<double> mine = picked(here.value, places(with->own()));
        if (goes_wrong(fault::gives_others, l, with)) mine = picked(here.x, places(with->own()));
        if (result<void> given = with->give(static_cast<int>(l), slimpack::as_span(mine)); !given) return given;
        const result<std::span<const std::byte>> taken = with->take(static_cast<int>(l));
        if (!taken) return taken.error();
        const std::vector<std::size_t> theirs = places(with->others());
        for (std::size_t k = 0; k < here.taken.size() && goes_wrong(fault::forgets_rows, l, with); ++k)
          here.value[here.taken[k]] = 0;
        here.taken.insert(here.taken.end(), theirs.begin(), theirs.end());
        for (std::size_t k = 0; k < theirs.size() && !goes_wrong(fault::takes_in_vain, l, with); ++k)
          here.value[theirs[k]] = as<double>(taken.value())[k];
      }
      for (const std::size_t t : at) here.attended[t] = sum_to(here.value, t);
      if (with != nullptr && with->exchange() != exchange::keep)
        if (result<void> went = round_forward(*with, l, here); !went) return went;
      for (std::size_t k = 0; k < at.size(); ++k) {
        here.attended[at[k]] /= static_cast<double>(at[k] + 1);
        x[k] += c(l) * here.attended[at[k]];
      }
    }
    std::size_t k = 0;
    for (const piece& p : row)
      for (std::int64_t n = 0; n < p.slice.length.value && !out.wanted(); ++n, ++k) {
        const double miss = x[k] - wave(key, at[k] + 1);
        const double weight = p.loss_weight / static_cast<double>(p.slice.length.value);
        sum_ += weight * miss * miss / 2;
        all.miss[at[k]] = miss;
      }
    return out.put(x);
  }

  result<void> back(std::span<const piece> row, message in, outgoing& out, sharing* with) {
    const piece& one = row.front();
    const std::vector<std::size_t> at = places(row);
    arena& all = arenas_.at(one.slice.sequence);
    std::vector<double> dy;
    for (const piece& p : row)
      for (const std::size_t t : places(std::span<const piece>(&p, 1)))
        dy.push_back(in.empty() ? p.loss_weight / static_cast<double>(p.slice.length.value) * all.miss[t]
                                : as<double>(in)[dy.size()]);
    for (std::size_t l = layers_; l-- > 0;) {
      layer_rows& here = all.layers[l];
      const std::vector<double> later = here.dvalue;
      std::vector<double> slopes(here.dvalue.size());
      for (std::size_t k = 0; k < at.size(); ++k) {
        gradient[2 * l + 1] += dy[k] * here.attended[at[k]];
        slopes[at[k]] = c(l) * dy[k] / static_cast<double>(at[k] + 1);
      }
      add_from(slopes, here.dvalue);
      if (with != nullptr && with->exchange() != exchange::keep)
        if (result<void> went = round_backward(*with, l, here, slopes); !went) return went;
      if (with != nullptr && with->exchange() == exchange::keep) {
        const std::vector<std::size_t> theirs = places(with->others());
        std::vector<double> owed = picked(here.dvalue, theirs);
        for (std::size_t k = 0; k < owed.size(); ++k) {
          if (goes_wrong(fault::owes_nothing, l, with)) owed[k] = 0;
          if (goes_wrong(fault::owes_this_row, l, with)) owed[k] -= later[theirs[k]];
          if (goes_wrong(fault::owes_twice, l, with)) owed[k] *= 2;
        }
        if (result<void> sent = with->owe(static_cast<int>(l), slimpack::as_span(owed)); !sent) return sent;
        const std::vector<std::size_t> mine = places(with->own());
        const std::vector<double> own = picked(here.dvalue, mine);
        std::vector<double> sum = own;
        if (result<void> due = with->due(static_cast<int>(l), std::span(sum)); !due) return due;
        for (std::size_t k = 0; k < mine.size(); ++k) {
          here.dvalue[mine[k]] = goes_wrong(fault::due_in_vain, l, with) ? own[k] : sum[k];
          if (goes_wrong(fault::due_twice, l, with)) here.dvalue[mine[k]] += own[k];
        }
      }
      for (std::size_t k = 0; k < at.size(); ++k) {
        const double slope = here.dvalue[at[k]] * (1 - here.value[at[k]] * here.value[at[k]]);
        gradient[2 * l] += slope * here.x[at[k]];
        dy[k] += slope * a(l);
      }
    }
    if (std::any_of(row.begin(), row.end(), [](const piece& p) { return p.is_own_first(); }))
      arenas_.erase(one.slice.sequence);
    return out.put(dy);
  }

  static double sum_to(const std::vector<double>& value, std::size_t t) {
    double sum = 0;
    for (std::size_t s = 0; s <= t; ++s) sum += value[s];
    return sum;
  }
  /// Adds to each token what it and those after it have.
  static void add_from(const std::vector<double>& slopes, std::vector<double>& dvalue) {
    double later = 0;
    for (std::size_t t = slopes.size(); t-- > 0;) dvalue[t] += later += slopes[t];
  }

  template <class Visit>
  static result<std::vector<double>> round(sharing& with, std::size_t layer, const std::vector<double>& rows,
                                           std::vector<double> sums, const Visit& visit) {
    const int l = static_cast<int>(layer);
    if (result<void> launched = with.launch(l, slimpack::as_span(rows)); !launched) return std::move(launched).error();
    for (;;) {
      const result<parcel> next = with.rotate(l, slimpack::as_span(sums));
      if (!next) return next.error();
      const std::span<const double> so_far = as<double>(next.value().sums);
      sums.assign(so_far.begin(), so_far.end());
      if (next.value().is_home) return sums;
      visit(as<double>(next.value().rows), places(next.value().tokens), sums);
    }
  }

  result<void> round_forward(sharing& with, std::size_t l, layer_rows& here) {
    const std::vector<std::size_t> own = places(with.own());
    const bool in_vain = goes_wrong(fault::visits_in_vain, l, &with);
    const bool asks = with.exchange() == exchange::queries;
    const auto answer = [&](std::span<const double>, const std::vector<std::size_t>& theirs,
                            std::vector<double>& sums) {
      for (std::size_t k = 0; k < theirs.size() && !in_vain; ++k) sums[k] += sum_to(here.value, theirs[k]);
    };
    const auto hear = [&](std::span<const double> values, const std::vector<std::size_t>& theirs,
                          std::vector<double>&) {
      std::vector<double> value(here.value.size());
      for (std::size_t k = 0; k < theirs.size(); ++k) value[theirs[k]] = values[k];
      for (std::size_t k = 0; k < own.size() && !in_vain; ++k) here.attended[own[k]] += sum_to(value, own[k]);
    };
    result<std::vector<double>> home = asks ? round(with, l, {}, picked(here.attended, own), answer)
                                            : round(with, l, picked(here.value, own), {}, hear);
    if (!home) return std::move(home).error();
    for (std::size_t k = 0; k < own.size() && asks; ++k) here.attended[own[k]] = home.value()[k];
    return success();
  }

  result<void> round_backward(sharing& with, std::size_t l, layer_rows& here, const std::vector<double>& slopes) {
    const std::vector<std::size_t> own = places(with.own());
    const bool in_vain = goes_wrong(fault::returns_in_vain, l, &with);
    const bool asks = with.exchange() == exchange::queries;
    const auto add = [&](std::span<const double> rows, const std::vector<std::size_t>& theirs, std::vector<double>&) {
      std::vector<double> all(slopes.size());
      for (std::size_t k = 0; k < theirs.size(); ++k) all[theirs[k]] = rows[k];
      if (!in_vain) add_from(all, here.dvalue);
    };
    const auto give_back = [&](std::span<const double>, const std::vector<std::size_t>& theirs,
                               std::vector<double>& sums) {
      std::vector<double> all(slopes.size());
      add_from(slopes, all);
      for (std::size_t k = 0; k < theirs.size() && !in_vain; ++k) sums[k] += all[theirs[k]];
    };
    result<std::vector<double>> home =
        asks ? round(with, l, picked(slopes, own), {}, add) : round(with, l, {}, picked(here.dvalue, own), give_back);
    if (!home) return std::move(home).error();
    for (std::size_t k = 0; k < own.size() && !asks; ++k) here.dvalue[own[k]] = home.value()[k];
    return success();
  }

  int stage_;
  std::size_t layers_;
  place wrong_;
  double sum_{};
  std::map<sequence_id, arena> arenas_;
};

/// Two layers on each stage.
struct mean_model {
  place wrong{};
  std::unique_ptr<mean_stage> make(int stage, int /*stages*/) const {
    return std::make_unique<mean_stage>(stage, 2, wrong);
  }
  void load(mean_stage& s, std::span<const testing::document> batch) const {
    s.keys.clear();
    for (const testing::document& d : batch) s.keys.push_back(d.key);
  }
  std::vector<double> gradients(const mean_stage& s) const { return s.gradient; }
  void zero(mean_stage& s) const { s.gradient.assign(s.gradient.size(), 0); }
};

testing::report tried(const place& wrong) {
  return testing::stage_compute_laws(mean_model{wrong}, {.cases = 2, .longest = {40}, .stages = 2, .one_model = false});
}

bool says(const testing::report& r, std::string_view sentence) {
  return std::any_of(r.failures().begin(), r.failures().end(),
                     [&](const testing::failure& f) { return f.line.find(sentence) != std::string::npos; });
}

TEST(SharedComputeLaws, AcceptAComputeWithoutFault) {
  const testing::report r = tried({});
  EXPECT_TRUE(r) << r;
}

class FaultySharers : public ::testing::TestWithParam<place> {
 protected:
  [[nodiscard]] static std::string where(const place& at) {
    return "layer " + std::to_string(at.layer) + " of stage " + std::to_string(at.stage);
  }
};

TEST_P(FaultySharers, AreNamedByLayerAndReplica) {
  const place& wrong = GetParam();
  const std::string replica = "replica " + std::to_string(wrong.replica);
  const testing::report r = tried(wrong);
  const std::string expected = [&] {
    switch (wrong.what) {
      case fault::never_gives:
        return "(" + replica + ", stage " + std::to_string(wrong.stage) + "), F";
      case fault::gives_others:
        return " does not attend to keys and values as " + replica + " made them, in " + where(wrong);
      case fault::takes_in_vain:
        return replica + " makes no use of what it takes in " + where(wrong);
      case fault::forgets_rows:
        return replica + " does not keep what it takes from row to row, in " + where(wrong);
      case fault::owes_nothing:
      case fault::owes_this_row:
      case fault::owes_twice:
        return "what " + replica + " owes in " + where(wrong) + " is not the gradient of what it took";
      default:
        return replica + " does not add what is due to it once in " + where(wrong);
    }
  }();
  EXPECT_TRUE(says(r, expected)) << expected << '\n' << r;
  if (wrong.what == fault::never_gives) {
    EXPECT_TRUE(says(r, "before layer " + std::to_string(wrong.layer) + " of sequence ")) << r;
  }
  EXPECT_FALSE(says(r, "of cut sequences")) << "what is not shared is right";
}

/// At each place; where a sanitizer looks, one in five.
std::vector<place> every_fault() {
  std::vector<place> all, chosen;
  for (const fault what :
       {fault::never_gives, fault::gives_others, fault::takes_in_vain, fault::forgets_rows, fault::owes_nothing,
        fault::owes_this_row, fault::owes_twice, fault::due_twice, fault::due_in_vain})
    for (const int stage : {0, 1})
      for (const int layer : {0, 1})
        all.push_back({what, stage, layer, static_cast<std::uint32_t>(all.size() / 3 % 2)});
  for (std::size_t k = 0; k < all.size(); ++k)
    if (tests::is_tried(static_cast<int>(k))) chosen.push_back(all[k]);
  return chosen;
}
INSTANTIATE_TEST_SUITE_P(EveryFault, FaultySharers, ::testing::ValuesIn(every_fault()));

TEST(SharedComputeLaws, NameWhoGoesWrongWhereRowsGoRound) {
  int k = 0;
  for (const fault what : {fault::visits_in_vain, fault::returns_in_vain})
    for (const int stage : {0, 1})
      for (const int layer : {0, 1})
        for (const std::uint32_t replica : {static_cast<std::uint32_t>(layer), place::everywhere})
          for (const exchange how : {exchange::queries, exchange::ring}) {
            if (!tests::is_tried(k++, 3 * tests::one_in)) continue;
            const testing::report r = tried({what, stage, layer, replica, how});
            const bool asks = how == exchange::queries;
            const std::string who =
                replica == place::everywhere ? "every replica" : "replica " + std::to_string(replica);
            EXPECT_TRUE(says(r, who + (asks ? " goes wrong where queries go round"
                                            : " goes wrong where ring sends keys and values round")))
                << r;
            // What a rank adds to sums comes home wrong; what it adds to its own rows shows in the layer that runs
            // next.
            const bool in_sums = asks == (what == fault::visits_in_vain);
            const std::string where = " in layer " + std::to_string(layer) + " of stage " + std::to_string(stage);
            EXPECT_EQ(says(r, (what == fault::visits_in_vain ? "comes home forward" : "comes home backward") + where),
                      in_sums)
                << r;
            EXPECT_FALSE(says(r, "share by keep")) << "which has no fault";
          }
}

// As a fault in the code is, which all replicas have.
TEST(SharedComputeLaws, NameTheLayerOfAFaultThatAllReplicasHave) {
  int k = 0;
  for (const fault what :
       {fault::gives_others, fault::takes_in_vain, fault::owes_nothing, fault::due_twice, fault::due_in_vain})
    for (const int layer : {0, 1}) {
      if (!tests::is_tried(k++)) continue;
      const place wrong{what, 0, layer, place::everywhere};
      const testing::report r = tried(wrong);
      EXPECT_TRUE(says(r, "layer " + std::to_string(layer) + " of stage 0")) << static_cast<int>(what) << '\n' << r;
    }
}

}  // namespace
}  // namespace slimpack::shared_compute_laws_test
