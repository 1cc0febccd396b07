#pragma once

#include <string>

#include <natten_sim/core/error.hpp>

namespace natten_sim {

/// Two parameters that cannot both be given: "speedup cannot be combined with sparsity".
class Conflict : public InvalidParameter {
 public:
  /// `accepted` says what to give instead; without it the sentence ends after `other`, and accepted() is "one
  /// of the two".
  Conflict(const std::string& parameter, const std::string& other, const std::string& accepted = "");
};

}  // namespace natten_sim
