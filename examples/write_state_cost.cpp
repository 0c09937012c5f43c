// A cost model of layers that have a state instead of attention, as Mamba and linear attention have: time is linear in
// tokens, and the state, of a fixed size, is passed from slice to slice.
#include <slimpack/planner.hpp>
#include <slimpack/testing/cost_model_laws.hpp>

#include <algorithm>
#include <iostream>
#include <optional>

struct state_layers {
  double token{1e-6};       // seconds
  double token_bytes{2e5};  // activations that a stage keeps of a token
  double state_bytes{3e8};  // all states of a stage
  double hand_over{2e-5};   // seconds to store or load them

  slimpack::seconds time(const slimpack::slice& s, slimpack::pass p, int /*part*/) const {
    const double forward = token * static_cast<double>(s.length.value);
    return {p == slimpack::pass::forward ? forward : 2 * forward};
  }
  /// Whoever cuts more hands over more often.
  slimpack::seconds call_overhead(slimpack::pass, int /*part*/) const { return {hand_over}; }
  std::optional<slimpack::memory_rates> memory(int /*stage*/) const {
    return slimpack::memory_rates{.fixed = 4e9, .live_token = token_bytes};
  }
  /// Backward begins from the state before a piece, kept until then. A sequence's first piece begins without one.
  slimpack::bytes kept(const slimpack::slice& piece, int /*stage*/) const {
    return {piece.begin > slimpack::tokens{0} ? state_bytes : 0};
  }
};

// The same with a slip: what is paid once a slice is counted as time of its tokens, so that cutting adds work.
struct handing_over : state_layers {
  slimpack::seconds time(const slimpack::slice& s, slimpack::pass p, int part) const {
    return state_layers::time(s, p, part) + slimpack::seconds{hand_over};
  }
};

int main() {
  // Both reports are shown here. In a test, assert one, since it converts to bool: EXPECT_TRUE(report) << report.
  std::cout << slimpack::testing::cost_model_laws(state_layers{});
  std::cout << "\n" << slimpack::testing::cost_model_laws(handing_over{}) << "\n";

  // States count under a limit in bytes, piece by piece: where memory is short, smaller packs have more of them.
  const std::vector<slimpack::tokens> lengths{{65536}, {30000}, {3000}, {2000}, {20000}, {900}};
  for (const double limit : {40e9, 22e9, 19e9}) {
    slimpack::planner plan_batch{{.stages = 4, .memory = slimpack::memory_limit{slimpack::memory_unit::byte, limit}},
                                 slimpack::slicers::equal_cost{},
                                 state_layers{}};
    const slimpack::plan p = plan_batch(lengths).value();
    const auto& peaks = p.replicas[0].peak_memory;
    std::cout << "limit " << limit / 1e9 << " GB: at most " << *std::max_element(peaks.begin(), peaks.end()) / 1e9
              << " GB held, efficiency " << static_cast<int>(100 * p.efficiency) << " %\n";
  }
}
