// What a rank compiles that only executes: a compute of its own, its own blocking link, packflow; no planner.
#include <slimpack/executors/packflow.hpp>
#include <slimpack/transports/blocking.hpp>

#include <cstddef>
#include <span>
#include <vector>

struct stage {
  slimpack::message_format format() const { return {1, slimpack::element_type::float64}; }
  double loss() const { return 0; }
  slimpack::result<void> forward(const slimpack::piece& p, std::span<const std::byte> in, slimpack::outgoing& out) {
    return out.put(rows(p, in));
  }
  slimpack::result<void> backward(const slimpack::piece& p, std::span<const std::byte> in, slimpack::outgoing& out) {
    return out.put(rows(p, in));
  }
  void discard(const slimpack::piece&) {}

 private:
  static std::vector<double> rows(const slimpack::piece& p, std::span<const std::byte> in) {
    std::vector<double> all(static_cast<std::size_t>(p.slice.length.value), 1.0);
    if (!in.empty())
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = 2 * slimpack::as<double>(in)[i];
    return all;
  }
};

struct trainer_link {
  bool send(int peer, std::span<const std::byte> bytes);
  bool receive(int peer, std::span<std::byte> bytes);
};

slimpack::result<slimpack::step_report> step(const slimpack::plan& plan, stage& mine,
                                             slimpack::transports::blocking<trainer_link>& over) {
  return slimpack::executors::packflow{}.execute(plan, mine, over);
}

slimpack::transports::blocking<trainer_link> connect(int rank, int size) { return {trainer_link{}, rank, size}; }
