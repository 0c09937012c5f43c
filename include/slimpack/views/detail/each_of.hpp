#ifndef SLIMPACK_VIEWS_DETAIL_EACH_OF_HPP
#define SLIMPACK_VIEWS_DETAIL_EACH_OF_HPP

#include <range/v3/range/access.hpp>
#include <range/v3/view/all.hpp>
#include <range/v3/view/facade.hpp>

#include <cstddef>
#include <utility>

namespace slimpack::detail {

/// What two nested loops visit, as one bidirectional view: for each item of `outer`, its parts 0 .. count - 1 in order.
/// range-v3's join of ranges that are made on the way can be read only once, so that no algorithm that compares items
/// takes it; here a place is an item and a number, which can be returned to.
/// Requires  Inner, without state, has  count(item) -> size_t  and  at(item, i) -> what the view reads
/// Complexity a step O(1) amortised over items, empty ones included
template <class Outer, class Inner>
class each_of_view : public ranges::view_facade<each_of_view<Outer, Inner>> {
 public:
  each_of_view() = default;
  explicit each_of_view(Outer outer) : outer_(std::move(outer)) {}

 private:
  friend ranges::range_access;

  class cursor {
   public:
    cursor() = default;
    cursor(const Outer& outer, bool at_end)
        : item_(at_end ? ranges::end(outer) : ranges::begin(outer)), end_(ranges::end(outer)) {
      skip();
    }
    [[nodiscard]] auto read() const { return Inner::at(*item_, part_); }
    [[nodiscard]] bool equal(const cursor& other) const { return item_ == other.item_ && part_ == other.part_; }
    void next() {
      ++part_;
      skip();
    }
    void prev() {
      while (part_ == 0) part_ = Inner::count(*--item_);
      --part_;
    }

   private:
    /// On to the first item that has a part left.
    void skip() {
      while (item_ != end_ && part_ == Inner::count(*item_)) {
        ++item_;
        part_ = 0;
      }
    }

    ranges::iterator_t<const Outer> item_{};
    ranges::iterator_t<const Outer> end_{};
    std::size_t part_{};
  };

  [[nodiscard]] cursor begin_cursor() const { return {outer_, false}; }
  [[nodiscard]] cursor end_cursor() const { return {outer_, true}; }

  Outer outer_;
};

template <class Inner, class Outer>
[[nodiscard]] each_of_view<Outer, Inner> each_of(Outer outer) {
  return each_of_view<Outer, Inner>(std::move(outer));
}

}  // namespace slimpack::detail

#endif
