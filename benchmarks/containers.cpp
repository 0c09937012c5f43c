// Which containers suit what the runtime keeps of a plan: those of the standard library, or of Boost.Container?
//
// Cost of uniform_pipeline.hpp; the first 512 lengths of a list in file order, cut at 262144 tokens; 8 replicas of 4
// stages, whose memory limit is 0.75 of the longest sequence, at least 65536 tokens: they share some. No randomness. On
// what all ranks keep of that plan:
//   pieces of a sequence   forward pieces that wait for their backward ones (detail::stage_script)
//   sharers' pieces        the slices of a row that replicas run together
//   message ends           whom an instruction hears and tells
//   mailboxes              receives and messages of a rank by peer and channel (detail::mailbox), 4 receives posted
//                          ahead
//   messages under way     sends of a rank, in order, of which 2 are under way
// Each line is the median of 31 rounds, in which the containers of a question take turns; the ratio is to the first.
//
//   slimpack-bench-containers [LIST.txt]     default: examples/data/lengths/mooncake_conversation.txt,
//                                            from the project's root
#include "median_time.hpp"
#include "uniform_pipeline.hpp"

#include <slimpack/executors/detail/messages/memory_block.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/io/lengths.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/transports/detail/mailbox.hpp>
#include <slimpack/views.hpp>

#include <boost/container/deque.hpp>
#include <boost/container/flat_map.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/container/static_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using namespace slimpack;
namespace container = boost::container;

constexpr std::size_t few = 4;
constexpr std::size_t posted_ahead = 4, sends_under_way = 2;

std::size_t sink;  // what every round adds to, so that none is left out

/// How many items lists have.
struct sizes {
  std::size_t lists{}, items{}, most{};
  void add(std::size_t size) { ++lists, items += size, most = std::max(most, size); }
};

struct contender {
  std::string name;
  std::function<void()> round;
};

void compare(const char* question, std::size_t operations, const std::string& of, const std::vector<contender>& all) {
  std::vector<std::vector<double>> times(all.size());
  for (int round = 0; round < 31; ++round)
    for (std::size_t k = 0; k < all.size(); ++k) times[k].push_back(median_time(1, all[k].round));
  std::printf("%s: %s\n", question, of.c_str());
  double first = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    std::nth_element(times[k].begin(), times[k].begin() + 15, times[k].end());
    const double each = 1e9 * times[k][15] / static_cast<double>(operations);
    if (k == 0) first = each;
    std::printf("  %-52s %8.1f ns %7.2f\n", all[k].name.c_str(), each, each / first);
  }
}

std::string told(const sizes& s, const char* lists) {
  char text[120];
  std::snprintf(text, sizeof text, "%zu %s of %.2f, at most %zu", s.lists, lists,
                static_cast<double>(s.items) / static_cast<double>(s.lists), s.most);
  return text;
}

plan shared_plan(const std::filesystem::path& list) {
  std::vector<tokens> lengths = io::read_lengths(list).value();
  lengths.resize(std::min<std::size_t>(lengths.size(), 512));
  for (tokens& length : lengths) length = std::min(length, tokens{262144});
  shape on{.stages = 4, .replicas = 8, .memory = benchmarks::times_longest(.75, lengths)};
  on.memory->amount = std::max(on.memory->amount, 65536.0);
  return planner{on, slicers::equal_cost{}, benchmarks::uniform_cost}(lengths).value();
}

// --- Pieces of a sequence: stage_script::match, for each replica -----------------------------------------------------

template <class Stack>
void match(const plan& p) {
  for (std::size_t r = 0; r < p.replicas.size(); ++r) {
    std::vector<Stack> open(p.lengths.size());
    std::uint32_t number = 0;
    for (const pack_view& pack : views::packs(p, r, pass::forward))
      for (const slice& s : pack.slices) open[s.sequence.value].push_back(number++);
    for (const pack_view& pack : views::packs(p, r, pass::backward))
      for (const slice& s : pack.slices) {
        Stack& of = open[s.sequence.value];
        if (of.empty()) continue;  // backward of these plans is cut elsewhere, into more pieces
        sink += of.back();
        of.pop_back();
      }
  }
}

void pieces(const plan& p) {
  sizes found;
  std::size_t moved = 0;
  for (std::size_t r = 0; r < p.replicas.size(); ++r) {
    std::vector<std::size_t> of(p.lengths.size());
    for (const pack_view& pack : views::packs(p, r, pass::forward))
      for (const slice& s : pack.slices) ++of[s.sequence.value], ++moved;
    for (const std::size_t count : of)
      if (count > 0) found.add(count);
  }
  compare("pieces of a sequence", moved, told(found, "sequences of a replica"),
          {{"std::vector", [&] { match<std::vector<std::uint32_t>>(p); }},
           {"boost::container::small_vector, 4", [&] { match<container::small_vector<std::uint32_t, few>>(p); }}});
}

// --- Sharers' pieces: the slices of each row -------------------------------------------------------------------------

template <class List>
void collect(const plan& p) {
  for (const row_view& row : views::rows(p)) {
    List all;
    for (const slice_view& s : views::row_slices(p, row)) all.push_back(s.slice);
    for (const slice& s : all) sink += static_cast<std::size_t>(s.length.value);
  }
}

void rows(const plan& p) {
  sizes found;
  for (const row_view& row : views::rows(p)) {
    std::size_t count = 0;
    for ([[maybe_unused]] const slice_view& s : views::row_slices(p, row)) ++count;
    found.add(count);
  }
  if (found.lists == 0) return;
  std::vector<contender> all{
      {"std::vector", [&] { collect<std::vector<slice>>(p); }},
      {"boost::container::small_vector, 4", [&] { collect<container::small_vector<slice, few>>(p); }}};
  constexpr std::size_t room = 64;  // no bound of the rows of other plans
  if (found.most <= room)
    all.push_back({"boost::container::static_vector, 64", [&] { collect<container::static_vector<slice, room>>(p); }});
  compare("sharers' pieces", found.lists, told(found, "rows"), all);
}

// --- What a rank hears and tells -------------------------------------------------------------------------------------

using detail::message_end;
using list_of_ends = std::vector<message_end>;

struct rank_messages {
  std::vector<list_of_ends> sources, targets;  ///< per instruction
  std::vector<std::pair<int, int>> received;   ///< peer and channel of each message and each row, in order
};

/// Of each rank, as its script says. A row comes from each other sharer, before the pack that has it.
std::vector<rank_messages> messages_of(const plan& p) {
  std::vector<rank_messages> all;
  for (int rank = 0; rank < static_cast<int>(p.shape.replicas * p.shape.stages); ++rank) {
    const detail::stage_script script = detail::stage_script::of(p, rank, backward_cuts::any, exchange_set{}).value();
    const auto own = static_cast<std::uint32_t>(script.replica);
    std::map<std::pair<pass, std::uint32_t>, std::vector<int>> peers;  // of a pack's rows
    for (const row_view& row : views::rows(p)) {
      const auto at = std::find(row.sharers.begin(), row.sharers.end(), own);
      if (at == row.sharers.end()) continue;
      const pack_id pack = row.packs[static_cast<std::size_t>(at - row.sharers.begin())];
      if (pack == merge::none) continue;
      for (const std::uint32_t other : row.sharers)
        if (other != own)
          peers[{row.pass, pack.value}].push_back(static_cast<int>(other) * p.shape.stages + script.stage);
    }
    rank_messages& of = all.emplace_back();
    for (const instruction& i : script.code) {
      const auto from = script.sources(i), to = script.targets(i);
      of.sources.emplace_back(from.begin(), from.end());
      of.targets.emplace_back(to.begin(), to.end());
      for (const message_end& one : from) of.received.emplace_back(one.rank, one.channel);
      if (const auto rows_of = peers.find({i.pass(), i.pack.value}); rows_of != peers.end())
        for (const int peer : rows_of->second) of.received.emplace_back(peer, shared_rows_channel);
    }
  }
  return all;
}

template <class List>
void list_ends(const std::vector<rank_messages>& all) {
  for (const rank_messages& rank : all)
    for (const auto* side : {&rank.sources, &rank.targets})
      for (const list_of_ends& ends : *side) {
        List made;
        for (const message_end& one : ends) made.push_back(one);
        for (const message_end& one : made) sink += static_cast<std::size_t>(one.rank + one.channel);
      }
}

void ends(const std::vector<rank_messages>& all) {
  sizes found;
  for (const rank_messages& rank : all)
    for (const auto* side : {&rank.sources, &rank.targets})
      for (const list_of_ends& one : *side) found.add(one.size());
  // A list has one end, and more only where a vocabulary is spread over the stages: then as many as there are stages.
  compare(
      "message ends", found.lists, told(found, "lists"),
      {{"std::vector", [&] { list_ends<list_of_ends>(all); }},
       {"boost::container::small_vector, 4", [&] { list_ends<container::small_vector<message_end, few>>(all); }},
       {"boost::container::static_vector, 4", [&] { list_ends<container::static_vector<message_end, few>>(all); }}});
}

// --- Mailboxes -------------------------------------------------------------------------------------------------------

/// As detail::mailbox has them, with small payloads.
template <class Queue>
struct route {
  Queue posted, arrived;
};

struct route_hash {
  std::size_t operator()(const std::pair<int, int>& of) const noexcept {
    return std::hash<std::uint64_t>{}((static_cast<std::uint64_t>(static_cast<std::uint32_t>(of.first)) << 32) |
                                      static_cast<std::uint32_t>(of.second));
  }
};

template <class Queue>
void pop_front(Queue& of) {
  if constexpr (requires { of.pop_front(); })
    of.pop_front();
  else
    of.erase(of.begin());
}

/// Each receive is posted, and its message comes when so many more have been posted.
template <class Routes>
void receive_all(const std::vector<rank_messages>& all) {
  for (const rank_messages& rank : all) {
    Routes routes;
    for (std::size_t k = 0; k < rank.received.size() + posted_ahead; ++k) {
      if (k < rank.received.size()) routes[rank.received[k]].posted.push_back(std::make_shared<std::size_t>(k));
      if (k < posted_ahead) continue;
      auto& of = routes[rank.received[k - posted_ahead]];
      sink += *of.posted.front();
      pop_front(of.posted);
    }
    for (auto& [where, of] : routes) of.posted.clear(), of.arrived.clear();
  }
}

/// The same by the mailbox itself, whose messages are empty.
void receive_by_mailbox(const std::vector<rank_messages>& all) {
  for (const rank_messages& rank : all) {
    detail::mailbox box;
    for (std::size_t k = 0; k < rank.received.size() + posted_ahead; ++k) {
      if (k < rank.received.size()) sink += box.post(rank.received[k].first, rank.received[k].second, {}).has_value();
      if (k < posted_ahead) continue;
      const auto [peer, channel] = rank.received[k - posted_ahead];
      box.deliver(peer, channel, 0, {});
    }
  }
}

void mailboxes(const std::vector<rank_messages>& all) {
  sizes found;
  std::size_t messages = 0;
  for (const rank_messages& rank : all) {
    std::vector<std::pair<int, int>> routes = rank.received;
    std::sort(routes.begin(), routes.end());
    found.add(static_cast<std::size_t>(std::unique(routes.begin(), routes.end()) - routes.begin()));
    messages += rank.received.size();
  }
  using key = std::pair<int, int>;
  using of_deques = route<std::deque<std::shared_ptr<std::size_t>>>;
  using of_boost_deques = route<container::deque<std::shared_ptr<std::size_t>>>;
  using of_small = route<container::small_vector<std::shared_ptr<std::size_t>, few>>;
  compare(
      "mailboxes", messages, told(found, "ranks with routes") + "; " + std::to_string(messages) + " messages",
      {{"std::map of std::deque", [&] { receive_all<std::map<key, of_deques>>(all); }},
       {"std::unordered_map of std::deque", [&] { receive_all<std::unordered_map<key, of_deques, route_hash>>(all); }},
       {"boost::container::flat_map of std::deque", [&] { receive_all<container::flat_map<key, of_deques>>(all); }},
       {"boost::container::flat_map of its deque",
        [&] { receive_all<container::flat_map<key, of_boost_deques>>(all); }},
       {"std::map of small_vector, 4", [&] { receive_all<std::map<key, of_small>>(all); }},
       {"boost::container::flat_map of small_vector, 4", [&] { receive_all<container::flat_map<key, of_small>>(all); }},
       {"detail::mailbox itself, with its lock", [&] { receive_by_mailbox(all); }}});
}

// --- Messages under way ----------------------------------------------------------------------------------------------

/// As detail::messages keeps one.
struct transfer {
  detail::memory_block memory;
  std::size_t under_way{};
  std::size_t at{};
  std::uint32_t number{};
};

template <class Queue>
void send_all(const std::vector<rank_messages>& all) {
  for (const rank_messages& rank : all) {
    const std::shared_ptr<void> memory = std::make_shared<int>();
    Queue way;
    std::size_t at = 0;
    for (const list_of_ends& to : rank.targets) {
      for (std::size_t k = 0; k < to.size(); ++k) {
        way.push_back(transfer{});
        way.back().memory.owner = memory;
        way.back().at = at++;
      }
      while (way.size() > sends_under_way) {
        sink += way.front().at;
        pop_front(way);
      }
    }
  }
}

void under_way(const std::vector<rank_messages>& all) {
  std::size_t messages = 0;
  for (const rank_messages& rank : all)
    for (const list_of_ends& to : rank.targets) messages += to.size();
  compare("messages under way", messages, std::to_string(messages) + " messages",
          {{"std::deque", [&] { send_all<std::deque<transfer>>(all); }},
           {"boost::container::deque", [&] { send_all<container::deque<transfer>>(all); }},
           {"boost::container::small_vector, 4", [&] { send_all<container::small_vector<transfer, few>>(all); }},
           {"boost::container::static_vector, 4", [&] { send_all<container::static_vector<transfer, few>>(all); }}});
}

int usage(std::FILE* to, int status) {
  std::fputs("usage: slimpack-bench-containers [LIST.txt]\n", to);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  if (words.size() == 1 && words[0] == "--help") return usage(stdout, 0);
  if (words.size() > 1 || (words.size() == 1 && words[0].starts_with('-'))) return usage(stderr, 2);
  try {
    const plan p = shared_plan(words.empty() ? "examples/data/lengths/mooncake_conversation.txt" : words[0]);
    std::printf(
        "8 replicas of 4 stages, %zu sequences, %zu shared; time of an item (a row, a list, a message), and ratio to "
        "the first\n",
        p.lengths.size(), p.merges.size());
    const std::vector<rank_messages> all = messages_of(p);
    pieces(p);
    rows(p);
    ends(all);
    mailboxes(all);
    under_way(all);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return sink == 0;
}
