#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace natten_sim {

/// Base of everything that the libraries throw on purpose. Names the parameter at fault, its value, and
/// what would have been accepted; `what()` puts them into one sentence. The libraries never print or exit.
/// Whatever a file or a caller says, the parts are cut off: a parameter beyond 1000 bytes, a value beyond 200, the
/// accepted range beyond 2500, and the sentence beyond kMaxSentence.
class Error : public std::runtime_error {
 public:
  static constexpr std::size_t kMaxSentence = 4000;

  Error(const std::string& parameter, const std::string& value, const std::string& accepted,
        const std::string& hint = "");

  [[nodiscard]] const std::string& parameter() const noexcept { return parameter_; }
  [[nodiscard]] const std::string& value() const noexcept { return value_; }
  [[nodiscard]] const std::string& accepted() const noexcept { return accepted_; }
  /// The nearest valid value or the closest known name; empty when there is none.
  [[nodiscard]] const std::string& hint() const noexcept { return hint_; }
  /// `what()` with `prefix` before every parameter that it mentions: "--" in the program.
  [[nodiscard]] std::string sentence(const std::string& prefix) const;

 protected:
  struct Sentence {
    std::string text;
  };
  Error(const Sentence& sentence, const std::string& parameter, const std::string& value,
        const std::string& accepted, const std::string& hint);

 private:
  std::string parameter_;
  std::string value_;
  std::string accepted_;
  std::string hint_;
  std::string marked_;  // the sentence with its marks; empty: it mentions no parameter
};

/// A parameter's name inside an error's parameter, value or accepted range. Libraries name parameters, the
/// program options: Error::sentence puts a prefix there.
///
///     throw InvalidParameter("ways", "8", "together with " + mention("l2-bytes"));
[[nodiscard]] std::string mention(const std::string& parameter);

/// A parameter is outside its accepted range, or contradicts another one.
class InvalidParameter : public Error {
 public:
  using Error::Error;
};

/// An exact count does not fit in 63 bits, or in those that it has. Counts are never wrapped or rounded.
class OverflowError : public Error {
 public:
  explicit OverflowError(const std::string& quantity, int bits = 63);
};

/// A name that no table holds; `hint()` is the closest name that one does.
class UnknownName : public Error {
 public:
  UnknownName(const std::string& kind, const std::string& name, const std::string& closest,
              const std::string& known);
};

/// A file or text that does not follow its format.
class MalformedData : public Error {
 public:
  MalformedData(const std::string& where, const std::string& problem, const std::string& accepted);
};

/// A limit that the caller set, such as a time, was reached before the answer.
class LimitReached : public Error {
 public:
  LimitReached(const std::string& limit, const std::string& how, const std::string& accepted);
};

/// Hardware, a driver or a counter that was asked for is not there. `what` is needed, `reason` says in a sentence why
/// there is none.
class HardwareAbsent : public Error {
 public:
  HardwareAbsent(const std::string& what, const std::string& reason);
};

}  // namespace natten_sim
