#include "gzip.hpp"

#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filtering_stream.hpp>

#include <utility>

namespace cli {

bool has_gzip() { return true; }

std::unique_ptr<std::istream> gunzipped(std::istream& compressed) {
  auto plain = std::make_unique<boost::iostreams::filtering_istream>();
  plain->push(boost::iostreams::gzip_decompressor());
  plain->push(compressed);
  return plain;
}

}  // namespace cli
