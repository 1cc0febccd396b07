#include <algorithm>
#include <cctype>
#include <cstddef>
#include <vector>

#include <natten_sim/core/closest_name.hpp>

namespace natten_sim {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> distance(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) distance[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) distance[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = distance[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      distance[i][j] = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
      }
    }
  }
  return distance[a.size()][b.size()];
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return lower;
}

}  // namespace

std::string closest_name(std::string_view name, std::span<const std::string> names) {
  std::string best;
  const std::string asked = lower_case(name);
  std::size_t best_distance = (name.size() + 2) / 3 + 1;
  for (const std::string& candidate : names) {
    const std::string known = lower_case(candidate);
    const bool prefix = asked != known && asked.size() >= 2 && known.starts_with(asked);
    const std::size_t distance = prefix ? 1 : edit_distance(asked, known);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace natten_sim
