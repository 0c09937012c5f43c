#ifndef SLIMPACK_EXAMPLES_PLAN_GZIP_HPP
#define SLIMPACK_EXAMPLES_PLAN_GZIP_HPP

#include <istream>
#include <memory>

namespace cli {

/// Whether gzip was built in: it needs Boost.Iostreams.
bool has_gzip();

/// What another stream holds, decompressed; bad where that is damaged or cut short. Requires has_gzip()
std::unique_ptr<std::istream> gunzipped(std::istream& compressed);

}  // namespace cli

#endif
