#include <slimpack/executors/hooks.hpp>

// Members that the runtime would pass over in silence, each in another way to be wrong, were it not for their names.
using namespace slimpack;

struct group {};
struct tensor {};

#ifdef SLIMPACK_REPAIRED
struct chunked {
  int chunks() const;
};
struct masked {
  tokens valid_tokens(const slice&) const;
};
struct begins {
  void begin_step(const step_outline&);
};
struct hears {
  template <class Id>
  void sequence_forwarded(Id);
};
struct tells {
  void sample_forwarded(const sample_end&);
};
struct done {
  void sequence_done(sequence_id);
};
struct reduces {
  template <class Group>
  result<void> reduce(Group&);
};
struct parts {
  template <class Sums>
  result<void> reduce_part(std::uint32_t, Sums&);
};
struct counts {
  int reductions(int chunk) const;
};
struct losses {
  double loss() const;
};
struct probable {
  void log_probabilities(edge_values&);
};
struct holds {
  bytes held() const;
};
struct aborts {
  void abort_step();
};
struct ends {
  void interrupt() noexcept;
};
struct makes {
  tensor make_tensor(tokens);
};
struct spreads {
  vocabulary_format vocabulary_rows() const;
};
struct copies {
  result<void> copy_rows(std::span<const std::byte>, std::span<std::byte>);
};
struct adds {
  void add_rows(std::span<const std::byte>, std::span<std::byte>);
};
#else
struct chunked {
  int chunks;
};  // data
struct masked {
  tokens valid_tokens(const slice&);
};  // not const
struct begins {
  void begin_step(step_outline&);
};  // of an outline that it may change
struct hears {
  template <class Id>
  bool sequence_forwarded(Id);
};  // a template with another answer
struct tells {
  void sample_forwarded(sample_end&);
};  // of a sample that it may change
struct done {
  void sequence_done(int);
  void sequence_done(int, sequence_id);
};  // overloads for something else
struct reduces {
  template <class Group>
  void reduce(Group&);
};  // drops the answer
struct parts {
  template <class Sums>
  result<void> reduce_part(Sums&);
};  // a parameter too few
struct counts {
  long reductions(int chunk) const;
};  // another integer
struct losses {
  result<double> loss() const;
};  // another answer
struct probable {
  std::span<const float> log_probabilities() const;
};  // which does not say of what edges
struct holds {
  std::size_t held() const;
};  // without its unit
struct aborts {
 private:
  void abort_step();
};  // private
struct ends {
  void interrupt();
};  // may throw
struct makes {
  tensor make_tensor(bytes);
};  // of another unit
struct spreads {
  message_format vocabulary_rows() const;
};  // of one of the two formats
struct copies {
  bool copy_rows(std::span<const std::byte>, std::span<std::byte>);
};  // an answer that nobody hears
struct adds {
  void add_rows(std::span<std::byte>, std::span<std::byte>);
};  // which may change what it adds
#endif

void ask(chunked& a, masked& b, begins& c, hears& d, done& e, reduces& f, parts& p, counts& n, losses& g, holds& h,
         aborts& i, makes& j, spreads& k, copies& l, adds& m, probable& o, tells& s) {
  // expected-diagnostic: a stage compute's chunks() is public, const and gives int
  (void)chunks_of(a);
  // expected-diagnostic: a stage compute's valid_tokens(const slice&) is public, const and gives tokens
  (void)valid_tokens_of(b, {});
  // expected-diagnostic: a stage compute's begin_step(const step_outline&) is public and gives void or result<void>
  (void)begin_step(c, {});
  // expected-diagnostic: a stage compute's sequence_forwarded(sequence_id), or sequence_forwarded(sequence_id, uint32_t
  // chunk), is public and gives void
  sequence_forwarded(d, {}, 0);
  // expected-diagnostic: a stage compute's sample_forwarded(const sample_end&) is public and gives void
  sample_forwarded(s, {});
  // expected-diagnostic: a stage compute's sequence_done(sequence_id), or sequence_done(sequence_id, uint32_t chunk),
  // is public and gives void
  sequence_done(e, {}, 0);
  // expected-diagnostic: a stage compute's reduce(auto& group) is public and gives result<void>, so that a failed sum
  // stops
  group one;
  (void)reduce(f, one);
  // expected-diagnostic: a stage compute's reduce_part(uint32_t chunk, auto& sums) is public and gives result<void>, so
  // that a failed
  (void)reduce_part(p, 0, one);
  // expected-diagnostic: a stage compute's reductions(int chunk) is public, const and gives int
  (void)reductions_of(n, 0);
  // expected-diagnostic: a stage compute's loss() is public and gives double
  (void)loss_of(g);
  // expected-diagnostic: a stage compute's log_probabilities(edge_values&) is public and gives void or result<void>
  edge_values edges;
  (void)log_probabilities_of(o, edges);
  // expected-diagnostic: a stage compute's held() is public, const and gives bytes
  (void)held_by(h);
  // expected-diagnostic: a stage compute's abort_step() is public and gives void
  abort_step(i);
  // expected-diagnostic: a stage compute's interrupt() is public, noexcept and gives void
  (void)offers_interrupt<ends>();
  // expected-diagnostic: a stage compute's make_tensor(tokens) is public
  (void)make_tensor(j, {});
  // expected-diagnostic: a stage compute's vocabulary_rows() is public, const and gives vocabulary_format
  (void)vocabulary_format_of(k);
  // expected-diagnostic: a stage compute's copy_rows(span<const byte> from, span<byte> to) is public and gives void or
  // result<void>
  (void)copy_rows(l, {}, {});
  // expected-diagnostic: a stage compute's add_rows(span<const byte> from, span<byte> to) is public and gives void or
  // result<void>
  (void)add_rows(m, {}, {});
}
