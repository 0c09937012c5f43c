#ifndef SLIMPACK_IO_DETAIL_LENGTHS_FIELD_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_FIELD_HPP

#include <initializer_list>
#include <string_view>

namespace slimpack::io::detail {

/// Where lengths, or the tokens to count, are looked for when no field is named.
inline constexpr std::initializer_list<const char*> usual_fields{"length", "tokens", "input_ids"};

/// How a message ends that lists the fields that there are: callers add how their users name one.
inline constexpr std::string_view name_the_field = "name the field that holds the length or the tokens";

}  // namespace slimpack::io::detail

#endif
