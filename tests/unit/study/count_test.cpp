// study::count and study::search: what a question that says little is taken to mean.
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/study/count.hpp>
#include <natten_sim/study/search.hpp>

#include "catch.hpp"
#include "shared_context.hpp"

namespace count_test {

using namespace natten_sim;
using study::CountAnswer;
using study::CountQuestion;
using study::SearchAnswer;
using study::SearchQuestion;
using study::Setting;
using natten_sim::test::shared_context;

TEST_CASE("a layout alone means dense attention, one head, and the default backend's first tiles") {
  CountQuestion question;
  question.setting.input = {30, 48, 80};
  const CountAnswer answer = study::count(question, shared_context());
  CHECK(answer.window_defaulted);
  CHECK(answer.tiles_defaulted);
  CHECK(answer.question.window == Extents{30, 48, 80});
  CHECK(answer.question.stride == Extents{1, 1, 1});
  CHECK(answer.question.setting.heads == 1);
  CHECK(answer.question.setting.head_dim == 64);
  CHECK(answer.question.setting.dtype == Dtype::kFp16);
  CHECK(answer.implemented_by == "blackwell-fna");
  CHECK_FALSE(answer.chosen_backend.has_value());
  CHECK_FALSE(answer.question.setting.backend);  // of which asked again would be a choice
  CHECK(answer.forward.count.visited_tiles == answer.forward.count.dense_tiles);
  CHECK_FALSE(answer.backward.has_value());
  CHECK_FALSE(answer.forward.extra_kv.has_value());
  CHECK_FALSE(answer.forward.end_to_end.has_value());
}

TEST_CASE("cyclic axes are FlexAttention's, with what NATTEN runs on a padded layout next to them") {
  CountQuestion question;
  question.setting.input = {64, 128};
  question.setting.device = "h100";
  question.window = {16, 32};
  question.cyclic = {false, true};
  const CountAnswer answer = study::count(question, shared_context());
  CHECK(answer.question.kernel == "flexattention");
  CHECK(answer.question.cyclic == PerAxis<bool>{false, true});
  CHECK(answer.forward.problem.kv_tiling == KvTiling::kStatic);
  CHECK_FALSE(answer.kernel.call);
  REQUIRE(answer.padded);
  CHECK(input_of(answer.padded->forward.problem.mask) == Extents{64, 128 + 16 + 15});
  CHECK_FALSE(has_cycle(answer.padded->forward.problem.mask));
  CHECK(answer.padded->kernel.call->backend == NattenBackend::kHopperFna);
  CHECK(answer.padded->forward.count.attended_pairs == std::int64_t{64 * 16} * (159 * 32));
  const CountAnswer again = study::count(answer.question, shared_context());
  CHECK(again.forward.count == answer.forward.count);
  CHECK(again.padded->forward.count == answer.padded->forward.count);
}

TEST_CASE("kernels whose windows end at borders are refused for cyclic axes") {
  CountQuestion question;
  question.setting.input = {64};
  question.window = {16};
  question.cyclic = {true};
  question.kernel = "hopper-fna";
  CHECK_THROWS_AS(study::count(question, shared_context()), InvalidParameter);
  question.kernel = {};
  question.setting.backend = "hopper-fna";  // tile shapes alone
  const CountAnswer answer = study::count(question, shared_context());
  CHECK(answer.forward.problem.tiles.q_tile.rank() == 1);
  CHECK_FALSE(answer.kernel.call);
}

TEST_CASE("a search with cyclic axes counts them, by FlexAttention on a device") {
  SearchQuestion question;
  question.setting.input = {64, 128};
  question.setting.device = "h100";
  question.window = {16, 32};
  question.stride = {16, 16};
  question.cyclic = {false, true};
  const SearchAnswer answer = study::search(question, shared_context());
  REQUIRE_FALSE(answer.candidates.empty());
  for (const auto& candidate : answer.candidates) {
    CHECK(candidate.tiles.kernel == "flexattention");
    CHECK(candidate.counted.problem.mask[1].cyclic);
    CHECK(candidate.counted.count == count_tiles(candidate.counted.problem));
  }
  question.kernels = {"hopper-fna"};
  CHECK_THROWS_AS(study::search(question, shared_context()), InvalidParameter);
}

TEST_CASE("the question that an answer echoes has the same answer") {
  CountQuestion question;
  question.setting.preset = "hunyuan-video";
  question.setting.device = "h100";
  question.setting.add_kv = 256;
  question.window = {18, 24, 24};
  question.backward = true;
  const CountAnswer first = study::count(question, shared_context());
  const CountAnswer again = study::count(first.question, shared_context());
  CHECK(again.forward.count == first.forward.count);
  CHECK(again.forward.problem.tiles == first.forward.problem.tiles);
  CHECK(again.backward->count == first.backward->count);
  CHECK(again.forward.end_to_end->worst == first.forward.end_to_end->worst);
  CHECK(again.question.setting.backend == first.question.setting.backend);
}

TEST_CASE("a device chooses the backend, and a backend wins over the device") {
  Setting setting{.device = "a100", .input = {64}};
  CHECK(study::resolved(setting, shared_context().catalog).backend == "cutlass-fna");
  CHECK(study::effective_kv_tiling({}, study::resolved(setting, shared_context().catalog), shared_context().catalog) ==
        KvTiling::kDynamic);
  setting.backend = "hopper-fna";
  CHECK(study::resolved(setting, shared_context().catalog).backend == "hopper-fna");
}

TEST_CASE("contradictions name the parameter at fault") {
  CountQuestion question;
  CHECK_THROWS_AS(study::count(question, shared_context()), InvalidParameter);  // no layout
  question.setting.input = {64};
  question.setting.heads = 6;
  question.setting.heads_kv = 4;
  CHECK_THROWS_AS(study::count(question, shared_context()), InvalidParameter);
  question.setting.heads_kv = 3;
  question.setting.dense_steps = study::StepRatio{1, 2};
  CHECK_THROWS_AS(study::count(question, shared_context()), InvalidParameter);  // without a share
  question.setting.attention_share = 0.5;
  // Amdahl: half of the time is attention, of which half of the steps stay dense; dense attention gains 1x.
  CHECK(study::count(question, shared_context()).forward.end_to_end->mean == 1.0);
}

TEST_CASE("a search echoes the space that it searched, and finds the same there") {
  SearchQuestion question;
  question.setting.input = {24, 24};
  question.q_tile = {4, 4};
  question.kv_tile = {2, 4};
  question.any = true;  // no backend has these tiles
  question.constraints.sparsity = SparsityRange{0.5, 0.8};
  const SearchAnswer first = study::search(question, shared_context());
  REQUIRE(first.candidates.size() == 10);
  CHECK(first.question.top == 10);
  CHECK(first.question.objective == Objective::kWorst);  // one tile pair
  CHECK(first.question.window_range == PerAxis<IntRange>{{1, 24}, {1, 24}});
  CHECK(first.question.tiles.size() == 1);
  const SearchAnswer again = study::search(first.question, shared_context());
  REQUIRE(again.candidates.size() == 10);
  for (std::size_t i = 0; i < 10; ++i)
    CHECK(again.candidates[i].counted.count == first.candidates[i].counted.count);
}

TEST_CASE("a ladder wants one window, and axes that are dense exist") {
  SearchQuestion question;
  question.setting.input = {24, 24};
  question.kind = study::SearchKind::kLadder;
  CHECK_THROWS_AS(study::search(question, shared_context()), InvalidParameter);
  question.kind = study::SearchKind::kBest;
  for (const std::int64_t axis : {-1, 2}) {
    question.dense_axes = {axis};
    CHECK_THROWS_AS(study::search(question, shared_context()), InvalidParameter);
  }
  question.dense_axes = {1};
  question.top = 1;
  CHECK(window_of(study::search(question, shared_context()).candidates.at(0).counted.problem.mask)[1] == 24);
}

}  // namespace count_test
