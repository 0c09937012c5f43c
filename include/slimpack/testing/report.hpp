#ifndef SLIMPACK_TESTING_REPORT_HPP
#define SLIMPACK_TESTING_REPORT_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::testing {

namespace detail {

template <class T>
void put(std::ostream& out, const T& x) {
  out << x;
}
template <class Unit, class Rep>
void put(std::ostream& out, quantity<Unit, Rep> q) {
  out << q.value;
}
inline void put(std::ostream& out, sequence_id s) { out << s.value; }
inline void put(std::ostream& out, pass p) { out << name_of(p); }
inline void put(std::ostream& out, const slice& s) {
  out << '[' << s.sequence.value << ", " << s.begin.value << ", " << s.length.value << ']';
}

}  // namespace detail

/// One broken law: its number in the doc comment of the concept, and a line for people.
struct failure {
  int law{};
  std::string line;
};

/// What a law header found: how often each law was checked, and what broke it. True when something was checked and
/// nothing broke, so a run that tried nothing does not pass. Prints one line per failure, or one line that says "ok".
/// Printing alone lets a broken law pass: a report converts to bool, and a test has to assert it.
///
///   const slimpack::testing::report found = slimpack::testing::slicer_laws(my_slicer{}, my_cost{});
///   EXPECT_TRUE(found) << found;  // GoogleTest; elsewhere: if (!found) std::cerr << found, std::exit(1);
class [[nodiscard]] report {
 public:
  report(std::string_view subject, std::uint64_t seed) : subject_(subject), seed_(seed) {}

  /// Counts a check. Where it does not hold, a line is kept: law, sentence, `numbers` in the order given, seed.
  template <class... Numbers>
  void check(int law, bool holds, std::string_view sentence, const Numbers&... numbers) {
    count& c = counts_[law];
    ++c.checks;
    if (holds || ++c.broken > kept_per_law) return;
    std::ostringstream line;
    line.precision(17);
    line << "law " << law << ", " << sentence << ':';
    ((line << ' ', detail::put(line, numbers)), ...);
    line << " (seed " << seed_ << ')';
    failures_.push_back({law, line.str()});
  }

  [[nodiscard]] explicit operator bool() const noexcept { return checks() > 0 && failures_.empty(); }
  [[nodiscard]] std::int64_t checks() const noexcept {
    std::int64_t sum = 0;
    for (const auto& [law, c] : counts_) sum += c.checks;
    return sum;
  }
  [[nodiscard]] std::int64_t checks(int law) const noexcept { return of(law).checks; }
  [[nodiscard]] std::int64_t broken(int law) const noexcept { return of(law).broken; }
  [[nodiscard]] const std::vector<failure>& failures() const noexcept { return failures_; }  ///< first few of each law

  friend std::ostream& operator<<(std::ostream& out, const report& r) {
    if (r.failures_.empty()) return out << r.subject_ << ": " << r.checks() << " checks, ok\n";
    std::int64_t broken = 0;
    for (const auto& [law, c] : r.counts_) broken += c.broken;
    out << r.subject_ << ": " << broken << " of " << r.checks() << " checks failed\n";
    for (const failure& f : r.failures_) out << "  " << f.line << '\n';
    return out;
  }

 private:
  static constexpr std::int64_t kept_per_law = 3;

  struct count {
    std::int64_t checks{};
    std::int64_t broken{};
  };
  [[nodiscard]] count of(int law) const noexcept {
    const auto found = counts_.find(law);
    return found == counts_.end() ? count{} : found->second;
  }

  std::string subject_;
  std::uint64_t seed_;
  std::map<int, count> counts_;
  std::vector<failure> failures_;
};

}  // namespace slimpack::testing

#endif
