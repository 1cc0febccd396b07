#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <natten_sim/io/json.hpp>

/// Targets that answer: each byte of an input decides one thing of a small question, so that every input is one. What
/// is tried is that nothing contradicts itself:
///   * --json, a request of serve, a line of a batch and a sweep over one value give the same values, or refuse them in
///     the same words; --csv has these values and no others; text ends with the sentence that --json has;
///   * the input of an answer is a question that has the same answer;
///   * what the sentence advises is accepted when it is asked, and gains what it says, where the answer has a time;
///   * an answer takes the steps that --estimate says, within a factor of two; a search may end sooner.
namespace natten_sim::fuzz {

/// Decisions out of the bytes of an input; at its end each is the first of its kind.
class Decisions {
 public:
  explicit Decisions(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] std::int64_t below(std::int64_t count);
  [[nodiscard]] std::int64_t between(std::int64_t least, std::int64_t most) { return least + below(most - least + 1); }
  [[nodiscard]] bool yes() { return below(2) == 1; }
  template <typename T>
  [[nodiscard]] T one_of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<std::int64_t>(values.size()))];
  }
  /// An array of integers.
  [[nodiscard]] Json several(std::int64_t count, std::int64_t least, std::int64_t most);

 private:
  std::string_view bytes_;
};

/// Asks the question in every way. `options`: names as in JSON, with values. Ends the process where two answers
/// contradict each other. @return whether it was answered rather than refused
bool check_answers(const std::string& subcommand, const Json& options);

}  // namespace natten_sim::fuzz
