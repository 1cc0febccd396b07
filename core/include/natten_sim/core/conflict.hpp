#pragma once

#include <string>

#include <natten_sim/core/error.hpp>

namespace natten_sim {

/// A parameter that means nothing without another one: "jitter needs sample".
class Missing : public InvalidParameter {
 public:
  Missing(const std::string& parameter, const std::string& other);
};

/// Two parameters that cannot both be given: "speedup cannot be combined with sparsity".
class Conflict : public InvalidParameter {
 public:
  /// `accepted` says what to give instead; without it the sentence ends after `other`, and accepted() is "one
  /// of the two".
  Conflict(const std::string& parameter, const std::string& other, const std::string& accepted = "");
};

}  // namespace natten_sim
