#include <natten_sim/core/error.hpp>
#include <natten_sim/study/count.hpp>
#include <natten_sim/study/search.hpp>

#include "catch.hpp"

namespace dispatch_test {

using namespace natten_sim;

/// 64x64 tokens, 16x16 windows, 8 heads of dim 64 in bf16 on a device.
study::CountQuestion question_on(const char* device) {
  study::CountQuestion question;
  question.setting.device = device;
  question.setting.input = {64, 64};
  question.setting.heads = 8;
  question.setting.head_dim = 64;
  question.setting.dtype = Dtype::kBf16;
  question.window = {16, 16};
  return question;
}

std::string kernel_of(const study::CountQuestion& question) {
  const study::CountAnswer answer = study::count(question, study::default_context());
  REQUIRE_FALSE(answer.kernel.refusal);
  REQUIRE(answer.kernel.forward);
  return study::name_of(answer.kernel.forward->attention);
}

/// By NATTEN's rules, or because the backend has no tiles for the head dim.
bool is_refused(const study::CountQuestion& question) {
  try {
    return study::count(question, study::default_context()).kernel.refusal.has_value();
  } catch (const InvalidParameter&) {
    return true;
  }
}

// choose_backend of NATTEN 0.21 tries blackwell-fna, hopper-fna, cutlass-fna and flex-fna, and takes the
// first whose can_run_.. accepts compute capability, types and head dims.
TEST_CASE("a device runs what NATTEN chooses for head dims and types") {
  for (const char* device : {"h100", "h200", "h800"}) {
    CHECK(kernel_of(question_on(device)) == "hopper-fna");
    for (const std::int64_t head_dim : {16, 80, 96, 160}) {
      study::CountQuestion question = question_on(device);
      question.setting.head_dim = head_dim;
      CHECK(kernel_of(question) == "cutlass-fna");
    }
    study::CountQuestion fp32 = question_on(device);
    fp32.setting.dtype = Dtype::kFp32;
    CHECK(kernel_of(fp32) == "cutlass-fna");
    study::CountQuestion uneven = question_on(device);
    uneven.setting.head_dim_value = 32;
    CHECK(kernel_of(uneven) == "cutlass-fna");
  }
  CHECK(kernel_of(question_on("b200")) == "blackwell-fna");
  for (const std::int64_t head_dim : {80, 96}) {  // multiples of 8 up to 128
    study::CountQuestion question = question_on("b200");
    question.setting.head_dim = head_dim;
    CHECK(kernel_of(question) == "blackwell-fna");
  }
  study::CountQuestion wide = question_on("b200");
  wide.setting.head_dim = 160;
  CHECK(kernel_of(wide) == "cutlass-fna");
  CHECK(kernel_of(question_on("a100")) == "cutlass-fna");
  CHECK(kernel_of(question_on("gb10")) == "cutlass-fna");
}

TEST_CASE("an answer says what kept NATTEN from the faster backend") {
  study::CountQuestion question = question_on("h100");
  question.setting.head_dim = 80;
  const study::KernelAnswer kernel = study::count(question, study::default_context()).kernel;
  REQUIRE(kernel.passed_over.size() == 1);  // blackwell-fna is not made for the device
  CHECK(kernel.passed_over[0].backend == NattenBackend::kHopperFna);
  CHECK(kernel.passed_over[0].refusal.parameter == "dim");
  CHECK(kernel.passed_over[0].refusal.value == "80");
  CHECK(study::count(question_on("h100"), study::default_context()).kernel.passed_over.empty());
}

// Both releases' can_run_cutlass_blackwell_fna: equal head dims, then fp16, bf16, e4m3 or e5m2, fp8 forward only;
// can_run_cutlass_hopper_fna: compute capability 90; can_run_cutlass_fna: fp32 and unequal head dims by 8, no fp8.
TEST_CASE("b200 leaves fp32 and unequal head dims to cutlass-fna, in each release") {
  struct Row {
    Dtype dtype;
    std::int64_t head_dim, head_dim_value;
    const char* wrong;  ///< what blackwell-fna refuses; null: it runs the call
  };
  const Row rows[] = {{Dtype::kBf16, 64, 64, nullptr},     {Dtype::kE4m3, 64, 64, nullptr},
                      {Dtype::kFp32, 64, 64, "dtype"},     {Dtype::kBf16, 64, 32, "dim_value"},
                      {Dtype::kFp16, 32, 64, "dim_value"}, {Dtype::kFp32, 128, 128, "dtype"},
                      {Dtype::kFp16, 160, 160, "dim"}};
  for (const char* release : {"0.21.6", "0.21.7"}) {
    for (const Row& row : rows) {
      for (const bool backward : {false, true}) {
        if (backward && row.dtype == Dtype::kE4m3) continue;
        study::CountQuestion question = question_on("b200");
        question.setting.natten = release;
        question.setting.dtype = row.dtype;
        question.setting.head_dim = row.head_dim;
        question.setting.head_dim_value = row.head_dim_value;
        question.backward = backward;
        CAPTURE(release, to_string(row.dtype), row.head_dim, row.head_dim_value, backward);
        CHECK(kernel_of(question) == (row.wrong == nullptr ? "blackwell-fna" : "cutlass-fna"));
        const auto passed_over = study::count(question, study::default_context()).kernel.passed_over;
        REQUIRE(passed_over.size() == (row.wrong == nullptr ? 0 : 1));
        if (row.wrong != nullptr) CHECK(passed_over[0].refusal.parameter == row.wrong);
      }
    }
  }
  study::CountQuestion both = question_on("b200");  // neither cutlass-fna nor flex-fna has fp8 either
  both.setting.dtype = Dtype::kE4m3;
  both.backward = true;
  CHECK_THROWS_AS(study::count(both, study::default_context()), InvalidParameter);
}

// torch.use_deterministic_algorithms: hopper-fna and blackwell-fna have no such backward pass, cutlass-fna has.
TEST_CASE("deterministic algorithms change the backend of a backward pass alone") {
  for (const char* device : {"h100", "b200"}) {
    study::CountQuestion question = question_on(device);
    const std::string own = kernel_of(question);
    question.setting.deterministic = true;
    CHECK(kernel_of(question) == own);
    question.backward = true;
    CHECK(kernel_of(question) == "cutlass-fna");
    const study::KernelAnswer kernel = study::count(question, study::default_context()).kernel;
    REQUIRE(kernel.passed_over.size() == 1);
    CHECK(kernel.passed_over[0].refusal.parameter == "deterministic");
    question.setting.backend = own;
    CHECK(study::count(question, study::default_context()).kernel.refusal->parameter == "deterministic");
    question.setting.deterministic = false;
    CHECK(kernel_of(question) == own);
  }
}

TEST_CASE("types that no backend of the device runs stay an error of its own") {
  study::CountQuestion question = question_on("h100");
  question.setting.dtype = Dtype::kE4m3;
  CHECK_THROWS_AS(study::count(question, study::default_context()), InvalidParameter);
}

// functional.py: is_self_attention() comes before `backend or choose_backend(..)`, and attention() is not told of it.
TEST_CASE("with a window over the whole input no named backend runs, and the answer says so") {
  study::CountQuestion question = question_on("h100");
  question.window = question.setting.input;
  study::KernelAnswer kernel = study::count(question, study::default_context()).kernel;
  CHECK(study::name_of(kernel.forward->attention) == std::string("hopper-fmha"));
  CHECK(kernel.unused_backend == NattenBackend::kHopperFna);  // that of smaller windows
  for (const auto backend : {NattenBackend::kHopperFna, NattenBackend::kCutlassFna, NattenBackend::kBlackwellFna}) {
    question.setting.backend = to_string(backend);
    kernel = study::count(question, study::default_context()).kernel;
    CHECK(study::name_of(kernel.forward->attention) == std::string("hopper-fmha"));
    CHECK(kernel.unused_backend == backend);
  }
  question.window = {64, 63};
  question.setting.backend = "cutlass-fna";
  kernel = study::count(question, study::default_context()).kernel;
  CHECK(study::name_of(kernel.forward->attention) == std::string("cutlass-fna"));
  CHECK_FALSE(kernel.unused_backend);
}

// choose_fmha_backend: hopper-fmha has head dims 32, 64, 128 (and 256 forward) in 16-bit types, blackwell-fmha multiples of
// 8 up to 128; cutlass-fmha multiples of 8, fp32 too.
TEST_CASE("a named backend that lacks the head dim or the type is no error where the window covers the input") {
  struct Row {
    const char *device, *backend;
    std::int64_t head_dim;
    Dtype dtype;
    bool backward;
    const char* kernel;
  };
  const Row rows[] = {{"h100", "hopper-fna", 96, Dtype::kBf16, false, "cutlass-fmha"},
                      {"h100", "hopper-fna", 64, Dtype::kFp32, false, "cutlass-fmha"},
                      {"h100", "hopper-fna", 256, Dtype::kBf16, true, "cutlass-fmha"},
                      {"h100", "blackwell-fna", 32, Dtype::kFp32, false, "cutlass-fmha"},
                      {"a100", "hopper-fna", 80, Dtype::kFp16, true, "cutlass-fmha"},
                      {"b200", "hopper-fna", 80, Dtype::kFp16, false, "blackwell-fmha"},
                      {"b200", "hopper-fna", 160, Dtype::kFp16, false, "cutlass-fmha"},
                      {"h100", "flex-fna", 80, Dtype::kFp16, false, "cutlass-fmha"},
                      {nullptr, "hopper-fna", 96, Dtype::kBf16, false, "cutlass-fmha"}};
  for (const char* release : {"0.21.6", "0.21.7"}) {
    for (const Row& row : rows) {
      study::CountQuestion question = question_on("h100");
      question.window = {};
      question.backward = row.backward;
      question.setting.natten = release;
      question.setting.device = row.device == nullptr ? std::nullopt : std::optional<std::string>(row.device);
      question.setting.backend = row.backend;
      question.setting.head_dim = row.head_dim;
      question.setting.dtype = row.dtype;
      CAPTURE(release, row.backend, row.head_dim, to_string(row.dtype), row.backward);
      const study::KernelAnswer kernel = study::count(question, study::default_context()).kernel;
      REQUIRE(kernel.forward);
      CHECK_FALSE(kernel.refusal);
      CHECK(study::name_of(kernel.forward->attention) == std::string(row.kernel));
      CHECK(kernel.unused_backend == parse_name<NattenBackend>(row.backend));
      question.window = {64, 63};  // here the backend counts
      if (row.device != nullptr && std::string(row.backend) == "hopper-fna") CHECK(is_refused(question));
    }
  }
}

TEST_CASE("a dense kernel is chosen among dense kernels, with the reason of the one that was left out") {
  study::CountQuestion question = question_on("h100");
  question.window = question.setting.input;
  question.setting.head_dim = 80;
  const study::KernelAnswer kernel = study::count(question, study::default_context()).kernel;
  CHECK(study::name_of(kernel.forward->attention) == std::string("cutlass-fmha"));
  REQUIRE(kernel.passed_over.size() == 1);
  CHECK(kernel.passed_over[0].refusal.rule == "hopper-fmha runs some head dims only");
}

// 60 is no multiple of 8, and no power of two.
TEST_CASE("a head dim that no backend runs is refused in NATTEN's words") {
  for (const char* device : {"h100", "b200", "a100"}) {
    study::CountQuestion question = question_on(device);
    question.setting.head_dim = 60;
    std::string words;
    try {
      const study::KernelAnswer kernel = study::count(question, study::default_context()).kernel;
      REQUIRE(kernel.refusal);
      words = kernel.refusal->rule;
    } catch (const InvalidParameter& error) {
      words = error.what();
    }
    INFO(words);
    CHECK(words.find("no backend runs this head dim") != std::string::npos);
  }
}

TEST_CASE("a search on a device has the tiles of the backend that NATTEN chooses") {
  study::SearchQuestion question;
  question.setting = question_on("h100").setting;
  question.setting.head_dim = 80;
  question.window = {16, 16};
  question.top = 1;
  const study::SearchAnswer answer = study::search(question, study::default_context());
  REQUIRE(answer.candidates.size() >= 1);
  CHECK(answer.candidates.front().tiles.backend == "cutlass-fna");
}

}  // namespace dispatch_test
