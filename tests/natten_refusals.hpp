#pragma once

#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/natten_call.hpp>
#include <natten_sim/io/catalog.hpp>

#include "catch.hpp"

/// Calls of NATTEN, and what it has to say when it refuses one.
namespace natten_sim::test {

inline const NattenRules& rules() { return builtin_catalog().natten_release({}); }

/// Accepted: two axes on an H100, which gets hopper-fna.
inline NattenCall accepted_call() {
  NattenCall call;
  call.input = {64, 32};
  call.window = {16, 8};
  call.heads = call.heads_kv = 12;
  return call;
}

inline NattenCall on(NattenBackend backend, std::int64_t compute_capability) {
  NattenCall call = accepted_call();
  call.backend = backend;
  call.compute_capability = compute_capability;
  return call;
}

inline NattenCall with_head_dim(NattenCall call, std::int64_t head_dim) {
  call.head_dim = call.head_dim_value = head_dim;
  return call;
}

/// A causal window over the whole of one axis, which only a dense kernel can serve.
inline NattenCall dense_causal() {
  NattenCall call = accepted_call();
  call.input = call.window = {256};
  call.causal = {true};
  return call;
}

inline void check_refused(const NattenCall& call, const NattenRefusal& wanted) {
  CAPTURE(wanted.rule, wanted.parameter, wanted.value);
  const std::optional<NattenRefusal> refusal = refusal_of(rules(), call);
  REQUIRE(refusal);
  CHECK(refusal->rule == wanted.rule);
  CHECK(refusal->parameter == wanted.parameter);
  CHECK(refusal->value == wanted.value);
  CHECK(refusal->accepted == wanted.accepted);
  CHECK(refusal->nearest == wanted.nearest);
  CHECK_FALSE(verdict_of(rules(), call).dispatch);
  try {
    (void)dispatch_of(rules(), call);
    FAIL("a refused call was dispatched");
  } catch (const InvalidParameter& error) {
    CHECK(std::string(error.what()) == wanted.parameter + ": " + wanted.value + " is not valid; accepted: " +
                                           wanted.accepted + " (NATTEN: " + wanted.rule + ")");
    CHECK(error.hint() == wanted.nearest);
  }
}

}  // namespace natten_sim::test
