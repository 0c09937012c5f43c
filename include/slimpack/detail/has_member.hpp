#ifndef SLIMPACK_DETAIL_HAS_MEMBER_HPP
#define SLIMPACK_DETAIL_HAS_MEMBER_HPP

#include <type_traits>

/// Whether a policy has any member of a name, whatever its form: a member of a hook's name that cannot be called
/// as the hook is then an error of compilation, and not taken for "not offered".
///
/// A policy that hands on what another one offers has members under constraints (`requires`), which are there by name
/// even where they cannot be called. It says `using wraps = Other`, and is asked about by what Other has.
namespace slimpack::detail {

/// The policy whose members decide: Policy, or what it wraps.
template <class Policy>
struct member_owner {
  using type = std::remove_cv_t<Policy>;
};
template <class Policy>
requires requires { typename Policy::wraps; }
struct member_owner<Policy> : member_owner<typename Policy::wraps> {};

/// Stands for an argument of any type.
struct anything {
  template <class T>
  operator T&() const noexcept;  // NOLINT: implicit, as an argument is
};

template <class T>
concept may_be_a_base = std::is_class_v<T> && !std::is_final_v<T>;

}  // namespace slimpack::detail

/// Defines slimpack::detail::has_member_NAME<Policy>, at the scope of slimpack::detail. A class derived from Policy and
/// from another that has the name finds it in two places, and so not at all, if and only if Policy has it: overloaded,
/// a template, static, private or inherited. Nobody derives from a final class or a union: of these a data member, a
/// single function, and overloads of up to four parameters are found. A class of that name, such as Policy itself, is
/// no member.
#define SLIMPACK_DETAIL_HAS_MEMBER(NAME)                                                                           \
  struct named_##NAME {                                                                                            \
    int NAME;                                                                                                      \
  };                                                                                                               \
  template <class Policy>                                                                                          \
  struct besides_##NAME : Policy, named_##NAME {};                                                                 \
  template <class Policy>                                                                                          \
  concept inherits_##NAME = may_be_a_base<Policy> && !requires {                                                   \
    &besides_##NAME<Policy>::NAME;                                                                                 \
  };                                                                                                               \
  template <class Policy>                                                                                          \
  concept shows_##NAME =                                                                                           \
      !may_be_a_base<Policy> &&                                                                                    \
      (                                                                                                            \
          requires { &Policy::NAME; } || requires(Policy & p) { p.NAME; } || requires(Policy & p) { p.NAME(); } || \
          requires(Policy & p, anything a) { p.NAME(a); } || requires(Policy & p, anything a) { p.NAME(a, a); } || \
          requires(Policy & p, anything a) { p.NAME(a, a, a); } ||                                                 \
          requires(Policy & p, anything a) { p.NAME(a, a, a, a); });                                               \
  template <class Policy>                                                                                          \
  concept names_class_##NAME = requires {                                                                          \
    typename Policy::NAME;                                                                                         \
  }                                                                                                                \
  || requires(class Policy::NAME * p) { p; };                                                                      \
  template <class Policy>                                                                                          \
  concept owns_##NAME = (inherits_##NAME<Policy> || shows_##NAME<Policy>)&&!names_class_##NAME<Policy>;            \
  template <class Policy>                                                                                          \
  concept has_member_##NAME = owns_##NAME<typename member_owner<Policy>::type>

#endif
