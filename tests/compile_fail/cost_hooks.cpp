#include <slimpack/costs/hooks.hpp>

// Members that a library would pass over in silence, each in another way to be wrong, were it not for their names.
using namespace slimpack;

struct plain {
  seconds time(const slice&, pass, int) const;
};

#ifdef SLIMPACK_REPAIRED
struct overheads : plain {
  seconds overhead(pass, int) const;
};
struct calls : plain {
  seconds call_overhead(pass, int) const;
};
struct packs : plain {
  using plain::time;
  seconds time(std::span<const slice>, pass, int) const;
};
struct usefuls : plain {
  seconds useful(const slice&, pass, int) const;
};
struct leasts : plain {
  seconds least(const slice&, pass, int) const;
};
struct collects : plain {
  seconds collectives(const slice&, pass, int) const;
};
struct messages : plain {
  seconds message(tokens, pass, int) const;
};
struct memories : plain {
  std::optional<memory_rates> memory(int) const;
};
struct evaluates : plain {
  std::optional<memory_rates> evaluation_memory(int) const;
};
struct keeps : plain {
  bytes kept(const slice&, int) const;
};
struct exchanges : plain {
  seconds exchange(const shared_row&, std::span<const slice>, pass, int) const;
};
struct reductions final : plain {
  seconds reduce_time() const;
};
struct buckets : plain {
  std::span<const gradient_bucket> gradient_buckets(int) const;
};
struct divided : plain {
  int parts() const;
};
struct weights : plain {
  seconds weight_time(const slice&, int) const;
};
#else
struct overheads : plain {
  double overhead;
};  // data
struct calls : plain {
  seconds call_overhead(const slice&, pass, int) const;
};  // of a slice
struct packs : plain {
  using plain::time;
  seconds time(std::span<const slice>, pass, int);
};  // not const
struct usefuls : plain {
  seconds useful(const slice&, pass) const;
};  // a parameter too few
struct leasts : plain {
  seconds least(slice&, pass, int) const;
};  // of slices that it may
    // change
struct collects : plain {
  seconds collectives(tokens, pass, int) const;
};  // of tokens
struct messages : plain {
  seconds message(tokens, pass, int);
};  // not const
struct memories : plain {
  memory_rates memory(int) const;
};  // no optional
struct evaluates : plain {
  std::optional<memory_rates> evaluation_memory() const;
};  // of no stage
struct keeps : plain {
  seconds kept(const slice&, int) const;
};  // another unit
struct exchanges : plain {
  template <class Row>
  seconds exchange(const Row&, pass, int) const;
};  // a template
struct reductions final : plain {
  double reduce_time() const;
};  // of a class that is final
struct buckets : plain {
  std::vector<gradient_bucket> gradient_buckets(int) const;
};  // a copy
struct divided : plain {
  std::size_t parts() const;
};  // not int
struct weights : plain {
 private:
  seconds weight_time(const slice&, int) const;
};  // private
#endif

// expected-diagnostic: a cost model's overhead(pass, int part) is public, const and gives seconds
auto a = pack_overhead(overheads{}, pass::forward, 0);
// expected-diagnostic: a cost model's call_overhead(pass, int part) is public, const and gives seconds
auto m = call_overhead_of(calls{}, pass::forward, 0);
// expected-diagnostic: a cost model's time(span<const slice>, pass, int part) is public, const and gives seconds
auto b = pack_time(packs{}, {}, pass::forward, 0);
// expected-diagnostic: a cost model's useful(const slice&, pass, int part) is public, const and gives seconds
auto c = useful_time(usefuls{}, {}, pass::forward, 0);
// expected-diagnostic: a cost model's least(const slice&, pass, int part) is public, const and gives seconds
auto d = least_time(leasts{}, {}, pass::forward, 0);
// expected-diagnostic: a cost model's collectives(const slice&, pass, int part) is public, const and gives seconds
auto n = collective_time(collects{}, {}, pass::forward, 0);
// expected-diagnostic: a cost model's message(tokens, pass, int part) is public, const and gives seconds
auto e = message_time(messages{}, {}, pass::forward, 0);
// expected-diagnostic: a cost model's memory(int stage) is public, const and gives optional<memory_rates>
auto f = memory_of(memories{}, 0);
// expected-diagnostic: a cost model's evaluation_memory(int stage) is public, const and gives optional<memory_rates>
auto o = evaluation_memory_of(evaluates{}, 0);
// expected-diagnostic: a cost model's kept(const slice& piece, int stage) is public, const and gives bytes
auto g = kept_of(keeps{}, {}, 0);
// expected-diagnostic: a cost model's exchange(const shared_row&, span<const slice>, pass, int part) is public, const
// and gives seconds
auto h = exchange_time(exchanges{}, {}, {}, pass::forward, 0);
// expected-diagnostic: a cost model's reduce_time() is public, const and gives seconds
auto i = reduce_time_of(reductions{});
// expected-diagnostic: a cost model's parts() is public, const and gives int
auto j = parts_of(divided{});
// expected-diagnostic: a cost model's gradient_buckets(int part) is public, const and gives span<const gradient_bucket>
auto l = gradient_buckets_of(buckets{}, 0);
// expected-diagnostic: a cost model's weight_time(const slice&, int part) is public, const and gives seconds
auto k = weight_time(weights{}, {}, 0);
