#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace natten_sim::draw {

/// A picture was asked for that is larger than its kind accepts. The message names what, how many were
/// given and how many are accepted: "tiles across: 9000, at most 4096".
///
///     try { picture = render(map); }
///     catch (const LimitExceeded& e) { ... e.subject(), e.given(), e.accepted() ... }
///
/// Other input that cannot be drawn (a size that is not positive, an index out of range) is a plain
/// std::invalid_argument.
class LimitExceeded : public std::invalid_argument {
 public:
  LimitExceeded(const std::string& subject, std::int64_t given, std::int64_t accepted)
      : std::invalid_argument(subject + ": " + std::to_string(given) + ", at most " +
                              std::to_string(accepted)),
        subject_(subject),
        given_(given),
        accepted_(accepted) {}

  [[nodiscard]] const std::string& subject() const { return subject_; }  ///< what is limited
  [[nodiscard]] std::int64_t given() const { return given_; }
  [[nodiscard]] std::int64_t accepted() const { return accepted_; }  ///< the largest number that is drawn

 private:
  std::string subject_;
  std::int64_t given_, accepted_;
};

/// @throws LimitExceeded when more than `accepted` are given.
inline void require_at_most(const std::string& subject, std::int64_t given, std::int64_t accepted) {
  if (given > accepted) throw LimitExceeded(subject, given, accepted);
}

}  // namespace natten_sim::draw
