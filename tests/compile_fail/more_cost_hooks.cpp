#include <slimpack/costs/hooks.hpp>

// The rest of cost_hooks.cpp: clang stops at 20 errors.
using namespace slimpack;

struct plain {
  seconds time(const slice&, pass, int) const;
};

#ifdef SLIMPACK_REPAIRED
struct covered : plain {
  seconds covers(const slice&, pass, int) const;
};
struct lends : plain {
  loan_messages lending(const loan&, int) const;
};
struct likes : plain {
  int like(int) const;
};
struct spreads : plain {
  seconds vocabulary_time(tokens, instruction_kind, int) const;
};
struct gathers : plain {
  seconds vocabulary_message(tokens, message_kind, int) const;
};
struct by_token : plain {
  seconds token_time(tokens, pass, int) const;
};
struct borders : plain {
  bool has_borders() const;
};
struct evaluates : plain {
  std::optional<memory_rates> evaluation_memory(int) const;
  bytes evaluation_kept(const slice&, int, tokens) const;
};
struct lone : evaluates {};
#else
struct covered : plain {
  std::optional<seconds> covers(const slice&, pass, int) const;
};  // an optional
struct lends : plain {
  seconds lending(const loan&, int) const;
};  // one message of three
struct likes : plain {
  bool like(int, int) const;
};  // of two parts
struct spreads : plain {
  seconds vocabulary_time(tokens, int) const;
};  // of no call
struct gathers : plain {
  seconds vocabulary_message(tokens, instruction_kind, int) const;
};  // of calls, not of rows
struct by_token : plain {
  double token_time(tokens, pass, int) const;
};  // without its unit
struct borders : plain {
  bool has_borders(int) const;
};  // of a part
struct evaluates : plain {
  std::optional<memory_rates> evaluation_memory(int) const;
  bytes evaluation_kept(const slice&, int) const;
};  // does not ask where the sequence begins
struct lone : plain {
  bytes evaluation_kept(const slice&, int, tokens) const;
};  // without rates of evaluations
#endif

extern const loan& lent;  // of a type that is only declared

// expected-diagnostic: a cost model's covers(const slice&, pass, int part) is public, const and gives seconds
auto a = covered_time(covered{}, {}, pass::forward, 0);
// expected-diagnostic: a cost model's lending(const loan&, int part) is public, const and gives loan_messages
auto b = loan_messages_of(lends{}, lent, 0);
// expected-diagnostic: a cost model's like(int part) is public, const and gives int
auto c = like_of(likes{}, 0);
// expected-diagnostic: a cost model's vocabulary_time(tokens, instruction_kind, int stage) is public, const and gives
// seconds
auto d = vocabulary_time(spreads{}, {}, instruction_kind::embed, 0);
// expected-diagnostic: a cost model's vocabulary_message(tokens, message_kind, int stage) is public, const and gives
// seconds
auto e = vocabulary_message(gathers{}, {}, message_kind::hidden, 0);
// expected-diagnostic: a cost model's token_time(tokens, pass, int part) is public, const and gives seconds: it must be
// there to remap rows
auto f = tokens_time(by_token{}, {}, pass::forward, 0);
// expected-diagnostic: a cost model's has_borders() is public, const and gives bool
auto g = has_borders(borders{});
// expected-diagnostic: a cost model's evaluation_kept(const slice& piece, int stage, tokens first) is public, const and
auto h = evaluation_kept_of(evaluates{}, {}, 0, {});
// expected-diagnostic: a cost model's evaluation_kept is of a model that offers evaluation_memory(int stage), too
auto i = evaluation_kept_of(lone{}, {}, 0, {});
