#include "experiment.hpp"

#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <variant>

namespace slimpack::tests {
namespace {

namespace s4u = simgrid::s4u;

/// SimGrid's settings are words of a command line. Without these its network is one of TCP flows, which ramp up, are
/// held back by traffic in the other direction, and have a largest window.
struct command_line {
  std::vector<std::string> words{"witness", "--cfg=network/model:CM02", "--cfg=network/TCP-gamma:0",
                                 "--cfg=network/crosstraffic:0", "--log=xbt_cfg.thresh:warning"};
  std::vector<char*> pointers{};
  int count{};

  command_line() {
    for (std::string& word : words) pointers.push_back(word.data());
    count = static_cast<int>(pointers.size());
    pointers.push_back(nullptr);
  }
};

}  // namespace

void experiment::order(task first, task then) {
  std::vector<task>& successors = tasks_[first].successors;
  if (std::find(successors.begin(), successors.end(), then) == successors.end()) successors.push_back(then);
}

void experiment::forget(task first, task then) {
  std::vector<task>& successors = tasks_[first].successors;
  successors.erase(std::remove(successors.begin(), successors.end(), then), successors.end());
}

/// A power of two, so that it changes no digit, which makes the busiest stage take 512 to 1024 of SimGrid's seconds:
/// SimGrid takes dates for equal that are within 1e-9 s.
double experiment::time_unit() const {
  std::vector<double> busy(static_cast<std::size_t>(stages_), 0);
  for (const job& a : tasks_)
    if (a.medium == medium::stage) busy[a.from] += a.duration.value;
  const double most = *std::max_element(busy.begin(), busy.end());
  return most > 0 ? std::ldexp(1, 9 - std::ilogb(most)) : 1;
}

std::vector<seconds> experiment::ends() const {
  const double unit = time_unit();
  command_line settings;
  s4u::Engine engine(&settings.count, settings.pointers.data());
  s4u::NetZone* const zone = s4u::create_full_zone("cluster");
  std::vector<s4u::Host*> hosts;
  for (int r = 0; r < stages_; ++r) hosts.push_back(zone->create_host("stage" + std::to_string(r), 1.0));
  const auto wires = std::count_if(tasks_.begin(), tasks_.end(), [](const job& a) { return a.medium == medium::wire; });
  s4u::Host* const wire =
      zone->create_host("wires", 1.0)->set_core_count(static_cast<int>(std::max<std::ptrdiff_t>(1, wires)));
  for (const auto& [between, over] : links_) {
    const std::string name = std::to_string(between.first) + " to " + std::to_string(between.second);
    s4u::Link* const link = zone->create_link(name, over.bandwidth / unit)
                                ->set_latency(over.latency.value * unit)
                                ->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE);
    zone->add_route(hosts[between.first]->get_netpoint(), hosts[between.second]->get_netpoint(), nullptr, nullptr,
                    {s4u::LinkInRoute(link)}, false);
  }
  zone->seal();

  // SimGrid 3.32 wants edges first, then the wish to start, then the places; in another order it runs nothing.
  std::vector<std::variant<s4u::ExecPtr, s4u::CommPtr>> activities;
  for (const job& a : tasks_) {
    if (a.medium == medium::link)
      activities.emplace_back(
          s4u::CommPtr(s4u::Comm::sendto_init()->set_payload_size(static_cast<std::uint64_t>(a.size.value))));
    else
      activities.emplace_back(s4u::ExecPtr(s4u::Exec::init()->set_flops_amount(a.duration.value * unit)));
  }
  const auto any = [](const auto& activity) { return s4u::ActivityPtr(activity); };
  for (std::size_t i = 0; i < tasks_.size(); ++i)
    for (const task next : tasks_[i].successors)
      std::visit([&](const auto& activity) { activity->add_successor(std::visit(any, activities[next])); },
                 activities[i]);
  for (const auto& activity : activities) std::visit(any, activity)->vetoable_start();
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const job& a = tasks_[i];
    if (const auto* const exec = std::get_if<s4u::ExecPtr>(&activities[i]))
      (*exec)->set_host(a.medium == medium::wire ? wire : hosts[a.from]);
    else
      std::get<s4u::CommPtr>(activities[i])->set_source(hosts[a.from])->set_destination(hosts[a.to]);
  }
  const double begin = s4u::Engine::get_clock();  // goes on from engine to engine
  engine.run();

  std::vector<seconds> ends;
  for (const auto& one : activities) {
    const s4u::ActivityPtr a = std::visit(any, one);
    const bool finished = a->get_state() == s4u::Activity::State::FINISHED;
    ends.push_back({finished ? (a->get_finish_time() - begin) / unit : std::numeric_limits<double>::infinity()});
  }
  return ends;
}

}  // namespace slimpack::tests
