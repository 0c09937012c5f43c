#ifndef SLIMPACK_TESTS_ADOPTION_EXAMPLE_MODELS_HPP
#define SLIMPACK_TESTS_ADOPTION_EXAMPLE_MODELS_HPP

#include <slimpack/executors/joined/row_threads.hpp>
#include <slimpack/executors/packflow.hpp>
#include <slimpack/planner_for.hpp>
#include <slimpack/testing/stage_compute_laws.hpp>
#include <slimpack/transports/blocking.hpp>
#include <slimpack/transports/threads.hpp>

#include <Eigen/Core>

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

// The examples as they are, each in a namespace; what they include is included above. Their main is not called.
// Their functions are not inline, so one test includes this.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"
namespace adopt {
#include "../../examples/adopt.cpp"
}
namespace adopt_autograd {
#include "../../examples/adopt_autograd.cpp"
}
namespace adopt_graph_packs {
#include "../../examples/adopt_graph_packs.cpp"
}
namespace adopt_arena {
#include "../../examples/adopt_arena.cpp"
}
namespace adopt_fixed {
#include "../../examples/adopt_fixed.cpp"
}
namespace adopt_shared {
#include "../../examples/adopt_shared.cpp"
}
namespace adopt_shared_autograd {
#include "../../examples/adopt_shared_autograd.cpp"
}
namespace adopt_shared_calls {
#include "../../examples/adopt_shared_calls.cpp"
}
#pragma GCC diagnostic pop

namespace slimpack::tests {

/// A compute whose sequences have contents by their number, given those of the laws' documents.
template <class Compute>
struct keyed : Compute {
  std::vector<std::uint32_t> keys{};

  void load(std::span<const testing::document> batch) {
    keys.clear();
    for (const testing::document& d : batch) keys.push_back(static_cast<std::uint32_t>(d.key));
  }
  [[nodiscard]] piece with_key(piece p) const {
    p.slice.sequence = {keys[p.slice.sequence.value]};
    return p;
  }
  result<void> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    return Compute::forward(with_key(p), in, out);
  }
  result<void> backward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    return Compute::backward(with_key(p), in, out);
  }
  void discard(const piece& p) { Compute::discard(with_key(p)); }
};

/// The model of examples/adopt.cpp, with the fault that a Stage derived from its own puts in.
template <class Stage = keyed<adopt::attention>>
struct numbers_under_test {
  std::unique_ptr<Stage> make(int /*stage*/, int /*stages*/) const { return std::make_unique<Stage>(); }
  void load(Stage& s, std::span<const testing::document> batch) const { s.load(batch), s.sum = 0; }
  std::vector<double> gradients(const Stage& s) const { return {s.da, s.db, s.dc}; }
  void zero(Stage& s) const { s.da = s.db = s.dc = 0; }
};

/// The model of examples/adopt_autograd.cpp.
struct autograd_under_test {
  struct stage {
    using state = adopt_autograd::stage::state;
    adopt_autograd::layer layer{};
    keyed<adopt_autograd::stage> inner{{layer}};

    [[nodiscard]] message_format format() const { return inner.format(); }
    void begin_step(const step_outline& o) { inner.begin_step(o); }
    [[nodiscard]] double loss() const { return inner.loss(); }
    [[nodiscard]] int reductions(int chunk) const { return inner.reductions(chunk); }
    result<state> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
      return inner.adopt_autograd::stage::forward(inner.with_key(p), in, out);
    }
    result<void> backward(const piece& p, state s, std::span<const std::byte> in, outgoing& out) {
      return inner.adopt_autograd::stage::backward(inner.with_key(p), std::move(s), in, out);
    }
    void discard(const piece& p, const state& s) { inner.adopt_autograd::stage::discard(inner.with_key(p), s); }
  };
  std::unique_ptr<stage> make(int /*stage*/, int /*stages*/) const { return std::make_unique<stage>(); }
  void load(stage& s, std::span<const testing::document> batch) const { s.inner.load(batch); }
  std::vector<double> gradients(const stage& s) const {
    std::vector<double> all;
    for (const adopt_autograd::tensor& w : s.layer.w)
      all.insert(all.end(), w->grad.data(), w->grad.data() + w->grad.size());
    return all;
  }
  void zero(stage& s) const {
    for (const adopt_autograd::tensor& w : s.layer.w) w->grad.setZero();
  }
};

/// The model of examples/adopt_arena.cpp.
struct arena_under_test {
  using stage = keyed<adopt_arena::stage>;
  std::unique_ptr<stage> make(int /*stage*/, int /*stages*/) const { return std::make_unique<stage>(); }
  void load(stage& s, std::span<const testing::document> batch) const { s.load(batch); }
  std::vector<double> gradients(const stage& s) const {
    std::vector<double> all;
    for (const adopt_arena::row& r : s.own.gradients) all.insert(all.end(), r.begin(), r.end());
    return all;
  }
  void zero(stage& s) const { s.own.gradients = {}; }
};

/// The model of examples/adopt_fixed.cpp.
struct fixed_under_test {
  struct stage : adopt_fixed::stage {
    std::vector<std::uint32_t> keys{};

    result<void> forward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
      return adopt_fixed::stage::forward(with_keys(pack), in, out);
    }
    result<void> backward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
      return adopt_fixed::stage::backward(with_keys(pack), in, out);
    }
    void discard(const piece& p) { adopt_fixed::stage::discard(with_keys({&p, 1})[0]); }
    [[nodiscard]] std::vector<piece> with_keys(std::span<const piece> pack) const {
      std::vector<piece> keyed(pack.begin(), pack.end());
      for (piece& p : keyed) p.slice.sequence = {keys[p.slice.sequence.value]};
      return keyed;
    }
  };
  std::unique_ptr<stage> make(int /*stage*/, int /*stages*/) const { return std::make_unique<stage>(); }
  void load(stage& s, std::span<const testing::document> batch) const {
    s.keys.clear();
    for (const testing::document& d : batch) s.keys.push_back(static_cast<std::uint32_t>(d.key));
  }
  std::vector<double> gradients(stage& s) const {
    std::vector<double> all;
    for (const adopt_fixed::linear* l : s.own.modules())
      for (const adopt_fixed::row& r : l->gradients) all.insert(all.end(), r.begin(), r.end());
    return all;
  }
  void zero(stage& s) const {
    for (adopt_fixed::linear* l : s.own.modules()) l->gradients = {};
  }
};

/// Pieces with the keys of their documents, for computes that are called with several.
struct keyed_pieces {
  std::vector<std::uint32_t> keys{};

  void load(std::span<const testing::document> batch) {
    keys.clear();
    for (const testing::document& d : batch) keys.push_back(static_cast<std::uint32_t>(d.key));
  }
  [[nodiscard]] std::vector<piece> operator()(std::span<const piece> pieces) const {
    std::vector<piece> all(pieces.begin(), pieces.end());
    for (piece& p : all) p.slice.sequence = {keys[p.slice.sequence.value]};
    return all;
  }
  [[nodiscard]] piece operator()(const piece& p) const { return (*this)({&p, 1})[0]; }
};

/// The model of examples/adopt_graph_packs.cpp.
struct graph_packs_under_test {
  struct stage {
    using base = adopt_graph_packs::stage;
    using state = base::state;
    adopt_graph_packs::layer layer{};
    base inner{layer};
    keyed_pieces keyed{};

    [[nodiscard]] message_format format() const { return inner.format(); }
    void begin_step(const step_outline& o) { inner.begin_step(o); }
    [[nodiscard]] double loss() const { return inner.loss(); }
    result<void> forward(std::span<const piece> pack, std::span<state> states, std::span<const std::byte> in,
                         outgoing& out) {
      return inner.forward(keyed(pack), states, in, out);
    }
    result<void> backward(std::span<const piece> pack, std::span<state> states, std::span<const std::byte> in,
                          outgoing& out) {
      return inner.backward(keyed(pack), states, in, out);
    }
    void discard(const piece& p, const state& s) { inner.discard(keyed(p), s); }
  };
  std::unique_ptr<stage> make(int /*stage*/, int /*stages*/) const { return std::make_unique<stage>(); }
  void load(stage& s, std::span<const testing::document> batch) const { s.keyed.load(batch); }
  std::vector<double> gradients(const stage& s) const {
    std::vector<double> all;
    for (const adopt_graph_packs::tensor& w : s.layer.w)
      all.insert(all.end(), w->grad.data(), w->grad.data() + w->grad.size());
    return all;
  }
  void zero(stage& s) const {
    for (const adopt_graph_packs::tensor& w : s.layer.w) w->grad.setZero();
  }
};

/// The model of examples/adopt_shared.cpp.
struct shared_under_test {
  struct stage : adopt_shared::stage {
    keyed_pieces keyed{};
    using message = std::span<const std::byte>;

    result<void> forward(const piece& p, message in, outgoing& out) {
      return adopt_shared::stage::forward(keyed(p), in, out);
    }
    result<void> backward(const piece& p, message in, outgoing& out) {
      return adopt_shared::stage::backward(keyed(p), in, out);
    }
    result<void> forward(std::span<const piece> row, message in, outgoing& out, sharing& with) {
      return adopt_shared::stage::forward(keyed(row), in, out, with);
    }
    result<void> backward(std::span<const piece> row, message in, outgoing& out, sharing& with) {
      return adopt_shared::stage::backward(keyed(row), in, out, with);
    }
    void discard(const piece& p) { adopt_shared::stage::discard(keyed(p)); }
  };
  std::unique_ptr<stage> make(int /*stage*/, int /*stages*/) const { return std::make_unique<stage>(); }
  void load(stage& s, std::span<const testing::document> batch) const { s.keyed.load(batch); }
  std::vector<double> gradients(const stage& s) const {
    std::vector<double> all;
    for (const adopt_shared::row& r : s.own.gradients) all.insert(all.end(), r.begin(), r.end());
    return all;
  }
  void zero(stage& s) const { s.own.gradients = {}; }
};

/// The model of examples/adopt_shared_autograd.cpp.
struct shared_autograd_under_test {
  struct stage : adopt_shared_autograd::stage {
    keyed_pieces keyed{};
    using base = adopt_shared_autograd::stage;

    result<state> forward(const piece& p, message in, outgoing& out) { return base::forward(keyed(p), in, out); }
    result<void> backward(const piece& p, state s, message in, outgoing& out) {
      return base::backward(keyed(p), std::move(s), in, out);
    }
    result<void> forward(pieces row, states s, message in, outgoing& out, sharing& with) {
      return base::forward(keyed(row), s, in, out, with);
    }
    result<void> backward(pieces row, states s, message in, outgoing& out, sharing& with) {
      return base::backward(keyed(row), s, in, out, with);
    }
    void discard(const piece& p, const state& s) { base::discard(keyed(p), s); }
  };
  std::unique_ptr<stage> make(int /*stage*/, int /*stages*/) const { return std::make_unique<stage>(); }
  void load(stage& s, std::span<const testing::document> batch) const { s.keyed.load(batch); }
  std::vector<double> gradients(const stage& s) const {
    std::vector<double> all;
    for (const adopt_shared_autograd::tensor& w : s.own.w)
      all.insert(all.end(), w->grad.data(), w->grad.data() + w->grad.size());
    return all;
  }
  void zero(stage& s) const {
    for (const adopt_shared_autograd::tensor& w : s.own.w) w->grad.setZero();
  }
};

/// The model of examples/adopt_shared_calls.cpp.
struct shared_calls_under_test {
  struct stage : adopt_shared_calls::stage {
    keyed_pieces keyed{};
    using base = adopt_shared_calls::stage;

    result<state> forward(const piece& p, message in, outgoing& out) { return base::forward(keyed(p), in, out); }
    result<void> backward(const piece& p, state s, message in, outgoing& out) {
      return base::backward(keyed(p), std::move(s), in, out);
    }
    result<void> forward(pieces row, states s, message in, outgoing& out, sharing& with) {
      std::size_t most = most_pieces;
      while (row.size() > most && !most_pieces.compare_exchange_weak(most, row.size())) continue;
      return base::forward(keyed(row), s, in, out, with);
    }
    result<void> backward(pieces row, states s, message in, outgoing& out, sharing& with) {
      return base::backward(keyed(row), s, in, out, with);
    }
    void discard(const piece& p, const state& s) { base::discard(keyed(p), s); }
    static inline std::atomic<std::size_t> most_pieces;
  };
  std::unique_ptr<stage> make(int /*stage*/, int /*stages*/) const { return std::make_unique<stage>(); }
  void load(stage& s, std::span<const testing::document> batch) const { s.keyed.load(batch); }
  std::vector<double> gradients(const stage& s) const {
    std::vector<double> all;
    for (const adopt_shared_calls::layer& l : s.own)
      for (const adopt_shared_calls::tensor& w : l.w)
        all.insert(all.end(), w->grad.data(), w->grad.data() + w->grad.size());
    return all;
  }
  void zero(stage& s) const {
    for (const adopt_shared_calls::layer& l : s.own)
      for (const adopt_shared_calls::tensor& w : l.w) w->grad.setZero();
  }
};

}  // namespace slimpack::tests

#endif
