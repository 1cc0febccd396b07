// Which tiles, kernels and schedules a call of NATTEN 0.21.6 gets, and which it is refused:
// data/backends.json.
#include <string>
#include <utility>

#include "natten_refusals.hpp"

namespace natten_tiles_test {

using namespace natten_sim;
using namespace natten_sim::test;

TEST_CASE("tile pairs are those compiled in, of each pass") {
  const std::string hopper = "tile pairs are those that hopper-fna was compiled for";
  NattenCall call = on(NattenBackend::kHopperFna, 90);
  call.tiles = TilePair{{16, 8}, {16, 8}};  // of head dim 128
  check_refused(
      call, {hopper, "q_tile_shape, kv_tile_shape", "q 16x8, kv 16x8", "one of 2 pairs", "q 8x8, kv 16x8"});
  call.tiles = TilePair{{8, 8}, {8, 16}};
  CHECK_FALSE(refusal_of(rules(), call));
  call.backward_tiles = TilePair{{8, 8}, {8, 8}};
  check_refused(call, {hopper, "backward_q_tile_shape, backward_kv_tile_shape", "q 8x8, kv 8x8",
                       "one of 4 backward pairs", "q 8x8, kv 16x8"});
  call.backward_tiles = TilePair{{16, 8}, {8, 16}};
  CHECK_FALSE(refusal_of(rules(), call));
  call.backend = NattenBackend::kFlexFna;  // has no backward tiles, and does not look
  call.tiles = TilePair{{4, 16}, {8, 8}};
  call.backward_tiles = TilePair{{3, 3}, {3, 3}};
  CHECK_FALSE(refusal_of(rules(), call));
  call.tiles = TilePair{{8, 8}, {4, 16}};
  check_refused(call, {"tile pairs are those that flex-fna was compiled for", "q_tile_shape, kv_tile_shape",
                       "q 8x8, kv 4x16", "one of 3 pairs", "q 8x8, kv 8x8"});
}

/// Whether cutlass-fna's backward pass takes tiles of these GEMMs on one axis: their Q and KV tile.
bool backward_fits(std::int64_t q_tile, std::int64_t kv_tile, std::int64_t device, std::int64_t head_dim,
                   Dtype dtype) {
  NattenCall call = with_head_dim(on(NattenBackend::kCutlassFna, device), head_dim);
  call.input = {256};
  call.window = {64};
  call.dtype = dtype;
  call.requires_grad = true;
  call.backward_tiles = TilePair{{q_tile}, {kv_tile}};
  const std::optional<NattenRefusal> refusal = refusal_of(rules(), call);
  if (refusal) CHECK(refusal->parameter == "backward_q_tile_shape, backward_kv_tile_shape");
  return !refusal;
}

TEST_CASE("GEMMs of cutlass-fna are those that a device's shared memory holds") {
  // Forward, 0.21.7 has 64x128 where shared memory is that of data-centre GPUs.
  for (const std::int64_t device : {60, 75, 80, 86, 89, 90, 103}) {
    NattenCall call = on(NattenBackend::kCutlassFna, device);
    call.input = {256};
    call.window = {64};
    call.tiles = TilePair{{64}, {128}};
    CHECK(refusal_of(rules(), call).has_value() == (device != 80 && device != 90 && device != 103));
    call.tiles = TilePair{{32}, {128}};
    CHECK_FALSE(refusal_of(rules(), call));
  }
  // Backward, 64x64 fits everywhere. In half precision 128x128 is for head dims to 128 and 128x64 for those
  // above, on 80, 90, 100 and 103; on 70 it is 128x64 always. In full precision 128x64 fits those four.
  for (const std::int64_t device : {60, 70, 75, 80, 86, 89, 90, 100, 103, 120}) {
    const bool large = device == 80 || device == 90 || device == 100 || device == 103;
    for (const std::int64_t head_dim : {64, 128, 136, 256}) {
      for (const Dtype dtype : {Dtype::kFp16, Dtype::kBf16, Dtype::kFp32}) {
        CAPTURE(device, head_dim, to_string(dtype));
        const bool fp32 = dtype == Dtype::kFp32;
        CHECK(backward_fits(64, 64, device, head_dim, dtype));
        CHECK(backward_fits(128, 128, device, head_dim, dtype) == (large && !fp32 && head_dim <= 128));
        CHECK(backward_fits(128, 64, device, head_dim, dtype) ==
              (fp32 ? large : device == 70 || (large && head_dim > 128)));
      }
    }
  }
}

TEST_CASE("rules without a backend say so") {
  NattenRules none;
  none.backends = {rules().of(NattenBackend::kCutlassFna)};
  CHECK(none.of(NattenBackend::kCutlassFna).lowest_compute_capability == 60);
  CHECK_THROWS_AS(none.of(NattenBackend::kFlexFna), InvalidParameter);
}

TEST_CASE("an accepted call says which kernels and tiles it gets") {
  // Additional keys take a dense pass beside the kernel; hopper-fmha has tiles of 64 x 128 at head dim 64.
  NattenCall call = accepted_call();
  call.additional_keys = 77;
  NattenDispatch dispatch = dispatch_of(rules(), call);
  CHECK(dispatch.backend == NattenBackend::kHopperFna);
  CHECK_FALSE(dispatch.dense_path);
  CHECK(dispatch.kernel_schedule == "non");
  CHECK(dispatch.fmha == NattenBackend::kHopperFna);
  CHECK(dispatch.fmha_tiles == TilePair{{64}, {128}});
  CHECK(dispatch.fmha_backward_tiles == TilePair{{64}, {128}});
  // flex-fna keeps the tiles that it was given, and none otherwise.
  call = on(NattenBackend::kFlexFna, 80);
  CHECK_FALSE(dispatch_of(rules(), call).tiles);
  call.tiles = TilePair{{4, 16}, {8, 8}};
  dispatch = dispatch_of(rules(), call);
  CHECK(*dispatch.tiles == TilePair{{4, 16}, {8, 8}});
  CHECK(*dispatch.backward_tiles == TilePair{{4, 16}, {8, 8}});
  // One axis: the causal mask of a dense call goes to the dense kernel too, but not with additional keys.
  call = dense_causal();
  CHECK(dispatch_of(rules(), call).dense_path);
  call.additional_keys = 8;
  CHECK_FALSE(dispatch_of(rules(), call).dense_path);
  // A schedule that was asked for is the one that runs.
  call = with_head_dim(accepted_call(), 128);
  call.kernel_schedule = "pp";
  CHECK(dispatch_of(rules(), call).kernel_schedule == "pp");
  call.kernel_schedule = "";
  CHECK(dispatch_of(rules(), call).kernel_schedule == "coop");
  CHECK(std::string(fmha_name(NattenBackend::kBlackwellFna)) == "blackwell-fmha");
}

}  // namespace natten_tiles_test
