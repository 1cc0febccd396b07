#include "diff/text_diff.hpp"

#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include <natten_sim/io/json_text.hpp>

namespace natten_sim::cli {
namespace {

constexpr int kMostLevels = 64;

/// Reads one text. What it cannot read returns false.
class Cursor {
 public:
  explicit Cursor(std::string_view json) : at_(json.data()), end_(json.data() + json.size()) {}

  /// The next sign that is no blank; 0 at the end.
  char peek() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t')) ++at_;
    return at_ == end_ ? '\0' : *at_;
  }
  bool take(char wanted) {
    if (peek() != wanted || at_ == end_) return false;
    ++at_;
    return true;
  }
  [[nodiscard]] bool at_end() { return peek() == '\0' && at_ == end_; }

  /// A name and its colon.
  bool read_name(std::string_view& name) {
    if (!take('"')) return false;
    const char* const begin = at_;
    if (!pass_text() || std::memchr(begin, '\\', static_cast<std::size_t>(at_ - begin)) != nullptr)
      return false;
    name = {begin, static_cast<std::size_t>(at_ - begin - 1)};
    return take(':');
  }

  /// A text, number, true, false or null.
  bool read_scalar(std::string_view& scalar) {
    constexpr std::string_view kOfWords = "0123456789+-.eEtrufalsn";
    const bool text = peek() == '"';
    const char* const begin = at_;
    if (text) ++at_;
    if (text && !pass_text()) return false;
    while (!text && at_ != end_ && kOfWords.find(*at_) != std::string_view::npos) ++at_;
    scalar = {begin, static_cast<std::size_t>(at_ - begin)};
    if (text) return true;
    return !scalar.empty() && (kOfWords.find(scalar.front()) <= 9 || scalar.front() == '-' ||
                               scalar == "true" || scalar == "false" || scalar == "null");
  }

  bool pass_value(int level) {
    const char first = peek();
    std::string_view ignored;
    if (first != '{' && first != '[') return read_scalar(ignored);
    ++at_;
    const char last = first == '{' ? '}' : ']';
    if (level > kMostLevels || take(last)) return level <= kMostLevels;
    do {
      if (first == '{' && !read_name(ignored)) return false;
      if (!pass_value(level + 1)) return false;
    } while (take(','));
    return take(last);
  }

 private:
  /// From behind the quote that begins a text to behind the one that ends it.
  bool pass_text() {
    while (true) {
      const auto* quote =
          static_cast<const char*>(std::memchr(at_, '"', static_cast<std::size_t>(end_ - at_)));
      if (quote == nullptr) return false;
      const auto* escape =
          static_cast<const char*>(std::memchr(at_, '\\', static_cast<std::size_t>(quote - at_)));
      at_ = escape == nullptr ? quote + 1 : escape + 2;
      if (escape == nullptr) return true;
      if (at_ > end_) return false;
    }
  }

  const char* at_;
  const char* end_;
};

class TextComparison {
 public:
  TextComparison(const std::string& place, std::string_view a, std::string_view b,
                 const report::DiffRules& rules)
      : place_(place), a_(a), b_(b), rules_(rules) {}

  std::optional<report::DocumentDiff> run() {
    const bool compared = compare(0) && a_.at_end() && b_.at_end();
    return compared ? std::optional(std::move(diff_)) : std::nullopt;
  }

 private:
  bool compare(int level) {
    const char left = a_.peek(), right = b_.peek();
    if (level > kMostLevels) return false;
    if (left == '{') return right == '{' && compare_objects(level);
    if (left == '[') return right == '[' && compare_arrays(level);
    return right != '{' && right != '[' && compare_scalars();
  }

  bool compare_objects(int level) {
    (void)a_.take('{'), (void)b_.take('{');
    if (a_.take('}')) return b_.take('}');
    do {
      std::string_view left, right;
      if (!a_.read_name(left) || !b_.read_name(right) || left != right) return false;
      if (rules_.ignored.contains(left)) {
        if (!a_.pass_value(level + 1) || !b_.pass_value(level + 1)) return false;
        continue;
      }
      const std::size_t before = place_.size();
      if (before > 0) place_ += '.';
      place_ += left;
      if (!compare(level + 1)) return false;
      place_.resize(before);
    } while (take_both(','));
    return a_.take('}') && b_.take('}');
  }

  bool compare_arrays(int level) {
    (void)a_.take('['), (void)b_.take('[');
    if (a_.take(']')) return b_.take(']');
    std::size_t element = 0;
    do {
      const bool object = a_.peek() == '{';
      const std::size_t before = place_.size();
      fmt::format_to(std::back_inserter(place_), "[{}]", element++);
      named_ += object ? 1 : 0;
      if (!compare(level + 1)) return false;
      named_ -= object ? 1 : 0;
      place_.resize(before);
    } while (take_both(','));
    return a_.take(']') && b_.take(']');
  }

  /// False also where only one has it: its closing bracket is then missing in the other.
  bool take_both(char wanted) {
    return a_.peek() == wanted && b_.peek() == wanted && a_.take(wanted) && b_.take(wanted);
  }

  bool compare_scalars() {
    std::string_view left, right;
    if (!a_.read_scalar(left) || !b_.read_scalar(right)) return false;
    if (left == right) {
      ++diff_.values;
      return true;
    }
    const Json a = parse_json(left), b = parse_json(right);
    report::DocumentDiff one = report::part_diff(place_, &a, &b, rules_);
    if (!one.differences.empty() && named_ > 0) return false;
    diff_.values += one.values;
    std::move(one.differences.begin(), one.differences.end(), std::back_inserter(diff_.differences));
    return true;
  }

  std::string place_;
  Cursor a_, b_;
  const report::DiffRules& rules_;
  report::DocumentDiff diff_;
  int named_ = 0;  ///< objects in arrays that the cursors are in
};

}  // namespace

std::optional<report::DocumentDiff> text_diff(const std::string& place, std::string_view a,
                                              std::string_view b, const report::DiffRules& rules) {
  return TextComparison(place, a, b, rules).run();
}

}  // namespace natten_sim::cli
