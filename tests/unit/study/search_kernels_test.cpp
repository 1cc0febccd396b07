#include <natten_sim/core/error.hpp>
#include <natten_sim/study/search.hpp>

#include "catch.hpp"

namespace search_kernels_test {

using namespace natten_sim;
using study::SearchAnswer;
using study::SearchQuestion;

SearchAnswer searched(const SearchQuestion& question) {
  return study::search(question, study::default_context());
}

TEST_CASE("a kernel that the device or the head dim lacks is left out, and the others ranked by time") {
  SearchQuestion question;
  question.setting.input = {64, 64};
  question.setting.device = "a100";
  question.setting.heads = 8;
  question.window = {16, 16};
  question.kernels = {"gna", "flexattention"};
  const SearchAnswer answer = searched(question);
  REQUIRE(answer.left_out.size() == 1);
  CHECK(answer.left_out[0].kernel == "gna");
  CHECK(answer.left_out[0].reason.find("gna runs on sm90 alone") != std::string::npos);
  CHECK(answer.question.objective == Objective::kTime);
  for (const study::SearchCandidate& each : answer.candidates) CHECK(each.tiles.kernel == "flexattention");

  question.setting.device = "h100";
  question.setting.head_dim = 160;
  question.kernels = {"hopper-fna", "cutlass-fna"};
  const SearchAnswer wide = searched(question);
  REQUIRE(wide.left_out.size() == 1);
  CHECK(wide.left_out[0].reason.find("head dim 160") != std::string::npos);
  CHECK(wide.question.objective == Objective::kTime);

  question.kernels = {"hopper-fna"};  // none is left: said as before
  CHECK_THROWS_AS(searched(question), InvalidParameter);
}

TEST_CASE("tile pairs without times are left out and named, and the others ranked by time, asked for or not") {
  for (const std::int64_t head_dim : {32, 64}) {
    for (const auto& objective : {std::optional<Objective>{}, std::optional(Objective::kTime)}) {
      SearchQuestion question;
      question.setting.input = {64, 64};
      question.setting.device = "h100";
      question.setting.heads = 8;
      question.setting.head_dim = head_dim;
      question.phase = SearchPhase::kBoth;
      question.objective = objective;
      question.constraints.sparsity = SparsityRange{0, 0.9};
      const SearchAnswer answer = searched(question);
      CHECK(answer.question.objective == Objective::kTime);
      REQUIRE(answer.left_out.size() == 1);
      CHECK(answer.left_out[0].reason.find("not 128 x 128") != std::string::npos);
      REQUIRE_FALSE(answer.candidates.empty());
      for (const study::SearchCandidate& each : answer.candidates)
        CHECK(product(each.tiles.backward_tiles.q_tile, "q_tile") == 64);
      // Tiles that are asked for are not left out.
      question.backward_q_tile = {16, 8};
      question.backward_kv_tile = {16, 8};
      question.objective = Objective::kTime;
      CHECK_THROWS_AS(searched(question), InvalidParameter);
    }
  }
}

TEST_CASE("the order in which kernels are named changes no candidate") {
  SearchQuestion question;
  question.setting.input = {64, 64};
  question.setting.device = "h100";
  question.setting.heads = 8;
  question.setting.head_dim = 128;
  question.window = {16, 16};
  question.objective = Objective::kMean;  // boxes of two kernels tie
  question.kernels = {"gna", "flexattention"};
  const SearchAnswer one = searched(question);
  question.kernels = {"flexattention", "gna"};
  const SearchAnswer other = searched(question);
  REQUIRE(one.candidates.size() == other.candidates.size());
  for (std::size_t i = 0; i < one.candidates.size(); ++i)
    CHECK(one.candidates[i].tiles.kernel == other.candidates[i].tiles.kernel);
}

TEST_CASE("FlexAttention is searched with every box of its blocks' tokens, whatever other kernels have") {
  SearchQuestion question;
  question.setting.input = {30, 48, 80};
  question.setting.device = "h200";
  question.setting.heads = 24;
  question.setting.head_dim = 128;
  question.window = {18, 24, 24};
  question.kernels = {"flexattention"};
  question.q_tile = {4, 8, 4};  // of no NATTEN kernel
  question.kv_tile = {4, 8, 4};
  const SearchAnswer answer = searched(question);
  REQUIRE_FALSE(answer.candidates.empty());
  CHECK(answer.candidates[0].tiles.tiles == TilePair{{4, 8, 4}, {4, 8, 4}});
  question.q_tile = question.kv_tile = {4, 4, 4};
  try {
    (void)searched(question);
    FAIL("64 tokens are taken for 128");
  } catch (const InvalidParameter& error) {
    CHECK(std::string(error.what()).find("4x4x4; its tiles hold 128 and 128 tokens") != std::string::npos);
  }
}

}  // namespace search_kernels_test
