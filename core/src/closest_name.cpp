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

/// In lower case, without the dashes of an option.
std::string spelled(std::string_view text) {
  std::string lower(text.substr(std::min(text.find_first_not_of('-'), text.size())));
  for (char& letter : lower) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return lower;
}

/// Letters and digits alone: "wan 2.1" and "wan2-1" are one.
std::string without_marks(std::string text) {
  std::erase_if(text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return text;
}

/// "wan2-1-14b" has 2, 1 and 14.
std::vector<std::string_view> numbers_in(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  std::vector<std::string_view> numbers;
  for (std::size_t begin = text.find_first_of(kDigits); begin != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_not_of(kDigits, begin), text.size());
    numbers.push_back(text.substr(begin, end - begin));
    begin = text.find_first_of(kDigits, end);
  }
  return numbers;
}

/// Or one in which digits changed places.
bool is_same_number(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::is_permutation(a.begin(), a.end(), b.begin());
}

/// Whether `known` has all numbers of `asked`, in order. Another number is another thing: a B300 is no B200.
bool agrees_in_numbers(std::string_view asked, std::string_view known) {
  const std::vector<std::string_view> wanted = numbers_in(asked);
  const std::vector<std::string_view> found = numbers_in(known);
  std::size_t at = 0;
  for (const std::string_view number : found) {
    if (at < wanted.size() && is_same_number(wanted[at], number)) ++at;
  }
  return at == wanted.size();
}

/// The first name whose beginning, up to its first dash, is nearly `asked`: "hunyan" for "hunyuan-video".
std::string closest_beginning(const std::string& asked, std::span<const std::string> names) {
  constexpr std::size_t kShortest = 5;
  if (asked.size() < kShortest || asked.find('-') != std::string::npos) return "";
  for (const std::string& candidate : names) {
    const std::string known = spelled(candidate), beginning = known.substr(0, known.find('-'));
    if (agrees_in_numbers(asked, beginning) && edit_distance(asked, beginning) <= asked.size() / kShortest)
      return candidate;
  }
  return "";
}

/// Short words that begin with other letters are two words: lpt is the opposite of spt.
bool is_another_word(std::string_view asked, std::string_view known) {
  constexpr std::size_t kShort = 3;
  return asked != known && asked.size() == known.size() && asked.size() <= kShort &&
         asked.substr(1) == known.substr(1);
}

}  // namespace

std::string closest_name(std::string_view name, std::span<const std::string> names) {
  std::string best;
  const std::string asked = spelled(name), beginning = without_marks(asked);
  std::size_t best_distance = std::max<std::size_t>(asked.size() / 3, 1) + 1;
  for (const std::string& candidate : names) {
    const std::string known = spelled(candidate);
    if (!agrees_in_numbers(asked, known) || is_another_word(asked, known)) continue;
    const bool prefix =
        asked != known && beginning.size() >= 2 && without_marks(known).starts_with(beginning);
    const std::size_t distance = prefix ? 1 : edit_distance(asked, known);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best.empty() ? closest_beginning(asked, names) : best;
}

}  // namespace natten_sim
