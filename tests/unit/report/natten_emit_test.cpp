#include <nlohmann/json.hpp>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/report/natten_emit.hpp>

#include "catch.hpp"

namespace natten_emit_test {

using namespace natten_sim;
using namespace natten_sim::report;

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

TEST_CASE("calls are printed for Python, the profiler and programs") {
  NattenCall call = flux_on_h100();
  call.causal = {false, true};
  call.additional_keys = 512;
  call.tiles = TilePair{{16, 8}, {16, 8}};
  call.backward_tiles = TilePair{{8, 8}, {8, 16}};
  call.kernel_schedule = "pp";
  call.requires_grad = true;
  REQUIRE(natten_python(rules(), call) ==
          "natten.na2d(query, key, value, kernel_size=(80, 80), stride=(16, 16), dilation=(1, 1), "
          "is_causal=(False, True), additional_keys=additional_keys, additional_values=additional_values, "
          "q_tile_shape=(16, 8), kv_tile_shape=(16, 8), backward_q_tile_shape=(8, 8), "
          "backward_kv_tile_shape=(8, 16), kernel_schedule=\"pp\")");
  REQUIRE(
      natten_profiler_command(rules(), call) ==
      "python -m natten.profiler -i 256 256 -w 80 80 -s 16 16 -c '' 1 -b 1 -n 24 -d 128 --dtype bf16 "
      "--backprop --add-kv 512 --q-tile 16 8 --kv-tile 16 8 --backward-q-tile 8 8 --backward-kv-tile 8 16 "
      "--schedule pp");  // hopper-fmha gets tiles of 128/128, of 64/128 backward, and that schedule
  REQUIRE(
      natten_path_note(rules(), call) ==
      "NATTEN 0.21.7 runs hopper-fna (Q tile 16x8, KV tile 16x8, schedule pp; backward Q tile 8x8, KV tile "
      "8x16) "
      "on tokens that it copies into tiles. The additional keys take a second pass, of hopper-fmha (Q tile "
      "128, KV tile 128).");
  const auto json = nlohmann::json::parse(natten_json(rules(), call));
  REQUIRE(json.at("schema") == "natten-sim.natten-call/1");
  REQUIRE(json.at("result").at("kernel") == "hopper-fna");
  REQUIRE(json.at("result").at("fmha") == "hopper-fmha");
  REQUIRE_THROWS_AS(flex_attention_script(call), InvalidParameter);
  call.window = {1, 1};
  REQUIRE_THROWS_AS(natten_python(rules(), call), InvalidParameter);
  REQUIRE_THROWS_AS(natten_json(rules(), call), InvalidParameter);
}

// profiler.py: q_tile_size = math.prod(q_tile), and the schedule, are attention_kwargs of the same call.
TEST_CASE("the profiler is not given tiles that it would hand on to a dense kernel without them") {
  NattenCall call = flux_on_h100();
  call.backend = NattenBackend::kCutlassFna;
  call.tiles = TilePair{{8, 8}, {8, 8}};
  const std::string flux = "python -m natten.profiler -i 256 256 -w 80 80 -s 16 16 -b 1 -n 24 -d 128 --dtype bf16";
  CHECK(natten_profiler_command(rules(), call) == flux + " --backend cutlass-fna --q-tile 8 8 --kv-tile 8 8");
  call.additional_keys = 512;  // hopper-fmha has no tiles of 64/64; those of cutlass-fna are its default
  CHECK(natten_profiler_command(rules(), call) == flux + " --add-kv 512 --backend cutlass-fna");
  call.tiles = TilePair{{4, 16}, {4, 16}};
  CHECK_THROWS_AS(natten_profiler_command(rules(), call), InvalidParameter);
  CHECK_FALSE(natten_python(rules(), call).empty());
  call.additional_keys = 0;
  call.window = call.input;  // hopper-fmha alone
  call.backend = NattenBackend::kHopperFna;
  call.kernel_schedule = "pp";
  call.tiles = TilePair{{16, 8}, {16, 8}};
  CHECK(natten_profiler_command(rules(), call) ==
        "python -m natten.profiler -i 256 256 -w 256 256 -s 16 16 -b 1 -n 24 -d 128 --dtype bf16");
}

// profiler.py: --persistent is a store_true that becomes run_persistent_kernel of the neighborhood's kernel alone;
// functional.py: run_persistent_kernel of na2d() and of attention() is True.
TEST_CASE("the profiler is told to run blackwell-fna persistently, as a call does by itself") {
  const auto persistent = [](const NattenCall& call) {
    return natten_profiler_command(rules(), call).find(" --persistent") != std::string::npos;
  };
  NattenCall call = flux_on_h100();
  CHECK_FALSE(persistent(call));
  call.compute_capability = 100;
  CHECK(persistent(call));
  call.backend = NattenBackend::kBlackwellFna;
  call.additional_keys = 512;
  CHECK(persistent(call));
  call.backend = NattenBackend::kCutlassFna;
  call.additional_keys = 0;
  CHECK_FALSE(persistent(call));
  call.backend = std::nullopt;
  call.window = call.input;  // blackwell-fmha alone
  CHECK_FALSE(persistent(call));
}

TEST_CASE("around cyclic axes the call is of the padded layout, and the padding's outputs are left out") {
  NattenCall call = flux_on_h100();
  const NeighborhoodMask cyclic =
      make_mask({224, 256}, call.window, call.stride, {}, {}, PerAxis<bool>{true, false});
  const auto [before, after] = cycle_padding(cyclic[0]);
  REQUIRE(before == 32);  // 80 / 2 - 16 / 2 tokens
  REQUIRE(after == 32);   // the last window ends at 208 - 32 + 80
  call.input = {224 + 64, 256};
  const std::string text = natten_python_around(rules(), call, cyclic);
  CHECK(text.find("in [(1, 32, 32)]:") != std::string::npos);
  CHECK(text.find(natten_python(rules(), call) + "[:, 32:256, :]") != std::string::npos);
}

TEST_CASE("the note of a call says when NATTEN runs its dense kernel instead") {
  NattenCall call = flux_on_h100();
  call.window = call.input;
  call.backend = NattenBackend::kCutlassFna;
  REQUIRE(natten_path_note(rules(), call).find("one dense call of hopper-fmha") != std::string::npos);
}

}  // namespace natten_emit_test
