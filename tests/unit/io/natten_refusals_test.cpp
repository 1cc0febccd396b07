// Why NATTEN 0.21.6 raises on a call. Values come from its Python checks as docs/natten.md lists them ("What
// NATTEN refuses") and from its tables of tiles, data/backends.json.
#include "natten_refusals.hpp"

#include <functional>
#include <string>
#include <utility>

namespace natten_refusals_test {

using namespace natten_sim;
using namespace natten_sim::test;

/// The accepted call with one change.
void check_change(const std::function<void(NattenCall&)>& change, const NattenRefusal& wanted) {
  NattenCall call = accepted_call();
  REQUIRE_FALSE(refusal_of(rules(), call));
  change(call);
  check_refused(call, wanted);
}

TEST_CASE("NATTEN has layouts of 1 to 3 axes") {
  const std::string rule = "layouts have 1 to 3 axes";
  check_change([](NattenCall& call) { call.input = {}; }, {rule, "input_size", "0 axes", "1 to 3 axes", ""});
  check_change(
      [](NattenCall& call) {
        call.input = call.window = {8, 8, 8, 8};
      },
      {rule, "input_size", "4 axes", "1 to 3 axes", ""});
}

TEST_CASE("sizes of tensors are positive") {
  const std::string rule = "sizes are positive";
  check_change(
      [](NattenCall& call) {
        call.input = {64, 0};
      },
      {rule, "input_size", "64x0", "1 or more on each axis", "64x1"});
  const std::pair<const char*, std::int64_t NattenCall::*> sizes[] = {
      {"batch_size", &NattenCall::batch},
      {"heads", &NattenCall::heads},
      {"heads_kv", &NattenCall::heads_kv},
      {"dim", &NattenCall::head_dim},
      {"dim_value", &NattenCall::head_dim_value}};
  for (const auto& [name, member] : sizes) {
    for (const std::int64_t value : {0, -3}) {
      check_change([&, member = member](NattenCall& call) { call.*member = value; },
                   {rule, name, std::to_string(value), "1 or more", "1"});
    }
  }
  check_change([](NattenCall& call) { call.additional_keys = -1; },
               {rule, "additional_keys", "-1", "0 or more", "0"});
}

TEST_CASE("heads of K and V divide those of Q") {
  // Divisors of 12: 1 2 3 4 6 12.
  for (const auto& [given, nearest] : {std::pair{5, "4"}, {7, "6"}, {11, "6"}, {13, "12"}, {24, "12"}}) {
    check_change(
        [given = given](NattenCall& call) { call.heads_kv = given; },
        {"heads of K and V divide heads of Q", "heads_kv", std::to_string(given), "divisors of 12", nearest});
  }
}

TEST_CASE("a kernel schedule is one of NATTEN's three, and one that the tiles have") {
  check_change([](NattenCall& call) { call.kernel_schedule = "koop"; },
               {"kernel schedules have three names", "kernel_schedule", "koop", "non, coop, pp", "coop"});
  // Head dim 64 runs without warp specialisation, head dim 128 with it; the default tiles count too.
  const std::string rule = "these tiles have some kernel schedules only";
  NattenCall call = accepted_call();
  call.kernel_schedule = "pp";
  check_refused(call, {rule, "kernel_schedule", "pp", "non", "non"});
  call = with_head_dim(call, 128);
  CHECK_FALSE(refusal_of(rules(), call));
  call.kernel_schedule = "non";
  check_refused(call, {rule, "kernel_schedule", "non", "coop, pp", "coop"});
  call.backend = NattenBackend::kCutlassFna;  // has no kernel schedules, and does not look
  CHECK_FALSE(refusal_of(rules(), call));
}

TEST_CASE("each argument of the mask has one value an axis") {
  const std::string rule = "one value for each axis of the input";
  check_change([](NattenCall& call) { call.window = {}; },
               {rule, "kernel_size", "none", "2 values", "64x32"});
  check_change(
      [](NattenCall& call) {
        call.window = {8, 8, 8};
      },
      {rule, "kernel_size", "3 values", "2 values", ""});
  check_change([](NattenCall& call) { call.stride = {1}; }, {rule, "stride", "1 value", "2 values", ""});
  check_change(
      [](NattenCall& call) {
        call.dilation = {1, 1, 1};
      },
      {rule, "dilation", "3 values", "2 values", ""});
  check_change([](NattenCall& call) { call.causal = {false}; },
               {rule, "is_causal", "1 value", "2 values", ""});
  NattenCall line = accepted_call();
  line.input = line.window = {64};
  line.stride = {1, 1};
  check_refused(line, {rule, "stride", "2 values", "1 value", ""});
}

TEST_CASE("kernel size, stride and dilation have a least value and fit the input") {
  check_change(
      [](NattenCall& call) {
        call.window = {16, 1};
      },
      {"kernel sizes are 2 or more", "kernel_size", "16x1", "2 or more on each axis", "16x2"});
  check_change(
      [](NattenCall& call) {
        call.stride = {0, 2};
      },
      {"strides are positive", "stride", "0x2", "1 or more on each axis", "1x2"});
  check_change(
      [](NattenCall& call) {
        call.dilation = {1, 0};
      },
      {"dilations are positive", "dilation", "1x0", "1 or more on each axis", "1x1"});
  const std::string fits = "kernel size times dilation fits the input";
  check_change(
      [](NattenCall& call) {
        call.window = {16, 33};
      },
      {fits, "kernel_size", "16x33", "at most 64x32", "16x32"});
  check_change(
      [](NattenCall& call) {
        call.dilation = {5, 1};
      },  // 64 / 5 = 12.8
      {fits, "kernel_size", "16x8", "at most 12x32", "12x8"});
  // 32 / 17 leaves one token, and a kernel size is 2 or more: there is no value to propose.
  check_change(
      [](NattenCall& call) {
        call.dilation = {1, 17};
      },
      {fits, "kernel_size", "16x8", "at most 64x1", ""});
  check_change(
      [](NattenCall& call) {
        call.stride = {17, 9};
      },
      {"strides are no larger than the kernel size", "stride", "17x9", "at most 16x8", "16x8"});
  NattenCall largest = accepted_call();
  largest.window = {32, 8};
  largest.dilation = {2, 4};
  largest.stride = {32, 8};
  CHECK_FALSE(refusal_of(rules(), largest));
}

TEST_CASE("a backend runs on its own compute capabilities") {
  const std::string wanted = " needs compute capability ";
  for (const std::int64_t device : {80, 89, 91, 100}) {
    check_refused(on(NattenBackend::kHopperFna, device),
                  {"hopper-fna" + wanted + "90", "compute_capability", std::to_string(device), "90", "90"});
  }
  for (const std::int64_t device : {90, 101, 120}) {
    check_refused(on(NattenBackend::kBlackwellFna, device),
                  {"blackwell-fna" + wanted + "100 or 103", "compute_capability", std::to_string(device),
                   "100 or 103", "100"});
  }
  check_refused(on(NattenBackend::kCutlassFna, 52),
                {"cutlass-fna" + wanted + "60 or higher", "compute_capability", "52", "60 or higher", "60"});
  check_refused(on(NattenBackend::kFlexFna, 61),
                {"flex-fna" + wanted + "70 or higher", "compute_capability", "61", "70 or higher", "70"});
  for (const auto& [backend, device] : {std::pair{NattenBackend::kHopperFna, 90},
                                        {NattenBackend::kBlackwellFna, 100},
                                        {NattenBackend::kBlackwellFna, 103},
                                        {NattenBackend::kCutlassFna, 60},
                                        {NattenBackend::kFlexFna, 70}}) {
    CHECK_FALSE(refusal_of(rules(), on(backend, device)));
  }
}

TEST_CASE("where no backend runs a call, the last one tried says why") {
  NattenCall call = accepted_call();
  call.compute_capability = 50;
  check_refused(
      call, {"no backend runs this call; the last one tried: flex-fna needs compute capability 70 or higher",
             "compute_capability", "50", "70 or higher", "70"});
  call.window = call.input;
  check_refused(call,
                {"no dense backend runs this call; the last one tried: flex-fmha needs compute capability 70 "
                 "or higher",
                 "compute_capability", "50", "70 or higher", "70"});
  // 12 is no multiple of 8, so that cutlass-fmha refuses; flex-fmha has no causal mask.
  check_refused(with_head_dim(dense_causal(), 12),
                {"no dense backend runs this call; the last one tried: flex-fmha has no causal mask",
                 "is_causal", "true", "false", "false"});
}

TEST_CASE("hopper-fna and blackwell-fna have no deterministic backward pass") {
  for (const auto& [backend, device] :
       {std::pair{NattenBackend::kHopperFna, 90}, {NattenBackend::kBlackwellFna, 100}}) {
    NattenCall call = on(backend, device);
    call.deterministic = true;
    CHECK_FALSE(refusal_of(rules(), call));
    call.requires_grad = true;
    check_refused(call, {std::string(to_string(backend)) + " has no deterministic backward pass",
                         "deterministic", "true", "false with a gradient", "false"});
    call.backend = NattenBackend::kCutlassFna;
    CHECK_FALSE(refusal_of(rules(), call));
    call.backend.reset();  // NATTEN takes one that has it
    CHECK(dispatch_of(rules(), call).backend == NattenBackend::kCutlassFna);
  }
}

TEST_CASE("a backend runs its own element types, fewer of them with a gradient or compiled") {
  NattenCall call = on(NattenBackend::kHopperFna, 90);
  call.dtype = Dtype::kFp32;
  check_refused(call, {"hopper-fna runs some element types only", "dtype", "fp32", "fp16, bf16", "fp16"});
  call.backend = NattenBackend::kCutlassFna;
  CHECK_FALSE(refusal_of(rules(), call));
  call.dtype = Dtype::kE4m3;
  check_refused(call,
                {"cutlass-fna runs some element types only", "dtype", "e4m3", "fp16, bf16, fp32", "fp16"});

  call = on(NattenBackend::kBlackwellFna, 100);
  call.dtype = Dtype::kFp32;
  check_refused(call, {"blackwell-fna runs some element types only", "dtype", "fp32",
                       "fp16, bf16, e4m3, e5m2", "fp16"});
  for (const Dtype fp8 : {Dtype::kE4m3, Dtype::kE5m2}) {
    call.dtype = fp8;
    call.requires_grad = false;
    CHECK_FALSE(refusal_of(rules(), call));
    call.requires_grad = true;
    check_refused(
        call, {"blackwell-fna has no backward pass in fp8", "dtype", to_string(fp8), "fp16, bf16", "fp16"});
  }

  call = on(NattenBackend::kFlexFna, 90);
  call.dtype = Dtype::kFp32;
  CHECK_FALSE(refusal_of(rules(), call));
  call.torch_compile = true;
  check_refused(call, {"flex-fna runs some element types only", "dtype", "fp32", "fp16, bf16", "fp16"});
}

TEST_CASE("a backend runs its own head dims, and proposes the nearest, the larger of two") {
  const auto refused = [](const NattenCall& call, std::int64_t head_dim, const std::string& accepted,
                          const std::string& nearest) {
    check_refused(with_head_dim(call, head_dim),
                  {std::string(to_string(*call.backend)) + " runs some head dims only", "dim",
                   std::to_string(head_dim), accepted, nearest});
  };
  const NattenCall hopper = on(NattenBackend::kHopperFna, 90);
  refused(hopper, 48, "32, 64, 128, 256", "64");
  refused(hopper, 47, "32, 64, 128, 256", "32");
  refused(hopper, 1000, "32, 64, 128, 256", "256");
  NattenCall blackwell = on(NattenBackend::kBlackwellFna, 100);
  refused(blackwell, 1, "8 to 128, multiples of 8", "8");
  refused(blackwell, 4, "8 to 128, multiples of 8", "8");
  refused(blackwell, 20, "8 to 128, multiples of 8", "24");
  refused(blackwell, 19, "8 to 128, multiples of 8", "16");
  refused(blackwell, 136, "8 to 128, multiples of 8", "128");
  blackwell.dtype = Dtype::kE5m2;
  refused(blackwell, 24, "16 to 128, multiples of 16", "32");
  refused(blackwell, 8, "16 to 128, multiples of 16", "16");
  refused(on(NattenBackend::kCutlassFna, 80), 100, "8 to 65536, multiples of 8", "104");
  NattenCall flex = on(NattenBackend::kFlexFna, 80);
  refused(flex, 96, "8 to 512, powers of two", "128");
  refused(flex, 95, "8 to 512, powers of two", "64");
  refused(flex, 600, "8 to 512, powers of two", "512");
  CHECK_FALSE(refusal_of(rules(), with_head_dim(flex, 16)));
  flex.torch_compile = true;
  refused(flex, 16, "32 to 512, powers of two", "32");
}

TEST_CASE("head dims of Q, K and V are equal, but for cutlass-fna") {
  for (const auto& [backend, device] : {std::pair{NattenBackend::kHopperFna, 90},
                                        {NattenBackend::kBlackwellFna, 100},
                                        {NattenBackend::kFlexFna, 80}}) {
    NattenCall call = on(backend, device);
    call.head_dim_value = 128;
    check_refused(call, {std::string(to_string(backend)) + " needs equal head dims of Q, K and V",
                         "dim_value", "128", "64", "64"});
  }
  NattenCall call = on(NattenBackend::kCutlassFna, 80);
  call.head_dim_value = 128;
  CHECK_FALSE(refusal_of(rules(), call));
  call.head_dim_value = 60;
  check_refused(
      call, {"cutlass-fna runs some head dims only", "dim_value", "60", "8 to 65536, multiples of 8", "64"});
}

TEST_CASE("head dim 256 has a forward kernel on Hopper, but neither gradient nor inference gets to it") {
  NattenCall call = with_head_dim(on(NattenBackend::kHopperFna, 90), 256);
  const std::string inference = " wants a backward configuration, in inference too";
  check_refused(call, {"hopper-fna" + inference, "dim", "256", "32, 64, 128", "128"});
  call.requires_grad = true;
  check_refused(call,
                {"hopper-fna has no backward pass for this head dim", "dim", "256", "32, 64, 128", "128"});
  // The dense kernel of the window that covers the input, and that of additional keys.
  NattenCall dense = with_head_dim(dense_causal(), 256);
  check_refused(dense, {"hopper-fmha" + inference, "dim", "256", "32, 64, 128", "128"});
  call = with_head_dim(on(NattenBackend::kCutlassFna, 90), 256);
  CHECK_FALSE(refusal_of(rules(), call));
  call.additional_keys = 16;
  check_refused(call, {"hopper-fmha" + inference, "dim", "256", "32, 64, 128", "128"});
  call.requires_grad = true;  // hopper-fmha cannot run it, so cutlass-fmha does
  CHECK(dispatch_of(rules(), call).fmha == NattenBackend::kCutlassFna);
}

}  // namespace natten_refusals_test
