#include <natten_sim/core/conflict.hpp>

namespace natten_sim {

Conflict::Conflict(const std::string& parameter, const std::string& other, const std::string& accepted)
    : InvalidParameter(Sentence{parameter + " cannot be combined with " + other +
                                (accepted.empty() ? "" : "; accepted: " + accepted)},
                       parameter, "together with " + other, accepted.empty() ? "one of the two" : accepted,
                       "") {}

}  // namespace natten_sim
