#include <utility>

#include <natten_sim/core/error.hpp>

namespace natten_sim {
namespace {

/// Values come from files too: a message shows only their beginning.
std::string clipped(const std::string& value) {
  constexpr std::size_t kMost = 200;
  return value.size() <= kMost ? value : value.substr(0, kMost) + "..";
}

}  // namespace

Error::Error(const std::string& parameter, const std::string& value, const std::string& accepted,
             const std::string& hint)
    : Error(Sentence{parameter + ": " + clipped(value) + " is not valid; accepted: " + accepted}, parameter,
            clipped(value), accepted, hint) {}

Error::Error(const Sentence& sentence, std::string parameter, std::string value, std::string accepted,
             std::string hint)
    : std::runtime_error(sentence.text),
      parameter_(std::move(parameter)),
      value_(std::move(value)),
      accepted_(std::move(accepted)),
      hint_(std::move(hint)) {}

OverflowError::OverflowError(const std::string& quantity)
    : Error(Sentence{quantity + ": overflow, the exact value is larger than 9223372036854775807 (2^63 - 1)"},
            quantity, "more than 2^63 - 1", "problems whose exact counts fit in 63 bits", "") {}

UnknownName::UnknownName(const std::string& kind, const std::string& name, const std::string& closest,
                         const std::string& known)
    : Error(Sentence{kind + ": unknown name '" + clipped(name) + "'; accepted: " + known}, kind,
            clipped(name), known, closest) {}

MalformedData::MalformedData(const std::string& where, const std::string& problem,
                             const std::string& accepted)
    : Error(Sentence{where + ": " + clipped(problem) + "; accepted: " + accepted}, where, clipped(problem),
            accepted, "") {}

HardwareAbsent::HardwareAbsent(const std::string& what, const std::string& reason)
    : Error(Sentence{"this needs " + what + ", but " + clipped(reason)}, what, "absent", reason, "") {}

}  // namespace natten_sim
