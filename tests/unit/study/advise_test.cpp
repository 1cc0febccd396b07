// Advice is points of the front of time against context: held against every configuration, and asked again.
#include <algorithm>
#include <optional>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/natten_backend.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/study/advise.hpp>
#include <natten_sim/study/search.hpp>

#include "advice_questions.hpp"
#include "catch.hpp"

namespace advise_test {

using namespace natten_sim;
using study::AdviceChoice;
using study::AdviseQuestion;
using study::AdviseUse;
using test::asked;
using test::choices_of;
using test::mask_of;
using test::preset;
using test::shared_context;

double context_of(const AdviceChoice& choice) { return 1 - choice.count.forward.count.sparsity(); }

std::int64_t pairs_of(const NeighborhoodMask& mask) {
  std::int64_t pairs = 1;
  for (const AxisMask& axis : mask) pairs *= attended_pairs(axis);
  return pairs;
}

/// What one configuration takes, by the same question that `count` asks.
double ms_of(const study::Setting& setting, const NeighborhoodMask& mask, const TilePair& tiles) {
  study::CountQuestion question;
  question.setting = setting;
  question.window = window_of(mask);
  question.stride = stride_of(mask);
  question.q_tile = tiles.q_tile;
  question.kv_tile = tiles.kv_tile;
  return std::get<study::PassTime>(*study::count(question, shared_context()).time).total_ms;
}

struct Configuration {
  NeighborhoodMask mask;
  double ms = 0, imbalance = 1;
  std::int64_t pairs = 0;
};

/// Every window but the whole layout, every stride, and every tile pair of hopper-fna on two axes.
std::vector<Configuration> all_of(const AdviseQuestion& question) {
  study::Setting setting = question.setting;
  setting.device = "h200";
  const Extents& input = setting.input;
  std::vector<TilePair> pairs;
  for (const BackendTiles& entry : shared_context().catalog.backend("hopper-fna").forward) {
    const bool fits = entry.tiles.q_tile.rank() == 2 && (!entry.head_dim || *entry.head_dim == 128);
    if (fits) pairs.push_back(entry.tiles);
  }
  std::vector<Configuration> all;
  for (std::int64_t w0 = 2; w0 <= input[0]; ++w0) {
    for (std::int64_t w1 = 2; w1 <= input[1]; ++w1) {
      if (w0 == input[0] && w1 == input[1]) continue;
      const double first = static_cast<double>(input[0]) / static_cast<double>(w0);
      const double second = static_cast<double>(input[1]) / static_cast<double>(w1);
      const double imbalance = std::max(first, second) / std::min(first, second);
      for (std::int64_t s0 = 1; s0 <= w0; ++s0) {
        for (std::int64_t s1 = 1; s1 <= w1; ++s1) {
          const NeighborhoodMask mask = make_mask(input, {w0, w1}, {s0, s1});
          for (const TilePair& tiles : pairs)
            all.push_back({mask, ms_of(setting, mask, tiles), imbalance, pairs_of(mask)});
        }
      }
    }
  }
  return all;
}

TEST_CASE("no configuration attends to as much as a choice in less time, or to more in the same") {
  AdviseQuestion question = asked({7, 8}, 24);
  question.setting.batch = 64;
  const std::vector<Configuration> all = all_of(question);
  for (const double sparsity : {0.3, 0.6, 0.9}) {
    question.sparsity = SparsityRange{0, sparsity};
    const std::vector<AdviceChoice> choices = choices_of(question);
    REQUIRE_FALSE(choices.empty());
    CHECK(1 - context_of(choices[0]) <= sparsity);
    for (const AdviceChoice& choice : choices) {
      const std::int64_t pairs = pairs_of(mask_of(choice));
      for (const Configuration& each : all) {
        if (each.imbalance > question.max_imbalance) continue;
        const bool dominates = each.pairs >= pairs && each.ms <= choice.total_ms &&
                               (each.pairs > pairs || each.ms < choice.total_ms);
        if (!dominates) continue;
        CAPTURE(sparsity, window_of(each.mask), stride_of(each.mask), each.ms, choice.total_ms);
        FAIL("a choice is dominated");
      }
    }
  }
}

AdviseQuestion cyclic_columns() {
  AdviseQuestion question = asked({64, 128}, 8, "h100");
  question.setting.head_dim = 64;
  question.cyclic = {false, true};
  return question;
}

TEST_CASE("with a cyclic axis the choices are FlexAttention's, the first is what search finds, and NATTEN's are padded") {
  const AdviseQuestion question = cyclic_columns();
  const std::vector<AdviceChoice> choices = choices_of(question);
  REQUIRE(choices.size() == 3);
  for (const AdviceChoice& choice : choices) {
    CHECK(cyclic_of(mask_of(choice)) == PerAxis<bool>{false, true});
    CHECK(choice.count.question.kernel == "flexattention");
    REQUIRE(choice.count.padded);
    const AxisPadding padding = cycle_padding(mask_of(choice)[1]);
    CHECK(input_of(choice.count.padded->forward.problem.mask) == Extents{64, padding.before + 128 + padding.after});
  }
  study::SearchQuestion searched;
  searched.setting = question.setting;
  searched.setting.device = "h100";
  searched.cyclic = question.cyclic;
  searched.constraints.sparsity = SparsityRange{0, study::kUsualSparsity};
  searched.constraints.max_imbalance = question.max_imbalance;
  searched.top = 1;
  const study::SearchAnswer found = study::search(searched, shared_context());
  CHECK(choices[0].total_ms == Approx(found.candidates.at(0).total_ms()));
  CHECK(choices[0].total_ms == Approx(std::get<study::PassTime>(*choices[0].count.time).total_ms));
}

TEST_CASE("cyclic axes are advised on devices with times of FlexAttention, for training too") {
  AdviseQuestion question = cyclic_columns();
  question.devices = {};
  question.cyclic = {true};  // of all axes
  const study::AdviseAnswer answer = study::advise(question, shared_context());
  CHECK(answer.question.cyclic == PerAxis<bool>{true, true});
  REQUIRE(answer.devices.size() >= 2);  // measured on an H100 and an H200
  for (const study::DeviceAdvice& device : answer.devices) {
    CAPTURE(device.device, device.missing);
    CHECK_FALSE(device.choices.empty());
  }
  question.devices = {"h200"};
  question.use = AdviseUse::kTraining;
  for (const AdviceChoice& choice : choices_of(question)) {
    REQUIRE(choice.count.backward);
    CHECK(choice.count.backward->problem.tiles == choice.count.forward.problem.tiles);
  }
  question.cyclic = {true, false, true};
  CHECK_THROWS_AS(study::advise(question, shared_context()), InvalidParameter);
}

TEST_CASE("cyclic axes are advised where NATTEN would run cutlass-fna, whose KV tiles move") {
  AdviseQuestion question = cyclic_columns();
  question.devices = {"a100"};
  CHECK_FALSE(choices_of(question).empty());
  question.devices = {"h100"};
  question.setting.head_dim = 80;  // hopper-fna has none
  CHECK_FALSE(choices_of(question).empty());
}

TEST_CASE("each further choice attends to half as much again, and none but the first is slower than dense") {
  for (const double sparsity : {0.15, 0.3, 0.9, 0.98}) {
    AdviseQuestion question = asked({30, 48, 80}, 24);
    question.sparsity = SparsityRange{0, sparsity};
    const std::vector<AdviceChoice> choices = choices_of(question);
    CAPTURE(sparsity);
    REQUIRE_FALSE(choices.empty());
    CHECK(context_of(choices[0]) >= 1 - sparsity - 1e-12);
    for (std::size_t i = 1; i < choices.size(); ++i) {
      CHECK(context_of(choices[i]) >= study::kContextStep * context_of(choices[i - 1]) * (1 - 1e-12));
      CHECK(choices[i].total_ms >= choices[i - 1].total_ms);
      CHECK(*choices[i].speedup > 1);
    }
    if (sparsity > 0.5) CHECK(choices.size() == 3);
  }
}

TEST_CASE("of a window that is kept the choice is what search finds, in each phase, and a stride may be kept too") {
  for (const AdviseUse use : {AdviseUse::kInference, AdviseUse::kTraining}) {
    for (const Extents& stride : {Extents{}, Extents{16, 8, 8}}) {
      AdviseQuestion question = preset("hunyuan-video");
      question.use = use;
      question.window = {18, 24, 24};
      question.stride = stride;
      const std::vector<AdviceChoice> choices = choices_of(question);
      study::SearchQuestion searched;
      searched.setting.preset = "hunyuan-video";
      searched.setting.device = "h200";
      searched.window = question.window;
      searched.stride = stride;
      searched.phase = use == AdviseUse::kTraining ? SearchPhase::kBoth : SearchPhase::kForward;
      const study::SearchAnswer found = study::search(searched, shared_context());
      REQUIRE(choices.size() == 1);  // without causality all strides of a window attend to as much
      CHECK(window_of(mask_of(choices[0])) == question.window);
      if (!stride.empty()) CHECK(stride_of(mask_of(choices[0])) == stride);
      CHECK(choices[0].total_ms == found.candidates.at(0).total_ms());
    }
  }
  AdviseQuestion uneven = asked({64, 64}, 8);  // no imbalance leaves out a window that is kept
  uneven.window = {4, 60};
  CHECK(choices_of(uneven).size() == 1);
  uneven.speedup = 2;
  CHECK_THROWS_AS(study::advise(uneven, shared_context()), InvalidParameter);
  uneven.speedup.reset();
  uneven.sparsity = SparsityRange{0, 0.5};
  CHECK_THROWS_AS(study::advise(uneven, shared_context()), InvalidParameter);
  uneven.sparsity.reset();
  uneven.window = {64, 64};
  CHECK(study::advise(uneven, shared_context()).devices.at(0).missing == "that window is dense attention");
}

TEST_CASE("a wished speedup is had by the choice with most context, which has as much as is known to have it") {
  AdviseQuestion question = preset("hunyuan-video");
  question.speedup = 4;
  const std::vector<AdviceChoice> choices = choices_of(question);
  REQUIRE(choices.size() == 3);
  for (const AdviceChoice& choice : choices) CHECK(*choice.speedup >= 4);
  // Asked again: with one per cent more context the fastest has less.
  AdviseQuestion denser = preset("hunyuan-video");
  denser.sparsity = SparsityRange{0, 1 - 1.01 * context_of(choices.back())};
  CHECK(*choices_of(denser).at(0).speedup < 4);
  CHECK(choices.back().role == study::AdviceRole::kMostContext);
  question.speedup = 500;
  const study::DeviceAdvice none = study::advise(question, shared_context()).devices.at(0);
  CHECK(none.choices.empty());
  CHECK(none.missing.find("times as fast as dense") != std::string::npos);
}

TEST_CASE("with a wished speedup too each choice attends to half as much again as the faster one before it") {
  for (const char* name : {"hunyuan-video", "cosmos-predict1-7b", "flux1-dev-4k"}) {
    for (const double speedup : {1.5, 4.0}) {
      AdviseQuestion question = preset(name);
      question.speedup = speedup;
      const std::vector<AdviceChoice> choices = choices_of(question);
      CAPTURE(name, speedup);
      REQUIRE(choices.size() == 3);
      for (std::size_t i = 1; i < choices.size(); ++i) {
        CHECK(context_of(choices[i]) >= study::kContextStep * context_of(choices[i - 1]) * (1 - 1e-12));
        CHECK(choices[i].total_ms > choices[i - 1].total_ms);
      }
    }
  }
}

TEST_CASE("an axis of one token is refused with the layout without it, and shorter windows than the axes are given") {
  for (const Extents& input : {Extents{1, 64, 64}, Extents{64, 1, 64}}) {
    try {
      (void)study::advise(asked(input, 8), shared_context());
      FAIL("an axis of one token has advice");
    } catch (const InvalidParameter& error) {
      CHECK(error.parameter() == "input");
      CHECK(error.hint() == "64x64");
    }
  }
  for (const AdviceChoice& choice : choices_of(asked({2, 64, 64}, 8))) CHECK(window_of(mask_of(choice))[0] == 2);
}

TEST_CASE("for training both passes have the tiles of the fastest pair, and the call has them") {
  AdviseQuestion question = preset("hunyuan-video");
  question.use = AdviseUse::kTraining;
  const std::vector<AdviceChoice> choices = choices_of(question);
  REQUIRE(choices.size() == 3);
  for (const AdviceChoice& choice : choices) {
    // Asked again: no other backward tiles take less with this window.
    study::SearchQuestion again;
    again.setting.preset = "hunyuan-video";
    again.setting.device = "h200";
    again.window = window_of(mask_of(choice));
    again.stride = stride_of(mask_of(choice));
    again.phase = SearchPhase::kBoth;
    const study::SearchAnswer found = study::search(again, shared_context());
    CHECK(choice.total_ms == found.candidates.at(0).total_ms());
    REQUIRE(choice.count.backward);
    CHECK(choice.count.backward->problem.tiles == found.candidates[0].tiles.backward_tiles);
    const double forward = std::get<study::PassTime>(*choice.count.time).total_ms;
    CHECK(std::get<study::PassTime>(*choice.count.backward->time).total_ms + forward == Approx(choice.total_ms));
  }
}

TEST_CASE("long axes get windows without padding") {
  for (const AdviceChoice& choice : choices_of(asked({131072}, 32)))
    CHECK(choice.count.forward.count.wasted_share() < 0.001);
  for (const AdviceChoice& choice : choices_of(asked({512, 640}, 8)))
    CHECK(choice.count.forward.count.wasted_share() < 0.001);
}

TEST_CASE("of measured times alone, what nobody has timed is said, with and without a wish") {
  study::Context measured = shared_context();
  measured.catalog.physics = {};
  for (const bool wished : {false, true}) {
    AdviseQuestion question = asked(wished ? Extents{1 << 20} : Extents{64, 64}, 8, "a100");  // nothing is searched
    if (wished) question.speedup = 2;
    const study::DeviceAdvice advice = study::advise(question, measured).devices.at(0);
    CHECK(advice.untimed);
    CHECK(advice.missing.find("a100") != std::string::npos);
    CHECK(advice.choices.empty());
  }
}

TEST_CASE("advice of cutlass-fna has no tiles that the release does not run on the device") {
  for (const char* device : {"gb10", "rtx5090", "rtx4090", "a100"}) {
    for (const std::int64_t head_dim : {32, 64, 128}) {
      AdviseQuestion question = asked({64, 64}, 8, device);
      question.setting.head_dim = head_dim;
      INFO(device << " " << head_dim);
      const study::DeviceAdvice advice = study::advise(question, shared_context()).devices.front();
      CHECK(advice.missing.empty());
      REQUIRE_FALSE(advice.choices.empty());
      for (const AdviceChoice& choice : advice.choices) {
        const TilePair& tiles = choice.count.forward.problem.tiles;
        // NATTEN 0.21.7 has these on compute capability 8.0, 9.0, 10.0 and 10.3 alone.
        const bool wide = product(tiles.q_tile, "q_tile") == 64 && product(tiles.kv_tile, "kv_tile") == 128;
        CHECK((!wide || std::string(device) == "a100"));
      }
    }
  }
}

}  // namespace advise_test
