#ifndef SLIMPACK_DETAIL_FUNCTION_REF_HPP
#define SLIMPACK_DETAIL_FUNCTION_REF_HPP

#include <utility>

namespace slimpack::detail {

template <class Signature>
class function_ref;

/// What is called for the time of one call, whatever its type, without <functional>, which is dear to include. It is
/// what C++26's std::function_ref is for.
template <class Result, class... Arguments>
class function_ref<Result(Arguments...)> {
 public:
  /// Requires  the function outlives it
  template <class Function>
  function_ref(const Function& function) noexcept  // not explicit: a lambda is given where one of these is asked for
      : function_(&function), call_([](const void* f, Arguments... arguments) -> Result {
          return (*static_cast<const Function*>(f))(std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const { return call_(function_, std::forward<Arguments>(arguments)...); }

 private:
  const void* function_;
  Result (*call_)(const void*, Arguments...);
};

}  // namespace slimpack::detail

#endif
