#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/permutations.hpp>

namespace natten_sim {
namespace {

/// The tile numbers of one line, whose number is `line_number`.
std::vector<std::int32_t> parse_pass(std::string_view line, std::size_t line_number,
                                     const std::string& where) {
  std::vector<std::int32_t> pass;
  for (std::size_t at = 0; at < line.size() && line[at] != '#';) {
    if (line[at] == ' ' || line[at] == ',' || line[at] == '\t' || line[at] == '\r') {
      ++at;
      continue;
    }
    std::int32_t tile = 0;
    const auto [stop, problem] = std::from_chars(line.data() + at, line.data() + line.size(), tile);
    if (problem != std::errc() || tile < 0) {
      throw MalformedData(where + ", line " + std::to_string(line_number),
                          "not a tile number at column " + std::to_string(at + 1),
                          "cyclic, sawtooth, descending, best, or a file with one permutation of the KV "
                          "tiles a line, numbered from 0");
    }
    pass.push_back(tile);
    at = static_cast<std::size_t>(stop - line.data());
  }
  return pass;
}

}  // namespace

KvPermutations parse_permutations(std::string_view text, const std::string& where) {
  KvPermutations permutations;
  std::size_t line_number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::vector<std::int32_t> pass = parse_pass(text.substr(0, end), ++line_number, where);
    if (!pass.empty()) permutations.passes.push_back(std::move(pass));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (permutations.passes.empty())
    throw MalformedData(where, "no permutation", "one permutation of the KV tiles a line");
  return permutations;
}

}  // namespace natten_sim
