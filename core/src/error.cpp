#include <utility>

#include <natten_sim/core/error.hpp>

namespace natten_sim {
namespace {

/// Names, values and lists may come from files: a message shows only their beginning, so that none is longer than
/// Error::kMaxSentence. Cut between characters of UTF-8.
std::string clipped(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80u) --end;
  return text.substr(0, end) + "..";
}

constexpr std::size_t kMaxName = 1000;  // of a parameter, often a file's place
constexpr std::size_t kMaxValue = 200;
constexpr std::size_t kMaxAccepted = 2500;

std::string clipped_name(const std::string& name) { return clipped(name, kMaxName); }
std::string clipped_value(const std::string& value) { return clipped(value, kMaxValue); }
std::string clipped_accepted(const std::string& accepted) { return clipped(accepted, kMaxAccepted); }

constexpr char kMark = '\x1f';  // unit separator: no range holds one

constexpr const char* kReplacement = "\xef\xbf\xbd";  // U+FFFD: a NUL would end what()

/// `text` with `prefix` for every mark.
std::string spelled(const std::string& text, const std::string& prefix) {
  std::string spelled;
  for (const char c : text) spelled += c == kMark ? prefix : c == '\0' ? kReplacement : std::string(1, c);
  return spelled;
}

std::string most_of(int bits) { return "2^" + std::to_string(bits) + " - 1"; }

}  // namespace

Error::Error(const std::string& parameter, const std::string& value, const std::string& accepted,
             const std::string& hint)
    : Error(Sentence{clipped_name(parameter) + ": " + clipped_value(value) +
                     " is not valid; accepted: " + clipped_accepted(accepted)},
            parameter, value, accepted, hint) {}

std::string Error::sentence(const std::string& prefix) const {
  return marked_.empty() ? what() : clipped(spelled(marked_, prefix), kMaxSentence);
}

std::string mention(const std::string& parameter) { return kMark + parameter; }

Error::Error(const Sentence& sentence, const std::string& parameter, const std::string& value,
             const std::string& accepted, const std::string& hint)
    : std::runtime_error(clipped(spelled(sentence.text, ""), kMaxSentence)),
      parameter_(clipped_name(spelled(parameter, ""))),
      value_(clipped_value(spelled(value, ""))),
      accepted_(clipped_accepted(spelled(accepted, ""))),
      hint_(clipped_value(hint)) {
  if (sentence.text.find(kMark) != std::string::npos) marked_ = sentence.text;
}

OverflowError::OverflowError(const std::string& quantity, int bits)
    : Error(Sentence{quantity + ": overflow, the exact value is larger than " +
                     (bits == 63 ? "9223372036854775807 (2^63 - 1)" : most_of(bits))},
            quantity, "more than " + most_of(bits),
            "problems whose exact counts fit in " + std::to_string(bits) + " bits", "") {}

UnknownName::UnknownName(const std::string& kind, const std::string& name, const std::string& closest,
                         const std::string& known)
    : Error(Sentence{clipped_name(kind) + ": unknown name '" + clipped_value(name) +
                     "'; accepted: " + clipped_accepted(known)},
            kind, name, known, closest) {}

MalformedData::MalformedData(const std::string& where, const std::string& problem,
                             const std::string& accepted)
    : Error(Sentence{clipped_name(where) + ": " + clipped_value(problem) +
                     "; accepted: " + clipped_accepted(accepted)},
            where, problem, accepted, "") {}

LimitReached::LimitReached(const std::string& limit, const std::string& how, const std::string& accepted)
    : Error(Sentence{clipped_name(limit) + ": " + clipped_value(how) + "; accepted: " + clipped_accepted(accepted)},
            limit, how, accepted, "") {}

HardwareAbsent::HardwareAbsent(const std::string& what, const std::string& reason)
    : Error(Sentence{"this needs " + clipped_name(what) + ", but " + clipped_value(reason)}, what, "absent", reason,
            "") {}

}  // namespace natten_sim
