#include <natten_sim/core/conflict.hpp>

namespace natten_sim {

Missing::Missing(const std::string& parameter, const std::string& other)
    : InvalidParameter(Sentence{parameter + " needs " + other}, parameter, "without " + other, other, "") {}

Conflict::Conflict(const std::string& parameter, const std::string& other, const std::string& accepted)
    : InvalidParameter(Sentence{parameter + " cannot be combined with " + other +
                                (accepted.empty() ? "" : "; accepted: " + accepted)},
                       parameter, "together with " + other, accepted.empty() ? "one of the two" : accepted,
                       "") {}

}  // namespace natten_sim
