#include <slimpack/concepts.hpp>

using namespace slimpack;
using pack = std::span<const piece>;
using bytes_in = std::span<const std::byte>;

/// Layers, with every call of a spread vocabulary as it should be.
struct layers {
  message_format format() const;
  result<void> forward(const piece&, bytes_in in, outgoing& out);
  result<void> backward(const piece&, bytes_in in, outgoing& out);
  void discard(const piece&);
  vocabulary_format vocabulary_rows() const;
  void embed(pack, bytes_in in, outgoing& out);
  result<void> output(pack, bytes_in in, outgoing& out);
  void gather_output(pack, std::span<const bytes_in> partials, outgoing& rows, outgoing& statistics);
  result<void> output_weights(pack, bytes_in in);
  void embed_gradients(pack, bytes_in in, outgoing& out);
};

// Each with a call that hides the right one, in another way to be wrong.
#ifdef SLIMPACK_REPAIRED
struct by_piece : layers {};
struct gives_loss : layers {};
struct of_one : layers {};
struct answers : layers {};
struct is_hidden : layers {};
#else
struct by_piece : layers {
  void embed(const piece&, bytes_in in, outgoing& out);
};
struct gives_loss : layers {
  double output(pack, bytes_in in, outgoing& out);
};
struct of_one : layers {
  void gather_output(pack, bytes_in partial, outgoing& rows, outgoing& statistics);
};
struct answers : layers {
  void output_weights(pack, bytes_in in, outgoing& out);
};
struct is_hidden : layers {
 private:
  void embed_gradients(pack, bytes_in in, outgoing& out);
};
#endif

template <stage_compute Compute>
struct stage {};

// expected-diagnostic: with vocabulary_rows(), embed is public, given (span<const piece>, span<const std::byte> in,
// outgoing& out), and gives void or result<void>
using one = stage<by_piece>;
// expected-diagnostic: with vocabulary_rows(), output is public, given (span<const piece>, span<const std::byte> in,
// outgoing& out), and gives void or result<void>
using two = stage<gives_loss>;
// expected-diagnostic: with vocabulary_rows(), gather_output is public, given (span<const piece>, span<const span<const
// std::byte>> partials, outgoing& rows, outgoing& statistics), and gives void or result<void>
using three = stage<of_one>;
// expected-diagnostic: with vocabulary_rows(), output_weights is public, given (span<const piece>, span<const
// std::byte> in), and gives void or result<void>
using four = stage<answers>;
// expected-diagnostic: with vocabulary_rows(), embed_gradients is public, given (span<const piece>, span<const
// std::byte> in, outgoing& out), and gives void or result<void>
using five = stage<is_hidden>;
