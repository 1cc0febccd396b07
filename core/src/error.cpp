#include <utility>

#include <natten_sim/core/error.hpp>

namespace natten_sim {
namespace {

/// Values may come from files, so a message shows only their beginning.
std::string clipped(const std::string& value) {
  constexpr std::size_t kMax = 200;
  return value.size() <= kMax ? value : value.substr(0, kMax) + "..";
}

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
    : Error(Sentence{parameter + ": " + clipped(value) + " is not valid; accepted: " + accepted}, parameter,
            clipped(value), accepted, hint) {}

std::string Error::sentence(const std::string& prefix) const {
  return marked_.empty() ? what() : spelled(marked_, prefix);
}

std::string mention(const std::string& parameter) { return kMark + parameter; }

Error::Error(const Sentence& sentence, std::string parameter, std::string value, std::string accepted,
             std::string hint)
    : std::runtime_error(spelled(sentence.text, "")),
      parameter_(spelled(parameter, "")),
      value_(spelled(value, "")),
      accepted_(spelled(accepted, "")),
      hint_(std::move(hint)) {
  if (sentence.text.find(kMark) != std::string::npos) marked_ = sentence.text;
}

OverflowError::OverflowError(const std::string& quantity, int bits)
    : Error(Sentence{quantity + ": overflow, the exact value is larger than " +
                     (bits == 63 ? "9223372036854775807 (2^63 - 1)" : most_of(bits))},
            quantity, "more than " + most_of(bits),
            "problems whose exact counts fit in " + std::to_string(bits) + " bits", "") {}

UnknownName::UnknownName(const std::string& kind, const std::string& name, const std::string& closest,
                         const std::string& known)
    : Error(Sentence{kind + ": unknown name '" + clipped(name) + "'; accepted: " + known}, kind,
            clipped(name), known, closest) {}

MalformedData::MalformedData(const std::string& where, const std::string& problem,
                             const std::string& accepted)
    : Error(Sentence{where + ": " + clipped(problem) + "; accepted: " + accepted}, where, clipped(problem),
            accepted, "") {}

LimitReached::LimitReached(const std::string& limit, const std::string& how, const std::string& accepted)
    : Error(Sentence{limit + ": " + clipped(how) + "; accepted: " + accepted}, limit, clipped(how), accepted,
            "") {}

HardwareAbsent::HardwareAbsent(const std::string& what, const std::string& reason)
    : Error(Sentence{"this needs " + what + ", but " + clipped(reason)}, what, "absent", reason, "") {}

}  // namespace natten_sim
