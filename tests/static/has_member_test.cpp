#include <slimpack/detail/has_member.hpp>

#include <string>

namespace slimpack::detail {
SLIMPACK_DETAIL_HAS_MEMBER(answer);
}

/// Members are found by name, in whatever form.
namespace slimpack::has_member_test {
namespace {

using detail::has_member_answer;

struct none {
  int question;
};
struct data {
  double answer;
};
struct function {
  void answer();
};
struct overloaded {
  void answer();
  void answer(int) const;
};
struct of_templates {
  template <class T>
  T answer(T) const;
};
struct constrained {
  template <class T>
  void answer(T) requires(sizeof(T) > 1000);
};
struct shared_by_all {
  [[maybe_unused]] static constexpr int answer = 42;
};
struct secret {
 private:
  [[maybe_unused]] void answer() const;
};
struct inherited : function {};
struct inherited_in_secret : private data {};
struct to_be_done {
  virtual void answer() = 0;
  virtual ~to_be_done() = default;
};
static_assert(has_member_answer<data> && has_member_answer<function> && has_member_answer<overloaded>);
static_assert(has_member_answer<of_templates> && has_member_answer<constrained> && has_member_answer<shared_by_all>);
static_assert(has_member_answer<secret> && has_member_answer<inherited> && has_member_answer<inherited_in_secret>);
static_assert(has_member_answer<to_be_done> && has_member_answer<const data>);

// Nobody derives from these.
struct final_none final {
  int question;
};
struct final_data final {
  double answer;
};
struct final_function final {
  void answer(int&, std::string);
};
struct final_overloads final {
  void answer(const std::string&, int);
  void answer(const std::string&, int, int&);
};
struct final_template final {
  template <class T>
  void answer(T&);
};
union one_of {
  int answer;
};
union another {
  int question;
};
static_assert(has_member_answer<final_data> && has_member_answer<final_function> && has_member_answer<final_overloads>);
static_assert(has_member_answer<final_template> && has_member_answer<one_of>);
static_assert(!has_member_answer<final_none> && !has_member_answer<another>);

// Names of classes, and what has no members.
struct answer {
  int question;
};
struct from_answer : answer {};
struct with_class {
  struct answer {};
};
struct with_alias {
  using answer = int;
};
struct never_destroyed {
  ~never_destroyed() = delete;
};
static_assert(!has_member_answer<none> && !has_member_answer<answer> && !has_member_answer<from_answer>);
static_assert(!has_member_answer<with_class> && !has_member_answer<with_alias> && !has_member_answer<never_destroyed>);
static_assert(!has_member_answer<int> && !has_member_answer<int*> && !has_member_answer<none&>);

// One that hands on what another offers is asked about by the other.
template <class Other>
struct wrapper {
  using wraps = Other;
  void answer() const requires requires(const Other& other) { other.answer(); };
};
static_assert(!has_member_answer<wrapper<none>> && has_member_answer<wrapper<overloaded>>);
static_assert(has_member_answer<wrapper<wrapper<data>>> && !has_member_answer<wrapper<wrapper<none>>>);

}  // namespace
}  // namespace slimpack::has_member_test
