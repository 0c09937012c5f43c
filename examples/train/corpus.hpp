#ifndef SLIMPACK_EXAMPLES_TRAIN_CORPUS_HPP
#define SLIMPACK_EXAMPLES_TRAIN_CORPUS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace train {

/// The text files of a directory tree, or one text file, as byte sequences.
/// A file with a zero byte is no text; names that begin with a dot, and folders called build, build-* and out, are left
/// out, as are links. A file longer than the context becomes several documents, each as long as the context but for the
/// last. One byte alone has nothing to predict and is no document.
class corpus {
 public:
  using document = std::span<const std::uint8_t>;

  /// Errors    invalid_input: no text there; unreadable: a folder or file that cannot be read
  [[nodiscard]] static slimpack::result<corpus> load(const std::filesystem::path& where, slimpack::tokens context);

  corpus(corpus&&) = default;  // documents_ point into files_, whose memory moves along
  corpus& operator=(corpus&&) = default;

  [[nodiscard]] std::size_t size() const noexcept { return documents_.size(); }
  /// In order of path and position.
  [[nodiscard]] document operator[](std::size_t i) const noexcept { return documents_[i]; }
  [[nodiscard]] slimpack::tokens tokens() const noexcept { return tokens_; }
  [[nodiscard]] slimpack::tokens longest() const noexcept { return longest_; }
  /// Of one byte on its own, in nats: the loss of a model that knows how often each byte occurs and nothing else.
  [[nodiscard]] double byte_entropy() const noexcept;

 private:
  corpus() = default;
  void add(std::vector<std::uint8_t> file, std::size_t context);

  std::vector<std::vector<std::uint8_t>> files_;
  std::vector<document> documents_;
  slimpack::tokens tokens_;
  slimpack::tokens longest_;
};

/// Batches of a corpus: an order of its own for each pass over the documents, the last incomplete batch left out.
class batches {
 public:
  /// Requires  1 <= size <= texts.size()
  batches(const corpus& texts, std::size_t size, std::uint64_t seed);

  [[nodiscard]] std::vector<corpus::document> next();

 private:
  void shuffle();

  const corpus& texts_;
  std::size_t size_;
  std::uint64_t seed_;
  std::size_t at_{};
  std::vector<std::size_t> order_;
};

}  // namespace train

#endif
