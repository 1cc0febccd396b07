#include "fuzz/mutator.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

namespace natten_sim::fuzz {
namespace {

constexpr std::size_t kLongestInput = 1 << 16;
constexpr std::size_t kKept = 512;
constexpr std::size_t kMostChanges = 6;

/// Where readers of numbers go wrong.
const char* const kNumbers[] = {"0",
                                "-1",
                                "1",
                                "2147483647",
                                "2147483648",
                                "4294967296",
                                "4294967297",
                                "9223372036854775807",
                                "9223372036854775808",
                                "-9223372036854775808",
                                "18446744073709551616",
                                "1e308",
                                "1e-320",
                                "1e999",
                                "nan",
                                "inf",
                                "0.5",
                                "-0.0",
                                "0x10",
                                "00",
                                "1e19",
                                "65536",
                                "65537",
                                "1152921504606846977"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

std::vector<std::string> words_of(const std::vector<std::string>& texts) {
  std::set<std::string> words;
  for (const std::string& text : texts) {
    std::string word;
    for (const char c : text + " ") {
      if (is_word(c)) {
        word += c;
      } else {
        if (!word.empty() && word.size() < 64) words.insert(word);
        words.insert(std::string(1, c));
        word.clear();
      }
    }
  }
  return {words.begin(), words.end()};
}

/// The number that begins at or after `from`, as a range; empty at the end.
std::pair<std::size_t, std::size_t> number_after(const std::string& text, std::size_t from) {
  while (from < text.size() && std::isdigit(static_cast<unsigned char>(text[from])) == 0) ++from;
  std::size_t end = from;
  while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
  return {from, end};
}

}  // namespace

Mutator::Mutator(std::vector<std::string> corpus, std::uint64_t seed)
    : corpus_(std::move(corpus)), given_(corpus_.size()), words_(words_of(corpus_)), bits_(seed) {}

std::size_t Mutator::below(std::size_t end) { return end == 0 ? 0 : static_cast<std::size_t>(bits_() % end); }

std::string Mutator::next() {
  std::string input = corpus_[below(corpus_.size())];
  const std::size_t changes = 1 + below(kMostChanges);
  for (std::size_t i = 0; i < changes; ++i) change(input);
  if (input.size() > kLongestInput) input.resize(kLongestInput);
  return input;
}

void Mutator::keep(const std::string& input) {
  if (corpus_.size() < given_ + kKept) {
    corpus_.push_back(input);
  } else {
    corpus_[given_ + below(kKept)] = input;
  }
}

void Mutator::change(std::string& input) {
  const std::size_t at = below(input.size() + 1);
  const std::size_t length = below(std::min<std::size_t>(input.size() - at, 32) + 1);
  switch (below(8)) {
    case 0:
      if (at < input.size()) input[at] = static_cast<char>(bits_());
      break;
    case 1:
      if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
      break;
    case 2:
      input.erase(at, length);
      break;
    case 3:
      input.insert(at, input.substr(at, length));
      break;
    case 4:
      input.insert(at, words_[below(words_.size())]);
      break;
    case 5: {  // of another input
      const std::string& other = corpus_[below(corpus_.size())];
      const std::size_t from = below(other.size());
      input.replace(at, length, other, from, below(64));
      break;
    }
    case 6: {
      const auto [begin, end] = number_after(input, at);
      if (begin < end) input.replace(begin, end - begin, kNumbers[below(std::size(kNumbers))]);
      break;
    }
    default:
      input.resize(at);
  }
}

}  // namespace natten_sim::fuzz
