#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <natten_sim/study/many_times.hpp>
#include <natten_sim/study/time.hpp>

#include "../../random.hpp"
#include "catch.hpp"

namespace many_times_test {

using namespace natten_sim;
using study::ManyTimes;
using study::PassTime;
using study::TimeNumbers;
using study::TimeQuestion;
using study::WaveCount;

/// A kernel on a device with tiles that it has.
struct Launched {
  const char* kernel;
  const char* device;
  std::vector<TilePair> tiles;  ///< of 3 axes
  Walk pass = Walk::kForward;
  KernelSchedule schedule = KernelSchedule::kCooperative;
};

std::vector<Launched> launches() {
  const std::vector<TilePair> hopper = {{{2, 8, 8}, {2, 8, 8}}, {{4, 4, 8}, {2, 8, 8}}};
  const std::vector<TilePair> flex = {{{2, 8, 8}, {2, 8, 8}}, {{4, 4, 8}, {4, 4, 8}}};
  return {{"hopper-fna", "h200", hopper},
          {"hopper-fna", "h200", hopper, Walk::kForward, KernelSchedule::kPingpong},
          {"hopper-fna", "h100", {{{2, 8, 8}, {2, 8, 8}}}, Walk::kBackward},
          {"flexattention", "h200", flex},
          {"flexattention", "h200", flex, Walk::kBackward},
          {"cutlass-fna", "h200", {{{4, 4, 4}, {4, 4, 8}}}},
          {"blackwell-fna", "b200", {{{8, 4, 8}, {4, 4, 8}}}},
          {"gna", "h100", {{{2, 8, 8}, {2, 8, 8}}}},
          {"cudnn", "h200", {{{2, 8, 8}, {2, 8, 8}}}}};
}

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  std::int64_t upto(std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(1, most)(random_); }

  /// Layouts of which some repeat, so that what was remembered is used again.
  void mask_of(TimeQuestion& question) {
    question.mask = {};
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t dilation = upto(6) == 1 ? 2 : 1;
      AxisMask mask{.length = 8 * upto(4) + 2, .window = 1, .stride = 1, .dilation = dilation};
      mask.window = upto(3) == 1 ? mask.length / dilation : upto(mask.length / dilation);
      mask.stride = upto(2) == 1 ? 1 : upto(mask.window);
      mask.causal = upto(6) == 1;
      question.mask.push_back(mask);
    }
  }

 private:
  std::mt19937_64 random_;
};

TimeQuestion question_of(const Launched& launched) {
  TimeQuestion question{.kernel = launched.kernel, .device = launched.device, .schedule = launched.schedule};
  question.tiles = launched.tiles.front();
  question.pass = launched.pass;
  question.sizes = {.heads = 3, .heads_kv = 3, .head_dim = 128, .head_dim_value = 128};
  return question;
}

void require_same(const TimeNumbers& many, const PassTime& one) {
  CHECK(many.kernel_ms == one.kernel_ms);
  CHECK(many.total_ms == one.total_ms);
  CHECK(many.low_ms == one.low_ms);
  CHECK(many.high_ms == one.high_ms);
  CHECK(many.kernel_low_ms == one.kernel_low_ms);
  CHECK(many.kernel_high_ms == one.kernel_high_ms);
  CHECK(many.dense_ms == one.dense_ms);
  CHECK(many.waves == one.waves);
  CHECK(many.ctas == one.ctas);
  CHECK(many.limited_by == one.limited_by);
  CHECK(many.back_to_back_ms == one.back_to_back_ms);
  CHECK(std::isnan(many.permutation_ms) == !one.permutation_ms.has_value());
  if (one.permutation_ms) CHECK(many.permutation_ms == *one.permutation_ms);
  CHECK(std::isnan(many.repetition_ms) == !one.repetition_ms.has_value());
}

/// Calls judge(numbers, PassTime) for random masks of each launch.
template <typename Judge>
int compare(WaveCount waves, const Judge& judge) {
  const study::Context context = study::default_context();
  const auto seed = test::stored_seed();
  Draw draw(seed);
  int timed = 0;
  for (const Launched& launched : launches()) {
    TimeQuestion question = question_of(launched);
    ManyTimes many(context, waves);
    for (int i = 0; i < test::cases(25); ++i) {
      draw.mask_of(question);
      if (launched.kernel == std::string("cudnn")) question.mask = make_mask(input_of(question.mask), input_of(question.mask), {});
      question.tiles = launched.tiles[static_cast<std::size_t>(draw.upto(static_cast<std::int64_t>(launched.tiles.size()))) - 1];
      INFO("NATTEN_SIM_SEED=" << seed << " " << launched.kernel << " " << to_string(input_of(question.mask)) << " window "
                              << to_string(window_of(question.mask)) << " stride " << to_string(stride_of(question.mask)));
      const study::TimeAnswer one = study::time(question, context);
      for (int again = 0; again < 2; ++again) {
        const std::optional<TimeNumbers> found = many.of(question);
        REQUIRE(found.has_value() == std::holds_alternative<PassTime>(one));
        if (found) judge(*found, std::get<PassTime>(one));
      }
      timed += std::holds_alternative<PassTime>(one) ? 1 : 0;
    }
  }
  return timed;
}

TEST_CASE("many times are those of one question at a time, to the last bit") {
  CHECK(compare(WaveCount::kSimulated, require_same) > test::cases(25) * 6);
}

TEST_CASE("bounds of many times enclose what is simulated") {
  int apart = 0;
  const auto judge = [&](const TimeNumbers& many, const PassTime& one) {
    constexpr double kRounding = 1e-9;
    CHECK(many.low_ms <= one.low_ms * (1 + kRounding));
    CHECK(many.high_ms >= one.high_ms * (1 - kRounding));
    CHECK(many.low_ms <= many.total_ms);
    CHECK(many.total_ms <= many.high_ms);
    CHECK(many.dense_ms == one.dense_ms);
    CHECK(many.waves == one.waves);
    if (std::abs(many.total_ms / one.total_ms - 1) > kRounding) ++apart;
  };
  CHECK(compare(WaveCount::kBounded, judge) > test::cases(25) * 6);
  CHECK(apart > 0);  // else nothing was bounded
}

TEST_CASE("CTAs that are alike, and those that all run at once, have the simulation's waves without one") {
  const study::Context context = study::default_context();
  TimeQuestion question{.kernel = "hopper-fna", .device = "h200"};
  question.tiles = {{16, 8}, {16, 8}};
  question.sizes = {.heads = 24, .heads_kv = 24, .head_dim = 128, .head_dim_value = 128};
  // Windows and strides of whole tiles: every Q tile visits 5 x 10 KV tiles.
  question.mask = make_mask({256, 256}, {80, 80}, {16, 16});
  const auto equal = [&] {
    const auto one = std::get<PassTime>(study::time(question, context));
    const auto many = ManyTimes(context, WaveCount::kBounded).of(question);
    REQUIRE(many);
    CHECK(std::abs(many->total_ms / one.total_ms - 1) < 1e-9);
    CHECK(std::abs(many->high_ms / one.high_ms - 1) < 1e-9);
  };
  equal();
  question.mask = make_mask({64, 64}, {21, 13}, {1, 1});  // 4 x 8 Q tiles of unequal work
  question.sizes.heads = question.sizes.heads_kv = 4;
  equal();
}

TEST_CASE("of questions without times many times say none") {
  const study::Context context = study::default_context();
  TimeQuestion question{.kernel = "hopper-fna", .device = "a100"};
  question.mask = make_mask({64, 64}, {16, 16}, {1, 1});
  question.tiles = {{16, 8}, {16, 8}};
  question.sizes = {.heads = 1, .heads_kv = 1, .head_dim = 128, .head_dim_value = 128};
  CHECK_FALSE(ManyTimes(context).of(question));
}

}  // namespace many_times_test
