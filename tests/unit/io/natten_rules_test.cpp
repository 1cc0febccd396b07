#include <natten_sim/core/error.hpp>
#include <natten_sim/core/natten_call.hpp>
#include <natten_sim/io/catalog.hpp>

#include "catch.hpp"

namespace natten_rules_test {

using namespace natten_sim;

const NattenRules& rules() { return builtin_catalog().natten_release({}); }

NattenCall flux_on_h100() {
  NattenCall call;
  call.input = {256, 256};
  call.window = {80, 80};
  call.stride = {16, 16};
  call.heads = call.heads_kv = 24;
  call.head_dim = call.head_dim_value = 128;
  call.dtype = Dtype::kBf16;
  return call;
}

NattenRefusal refused(const NattenCall& call) {
  const std::optional<NattenRefusal> refusal = refusal_of(rules(), call);
  REQUIRE(refusal);
  return *refusal;
}

TEST_CASE("a refusal names the rule, the parameter, the value and the nearest value") {
  NattenCall call = flux_on_h100();
  REQUIRE_FALSE(refusal_of(rules(), call));

  call.window = {1, 80};
  call.stride = {};
  NattenRefusal refusal = refused(call);
  REQUIRE(refusal.parameter == "kernel_size");
  REQUIRE(refusal.value == "1x80");
  REQUIRE(refusal.nearest == "2x80");

  call.window = {80, 80};
  call.dilation = {4, 1};
  refusal = refused(call);
  REQUIRE(refusal.parameter == "kernel_size");
  REQUIRE(refusal.accepted == "at most 64x256");
  REQUIRE(refusal.nearest == "64x80");

  call.dilation = {};
  call.stride = {81, 1};
  REQUIRE(refused(call).nearest == "80x1");
  REQUIRE_THROWS_AS(require_accepted(rules(), call), InvalidParameter);
}

TEST_CASE("hopper-fna refuses head dim 256 in inference too, for want of a backward configuration") {
  NattenCall call = flux_on_h100();
  call.head_dim = call.head_dim_value = 256;
  const NattenRefusal refusal = refused(call);
  REQUIRE(refusal.parameter == "dim");
  REQUIRE(refusal.nearest == "128");
  call.backend = NattenBackend::kCutlassFna;
  REQUIRE_FALSE(refusal_of(rules(), call));
}

TEST_CASE("blackwell-fna runs fp8 forward alone") {
  NattenCall call = flux_on_h100();
  call.compute_capability = 100;
  call.dtype = Dtype::kE4m3;
  REQUIRE_FALSE(refusal_of(rules(), call));
  call.backend = NattenBackend::kBlackwellFna;
  call.requires_grad = true;
  REQUIRE(refused(call).rule == "blackwell-fna has no backward pass in fp8");
  call.requires_grad = false;
  call.head_dim = call.head_dim_value = 72;  // fp16: multiples of 8; fp8: of 16
  REQUIRE(refused(call).nearest == "80");
}

TEST_CASE("tile pairs, schedules and GEMM shapes are those that a device has") {
  NattenCall call = flux_on_h100();
  call.tiles = TilePair{{16, 8}, {16, 8}};
  call.kernel_schedule = "pp";
  REQUIRE_FALSE(refusal_of(rules(), call));
  call.kernel_schedule = "non";
  REQUIRE(refused(call).accepted == "coop, pp");
  call.kernel_schedule = "";
  call.tiles = TilePair{{8, 16}, {16, 8}};
  REQUIRE(refused(call).nearest == "q 16x8, kv 16x8");

  // 64x128 GEMMs do not fit an A10 (sm_86), which an A100 has memory for.
  call.tiles = TilePair{{8, 8}, {8, 16}};
  call.compute_capability = 80;
  REQUIRE_FALSE(refusal_of(rules(), call));
  call.compute_capability = 86;
  REQUIRE(refused(call).parameter == "q_tile_shape, kv_tile_shape");
  REQUIRE(refused(call).nearest == "q 8x4, kv 8x16");  // half of one axis; the first of several as near
}

TEST_CASE("defaults are NATTEN's own, not the first of a list") {
  NattenCall call = flux_on_h100();
  call.backend = NattenBackend::kCutlassFna;
  NattenDispatch dispatch = dispatch_of(rules(), call);
  REQUIRE(*dispatch.tiles == TilePair{{8, 8}, {8, 8}});
  REQUIRE(*dispatch.backward_tiles == TilePair{{8, 8}, {8, 8}});
  call.backend.reset();
  dispatch = dispatch_of(rules(), call);
  REQUIRE(dispatch.backend == NattenBackend::kHopperFna);
  REQUIRE(*dispatch.tiles == TilePair{{16, 8}, {16, 8}});
  REQUIRE(dispatch.kernel_schedule == "coop");
  REQUIRE(*dispatch.backward_tiles == TilePair{{8, 8}, {16, 8}});
}

TEST_CASE("a window that covers the input goes to the dense kernel whatever was asked for") {
  NattenCall call = flux_on_h100();
  call.window = call.input;
  call.backend = NattenBackend::kCutlassFna;
  call.tiles = TilePair{{3, 5}, {7, 1}};
  const NattenDispatch dispatch = dispatch_of(rules(), call);
  REQUIRE(dispatch.dense_path);
  REQUIRE(dispatch.fmha == NattenBackend::kHopperFna);
  REQUIRE(dispatch.fmha_tiles == TilePair{{128}, {128}});
}

/// Tiles of 64 queries and 128 keys in cutlass-fna.
NattenCall with_64x128_tiles(std::int64_t compute_capability) {
  NattenCall call;
  call.input = {64, 64};
  call.window = {16, 16};
  call.compute_capability = compute_capability;
  call.backend = NattenBackend::kCutlassFna;
  call.tiles = TilePair{{8, 8}, {16, 8}};
  return call;
}

bool takes_64x128(const char* version, std::int64_t compute_capability) {
  return !refusal_of(builtin_catalog().natten_release(version), with_64x128_tiles(compute_capability));
}

TEST_CASE("0.21.7 keeps 64x128 tiles of cutlass-fna for data-centre GPUs") {
  // get_all_tile_shapes_forward in natten/backends/configs/cutlass/__init__.py of the two releases.
  for (const std::int64_t capability : {80, 90, 100, 103}) {
    CHECK(takes_64x128("0.21.6", capability));
    CHECK(takes_64x128("0.21.7", capability));
  }
  for (const std::int64_t capability : {86, 89}) {
    CHECK_FALSE(takes_64x128("0.21.6", capability));
    CHECK_FALSE(takes_64x128("0.21.7", capability));
  }
  for (const std::int64_t capability : {70, 75, 120, 121}) {
    CHECK(takes_64x128("0.21.6", capability));
    CHECK_FALSE(takes_64x128("0.21.7", capability));
  }
}

TEST_CASE("releases of NATTEN lie newest first, and an unknown one is named with those there are") {
  const Catalog& catalog = builtin_catalog();
  REQUIRE(catalog.natten.size() >= 2);
  CHECK(catalog.natten[0].version == "0.21.7");
  CHECK(catalog.natten[1].version == "0.21.6");
  CHECK(&catalog.natten_release({}) == &catalog.natten[0]);
  CHECK_FALSE(catalog.natten[0].changes.empty());
  try {
    (void)catalog.natten_release("0.21.5");
    FAIL("there is no such release");
  } catch (const UnknownName& error) {
    CHECK(std::string(error.what()).find("0.21.7, 0.21.6") != std::string::npos);
  }
}

}  // namespace natten_rules_test
