// How far predicted speed-ups are from those of published trainings.

#include "speed_ups.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace fidelity {

std::vector<row> speed_ups(const std::vector<row>& rows) {
  std::vector<row> pairs;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t k = i + 1; k < rows.size(); ++k) {
      if (rows[i].work.empty() || rows[i].work != rows[k].work) continue;
      const bool in_order = rows[i].measured < rows[k].measured;
      const row& faster = rows[in_order ? i : k];
      const row& slower = rows[in_order ? k : i];
      pairs.push_back({faster.name + " over " + slower.name, slower.predicted / faster.predicted,
                       slower.measured / faster.measured});
    }
  return pairs;
}

double kept_by_nine_of_ten(const std::vector<row>& speed_ups) {
  std::vector<double> errors;
  for (const row& r : speed_ups) errors.push_back(std::abs(std::log(r.predicted / r.measured)));
  std::sort(errors.begin(), errors.end());
  return std::exp(errors[(errors.size() * 9 + 9) / 10 - 1]);  // the least that nine tenths of them do not exceed
}

}  // namespace fidelity
