#pragma once

#include <functional>
#include <string>

#include <natten_sim/core/error.hpp>

namespace natten_sim::test {

/// The parameter that a call refuses; empty where it takes what it is given, or fails for another reason.
inline std::string refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const InvalidParameter& error) {
    return error.parameter();
  } catch (const Error&) {  // such as a count that does not fit
  }
  return {};
}

}  // namespace natten_sim::test
