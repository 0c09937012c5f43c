// A data loader that is spread over the ranks: each has some of the texts, and before a step sends every other rank the
// tokens that it needs, in the order in which it needs them. Two replicas of two stages.
#include <slimpack/executors/packflow.hpp>
#include <slimpack/planner_for.hpp>
#include <slimpack/transports/threads.hpp>
#include <slimpack/views/needs.hpp>

#include <array>
#include <cstdio>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

using token = std::int32_t;
using text = std::vector<token>;  // of a sequence, and the token after it, which is the last target

/// The tokens that a rank has for a step.
class shipped {
 public:
  void put(const slimpack::slice& at, std::span<const token> tokens) {
    runs_[at.sequence][at.begin].assign(tokens.begin(), tokens.end());
  }
  [[nodiscard]] token at(slimpack::sequence_id sequence, std::int64_t t) const {
    const auto run = std::prev(runs_.at(sequence).upper_bound({t}));
    return run->second.at(static_cast<std::size_t>(t - run->first.value));
  }

 private:
  std::map<slimpack::sequence_id, std::map<slimpack::tokens, text>> runs_;
};

/// The texts are dealt to the ranks in turn, whoever will run them.
int owner(slimpack::sequence_id sequence, int ranks) { return static_cast<int>(sequence.value) % ranks; }

/// What a rank needs of the texts that another one has.
template <class Visit>
void each_need(const slimpack::plan& plan, int rank, int from, int ranks, const Visit& visit) {
  const auto stages = static_cast<std::size_t>(plan.shape.stages);
  const auto at = static_cast<std::size_t>(rank);
  for (const slimpack::need_view& need : slimpack::views::needs(plan, at / stages, at % stages))
    if (owner(need.tokens.sequence, ranks) == from) visit(need);
}

/// Sends each rank its tokens in one message, and takes those that the others have for this one.
template <class Transport>
slimpack::result<shipped> ship(const slimpack::plan& plan, Transport& transport,
                               const std::map<slimpack::sequence_id, text>& own) {
  constexpr int channel = 1;
  const int ranks = transport.size();
  std::vector<text> sent(static_cast<std::size_t>(ranks)), got(sent.size());
  std::vector<typename Transport::handle> under_way;
  const auto lost = [&](const slimpack::error& e) {
    transport.abort(e.detail);  // until then others may still use these texts
    return e;
  };
  for (int peer = 0; peer < ranks; ++peer) {
    text& message = sent[static_cast<std::size_t>(peer)];
    each_need(plan, peer, transport.rank(), ranks, [&](const slimpack::need_view& need) {
      const auto first = own.at(need.tokens.sequence).begin() + need.tokens.begin.value;
      message.insert(message.end(), first, first + need.tokens.length.value);
    });
    std::size_t expected = 0;
    each_need(plan, transport.rank(), peer, ranks,
              [&](const slimpack::need_view& need) { expected += static_cast<std::size_t>(need.tokens.length.value); });
    text& into = got[static_cast<std::size_t>(peer)];
    if (peer == transport.rank()) {
      into = message;
      continue;
    }
    into.resize(expected);
    if (expected > 0) {
      auto posted = transport.receive(peer, channel, std::as_writable_bytes(std::span(into)));
      if (!posted) return lost(posted.error());
      under_way.push_back(std::move(posted).value());
    }
    if (!message.empty()) {
      auto posted = transport.send(peer, channel, std::as_bytes(std::span(message)));
      if (!posted) return lost(posted.error());
      under_way.push_back(std::move(posted).value());
    }
  }
  for (const auto& h : under_way)
    if (slimpack::result<void> through = transport.wait(h); !through) return lost(through.error());
  shipped tokens;
  for (int peer = 0; peer < ranks; ++peer) {
    std::size_t at = 0;
    each_need(plan, transport.rank(), peer, ranks, [&](const slimpack::need_view& need) {
      const auto length = static_cast<std::size_t>(need.tokens.length.value);
      tokens.put(need.tokens, std::span(got[static_cast<std::size_t>(peer)]).subspan(at, length));
      at += length;
    });
  }
  return tokens;
}

/// A model that expects a token to be 7 more than the one before: it needs texts at both ends of the pipeline.
struct stage {
  static constexpr slimpack::backward_cuts cuts = slimpack::backward_cuts::any;
  const shipped* tokens{};
  double sum{};
  slimpack::message_format format() const { return {1, slimpack::element_type::float64}; }
  double loss() const { return sum; }
  slimpack::result<void> forward(const slimpack::piece& p, std::span<const std::byte> in, slimpack::outgoing& out) {
    std::vector<double> y;
    for (std::int64_t i = 0; i < p.slice.length.value; ++i) {
      const double x = in.empty() ? tokens->at(p.slice.sequence, p.slice.begin.value + i)
                                  : slimpack::as<double>(in)[static_cast<std::size_t>(i)];
      y.push_back(x + 3.5);
      if (out.wanted()) continue;
      const double miss = y.back() - tokens->at(p.slice.sequence, p.slice.begin.value + i + 1);
      sum += p.loss_weight / static_cast<double>(p.slice.length.value) * miss * miss;
    }
    return out.put(y);
  }
  slimpack::result<void> backward(const slimpack::piece& p, std::span<const std::byte>, slimpack::outgoing& out) {
    return out.put(std::vector<double>(static_cast<std::size_t>(p.slice.length.value)));  // nothing is learnt here
  }
  void discard(const slimpack::piece&) {}
};

int main() {
  constexpr int ranks = 4;
  const std::vector<slimpack::tokens> lengths{{37}, {6}, {90}, {1}, {21}, {55}, {8}};
  const slimpack::plan plan =
      slimpack::planner_for<stage>({.stages = 2, .replicas = 2, .quantum = {4}})(lengths).value();
  const auto letter = [](slimpack::sequence_id s, std::size_t t) {
    return static_cast<token>((7 * t + 5 * s.value + t * t % 3) % 1000);
  };

  double expected = 0, tokens = 0;
  std::array<std::map<slimpack::sequence_id, text>, ranks> texts;
  for (slimpack::sequence_id s{}; s.value < lengths.size(); ++s.value) {
    text& t = texts[static_cast<std::size_t>(owner(s, ranks))][s];
    for (std::size_t i = 0; i <= static_cast<std::size_t>(lengths[s.value].value); ++i) t.push_back(letter(s, i));
    for (std::size_t i = 0; i + 1 < t.size(); ++i, ++tokens)
      expected += (t[i] + 7.0 - t[i + 1]) * (t[i] + 7.0 - t[i + 1]);
  }

  slimpack::transports::threads world{ranks};
  const auto run = [&](int rank) {
    auto port = world.endpoint(rank);
    const shipped mine = ship(plan, port, texts[static_cast<std::size_t>(rank)]).value();
    stage own{&mine};
    return slimpack::executors::packflow{}.execute(plan, own, port).value().loss_sum;
  };
  std::vector<std::future<double>> losses;
  for (int rank = 0; rank < ranks; ++rank) losses.push_back(std::async(std::launch::async, run, rank));
  for (int rank = 0; rank < ranks; ++rank) {
    std::size_t needed = 0;
    for (const slimpack::need_view& need :
         slimpack::views::needs(plan, static_cast<std::size_t>(rank) / 2, static_cast<std::size_t>(rank) % 2))
      needed += static_cast<std::size_t>(need.tokens.length.value);
    std::printf("rank %d needs %zu tokens, loss %.6f\n", rank, needed, losses[static_cast<std::size_t>(rank)].get());
  }
  std::printf("of whole texts       %.6f\n", expected / tokens);
}
