// What `search` makes of a question: which tiles, what is left out and why, what is a row.
#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>

#include <natten_sim/core/error.hpp>
#include <natten_sim/study/search.hpp>

#include "catch.hpp"
#include "random.hpp"
#include "shared_context.hpp"

namespace search_test {

using namespace natten_sim;
using study::SearchAnswer;
using study::SearchQuestion;
using natten_sim::test::shared_context;

SearchAnswer search_of(const SearchQuestion& question) { return study::search(question, shared_context()); }

SearchQuestion layout(const Extents& input) {
  SearchQuestion question;
  question.setting.input = input;
  return question;
}

TEST_CASE("kernel sizes of 1, which NATTEN refuses, are left out and counted") {
  SearchQuestion question = layout({16, 16});
  const SearchAnswer answer = search_of(question);
  // Pairs of window and stride on an axis of 16: 16 * 17 / 2 = 136, one of them with a window of 1.
  const std::int64_t tile_pairs = 4;  // of blackwell-fna in 2-D
  CHECK(answer.space_size == 136 * 136 * tile_pairs);
  REQUIRE(answer.excluded.size() == 1);
  CHECK(answer.excluded[0].combinations == (136 * 136 - 135 * 135) * tile_pairs);
  CHECK(answer.excluded[0].refusal.parameter == "kernel_size");
  for (const study::SearchCandidate& candidate : answer.candidates) {
    for (const AxisMask& axis : candidate.counted.problem.mask) CHECK(axis.window >= 2);
    CHECK_FALSE(candidate.kernel.refusal.has_value());
  }
  question.window = {1, 8};
  CHECK_THROWS_AS(search_of(question), InvalidParameter);
  question.any = true;
  const SearchAnswer any = search_of(question);
  CHECK(any.excluded.empty());
  CHECK(any.candidates.at(0).kernel.refusal->parameter == "kernel_size");
}

TEST_CASE("tile pairs, head dims and element types that the backend lacks are refused with NATTEN's rule") {
  SearchQuestion question = layout({64, 64});
  question.q_tile = {8, 8};
  question.kv_tile = {4, 4};
  CHECK_THROWS_AS(search_of(question), InvalidParameter);
  question.any = true;
  CHECK(search_of(question).tile_sizes.size() == 1);

  SearchQuestion hopper = layout({64, 64});
  hopper.setting.device = "h100";
  hopper.setting.head_dim = 256;  // hopper-fna has no backward pass for it, and wants one in inference too
  try {
    (void)search_of(hopper);
    FAIL("not refused");
  } catch (const InvalidParameter& error) {
    CHECK(std::string(error.what()).find("backward configuration") != std::string::npos);
  }

  SearchQuestion cutlass = layout({64, 64});
  cutlass.setting.backend = "cutlass-fna";
  cutlass.setting.head_dim = 12;  // multiples of 8
  CHECK_THROWS_AS(search_of(cutlass), InvalidParameter);
}

TEST_CASE("tiles that another backend has choose it when none is named") {
  SearchQuestion question = layout({64, 64});
  question.setting.head_dim = 128;
  question.q_tile = {16, 8};
  question.kv_tile = {16, 8};  // of hopper-fna at head dim 128, not of blackwell-fna
  CHECK(search_of(question).candidates.at(0).tiles.backend == "hopper-fna");
}

TEST_CASE("every candidate differs in its window, unless the window is fixed") {
  SearchQuestion question = layout({64, 64});
  question.constraints.sparsity = SparsityRange{0.7, 0.9};
  const SearchAnswer free = search_of(question);
  CHECK(free.question.distinct == Distinct::kWindow);
  std::set<std::pair<std::int64_t, std::int64_t>> windows;
  for (const study::SearchCandidate& candidate : free.candidates) {
    const NeighborhoodMask& mask = candidate.counted.problem.mask;
    CHECK(windows.emplace(mask[0].window, mask[1].window).second);
  }
  CHECK(free.candidates.size() == 10);

  question.window = {64, 32};  // covers axis 0: strides there change nothing
  question.constraints.sparsity.reset();
  question.top = 100'000;
  const SearchAnswer fixed = search_of(question);
  CHECK(fixed.question.distinct == Distinct::kTiles);
  for (const study::SearchCandidate& candidate : fixed.candidates)
    CHECK(candidate.counted.problem.mask[0].stride == 1);
}

TEST_CASE("tiles that hold a different number of tokens are not ranked against each other") {
  SearchQuestion question = layout({64, 64});
  question.setting.backend = "cutlass-fna";  // Q tiles of 32 and 64 tokens
  question.constraints.sparsity = SparsityRange{0.7, 0.9};
  question.top = 4;
  const SearchAnswer answer = search_of(question);
  REQUIRE(answer.tile_sizes.size() == 2);
  CHECK(answer.tile_sizes[0] == study::HeldTiles{64, std::nullopt});
  CHECK(answer.tile_sizes[1] == study::HeldTiles{32, std::nullopt});
  REQUIRE(answer.candidates.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) {
    const study::SearchCandidate& candidate = answer.candidates[i];
    CHECK(candidate.tile_size == i / 4);
    CHECK(product(candidate.tiles.tiles.q_tile, "q_tile") == (i < 4 ? 64 : 32));
  }
}

TEST_CASE("a preset with free windows bounds how uneven they are, and says so") {
  SearchQuestion question;
  question.setting.preset = "hunyuan-video";
  question.constraints.sparsity = SparsityRange{0.9, 0.92};
  const SearchAnswer answer = search_of(question);
  CHECK(answer.imbalance_defaulted);
  CHECK(answer.question.constraints.max_imbalance == study::kPresetMaxImbalance);
  question.constraints.max_imbalance = 4;
  CHECK(search_of(question).question.constraints.max_imbalance == 4);
  question.constraints.max_imbalance.reset();
  question.window = {18, 24, 24};
  CHECK_FALSE(search_of(question).question.constraints.max_imbalance.has_value());
}

TEST_CASE("both passes: the speedup is the mean of the two, weighted by their FLOPs") {
  SearchQuestion question;
  question.setting.preset = "flux1-dev-4k";
  question.constraints.sparsity = SparsityRange{0.5, 0.6};
  question.phase = SearchPhase::kBoth;
  question.top = 3;
  for (const std::int64_t value_dim : {128, 64}) {
    question.any = value_dim != 128;  // blackwell-fna wants equal head dims
    question.setting.head_dim_value = value_dim;
    const SearchAnswer answer = search_of(question);
    REQUIRE(answer.candidates.size() == 3);
    for (const study::SearchCandidate& candidate : answer.candidates) {
      const TilingProblem& forward = candidate.counted.problem;
      const TilingProblem& backward = candidate.backward->problem;
      CHECK(forward.mask == backward.mask);
      CHECK(backward.walk == Walk::kBackward);
      // Matrix products with d = 128 columns and with dv: forward one of each, backward three and two.
      const double d = 128, dv = static_cast<double>(value_dim);
      const double dense = static_cast<double>(candidate.counted.count.dense_pairs);
      const double work = (d + dv) * static_cast<double>(candidate.counted.count.mma_pairs) +
                          (3 * d + 2 * dv) * static_cast<double>(candidate.backward->count.mma_pairs);
      CHECK(std::abs(candidate.speedup - (4 * d + 3 * dv) * dense / work) < 1e-9 * candidate.speedup);
    }
  }
}

TEST_CASE("cutlass-fna streams KV tiles from the window's start forward, and Q tiles on a grid backward") {
  SearchQuestion question = layout({32, 32});
  question.setting.backend = "cutlass-fna";
  question.phase = SearchPhase::kBoth;
  question.window_range = {{8, 9}};
  question.top = 1;
  const SearchAnswer answer = search_of(question);
  REQUIRE_FALSE(answer.candidates.empty());
  for (const study::SearchCandidate& candidate : answer.candidates) {
    CHECK(candidate.counted.problem.kv_tiling == KvTiling::kDynamic);
    CHECK(candidate.backward->problem.kv_tiling == KvTiling::kStatic);
    CHECK(candidate.kernel.call->requires_grad);
    CHECK(candidate.kernel.call->backward_tiles == candidate.tiles.backward_tiles);
  }
}

TEST_CASE("FlexAttention runs both passes with the same blocks") {
  SearchQuestion question = layout({32, 32});
  question.setting.backend = "flex-fna";
  question.phase = SearchPhase::kBoth;
  question.window_range = {{8, 9}};
  for (const study::SearchCandidate& candidate : search_of(question).candidates)
    CHECK(candidate.tiles.tiles == candidate.tiles.backward_tiles);
}

TEST_CASE("a smallest speedup holds for the speedup that the objective names") {
  SearchQuestion question;
  question.setting.preset = "flux1-dev-4k";
  question.constraints.sparsity = SparsityRange{0.8, 0.9};
  question.constraints.min_speedup = 1.7;
  question.setting.dense_steps = study::StepRatio{0, 28};
  question.objective = Objective::kEndToEnd;
  question.top = 1000;
  const SearchAnswer fast = search_of(question);
  REQUIRE_FALSE(fast.candidates.empty());
  for (const study::SearchCandidate& candidate : fast.candidates) CHECK(candidate.speedup >= 1.7 - 1e-12);
  // Attention takes .518 of the time: without it the model would be 1 / (1 - .518) = 2.07 times as fast.
  question.constraints.min_speedup = 2.1;
  CHECK_THROWS_AS(search_of(question), InvalidParameter);
}

/// Masks of the candidates, and the speedups of all their passes.
std::vector<std::pair<NeighborhoodMask, double>> timed_speedups(const SearchQuestion& question) {
  std::vector<std::pair<NeighborhoodMask, double>> found;
  for (const study::SearchCandidate& each : search_of(question).candidates)
    found.emplace_back(each.counted.problem.mask, each.speedup);
  return found;
}

TEST_CASE("by time a smallest speedup leaves what has it over all passes, whatever the order of the kernels") {
  SearchQuestion question = layout({16, 16, 16});
  question.setting.device = "h200";
  question.setting.heads = 24;
  question.setting.head_dim = 128;
  question.setting.dtype = Dtype::kBf16;
  question.window = {6, 8, 8};
  question.stride_max = {4, 2, 2};
  question.objective = Objective::kTime;
  question.distinct = Distinct::kNone;  // two kernels with the same tiles are two answers
  question.top = 5000;
  for (const SearchPhase phase : {SearchPhase::kForward, SearchPhase::kBackward, SearchPhase::kBoth}) {
    question.phase = phase;
    for (const std::vector<KernelChoice>& kernels :
         {std::vector<KernelChoice>{"hopper-fna", "flexattention"}, {"flexattention", "hopper-fna"}}) {
      question.kernels = kernels;
      question.constraints.min_speedup.reset();
      auto wanted = timed_speedups(question);
      REQUIRE(wanted.size() >= 50);
      const double least = wanted[wanted.size() / 3].second;
      std::erase_if(wanted, [&](const auto& each) { return each.second < least; });
      question.constraints.min_speedup = least * (1 - 1e-9);
      INFO(kernels.front().name << ", at least " << least);
      CHECK(timed_speedups(question) == wanted);
    }
  }
}

TEST_CASE("several devices are searched with the backend of each") {
  SearchQuestion question = layout({64, 64});
  question.constraints.sparsity = SparsityRange{0.7, 0.9};
  question.objective = Objective::kMean;  // by itself the H100 has times to rank by, the B200 has none
  const std::vector<SearchAnswer> answers = study::search_on(question, {"h100", "b200"}, shared_context());
  REQUIRE(answers.size() == 2);
  CHECK(answers[0].candidates.at(0).tiles.backend == "hopper-fna");
  CHECK(answers[1].candidates.at(0).tiles.backend == "blackwell-fna");
  for (std::size_t i = 0; i < 2; ++i) {
    question.setting.device = i == 0 ? "h100" : "b200";
    const SearchAnswer alone = search_of(question);
    REQUIRE(alone.candidates.size() == answers[i].candidates.size());
    for (std::size_t k = 0; k < alone.candidates.size(); ++k)
      CHECK(alone.candidates[k].counted.problem.mask == answers[i].candidates[k].counted.problem.mask);
  }
}

TEST_CASE("the fast path comes first among equally fast configurations") {
  SearchQuestion question = layout({64, 64});
  question.constraints.sparsity = SparsityRange{0.5, 0.8};
  question.distinct = Distinct::kNone;
  question.top = 500;
  const SearchAnswer answer = search_of(question);
  bool seen_fast = false;
  for (std::size_t i = 0; i + 1 < answer.candidates.size(); ++i) {
    const study::SearchCandidate &a = answer.candidates[i], &b = answer.candidates[i + 1];
    seen_fast = seen_fast || a.fast_path;
    if (a.counted.count.mma_pairs == b.counted.count.mma_pairs) CHECK((a.fast_path || !b.fast_path));
  }
  CHECK(seen_fast);
  question.constraints.natten_fast_path = true;
  for (const study::SearchCandidate& candidate : search_of(question).candidates) CHECK(candidate.fast_path);
}

TEST_CASE("a window that covers the input is said to be one dense call") {
  SearchQuestion question = layout({64, 64});
  question.window = {64, 64};
  const SearchAnswer answer = search_of(question);
  REQUIRE_FALSE(answer.candidates.empty());
  for (const study::SearchCandidate& candidate : answer.candidates) {
    CHECK(candidate.dense_path);
    CHECK(candidate.kernel.forward->dense_path);
  }
}

TEST_CASE("a window over the whole input is left out where NATTEN's dense kernels refuse it") {
  SearchQuestion question = layout({16, 16});
  question.setting.device = "h100";
  question.setting.backend = "cutlass-fna";
  question.setting.head_dim = 256;  // NATTEN takes hopper-fmha for dense calls, which wants a backward kernel
  question.window_range = {{15, 16}};
  question.distinct = Distinct::kNone;
  question.top = 100'000;
  const SearchAnswer answer = search_of(question);
  REQUIRE(answer.excluded.size() == 1);
  CHECK(answer.excluded[0].refusal.rule.find("backward configuration") != std::string::npos);
  CHECK(answer.excluded[0].combinations % (16 * 16) == 0);  // strides of 16x16, for each tile pair
  CHECK(static_cast<std::int64_t>(answer.candidates.size()) ==
        answer.space_size - answer.excluded[0].combinations);
  for (const study::SearchCandidate& candidate : answer.candidates) {
    CHECK_FALSE(candidate.kernel.refusal.has_value());
    CHECK_FALSE(candidate.dense_path);
  }
}

TEST_CASE("whatever is asked, NATTEN accepts every candidate") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937_64 random(seed);
  const auto pick = [&](std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random);
  };
  std::int64_t candidates = 0, refused = 0;
  const int asked = natten_sim::test::cases(8);
  for (int i = 0; i < asked; ++i) {
    SearchQuestion question;
    for (std::int64_t rank = pick(1, 3); rank > 0; --rank) question.setting.input.push_back(pick(2, 24));
    const std::string devices[] = {"a100", "h100", "b200"};
    question.setting.device = devices[pick(0, 2)];
    const std::string backends[] = {"cutlass-fna", "flex-fna"};
    if (pick(0, 2) == 0) question.setting.backend = backends[pick(0, 1)];
    question.setting.head_dim = std::int64_t{16} << pick(0, 4);
    question.phase = values_of<SearchPhase>()[static_cast<std::size_t>(pick(0, 1))];
    question.top = 20;
    try {
      for (const study::SearchCandidate& candidate : search_of(question).candidates) {
        ++candidates;
        INFO(to_string(question.setting.input) << " " << *question.setting.device);
        CHECK_FALSE(candidate.kernel.refusal.has_value());
      }
    } catch (const InvalidParameter&) {
      ++refused;  // nothing that NATTEN takes
    }
  }
  CHECK(candidates > 0);
  CHECK(refused < asked);
}

TEST_CASE("with dilation, configurations are ranked by what NATTEN's kernel visits") {
  int more = 0;  // what is printed has empty tiles where they cannot be avoided
  for (const char* backend : {"hopper-fna", "blackwell-fna", "flex-fna"}) {
    for (const Objective objective :
         {Objective::kWork, Objective::kMean, Objective::kWorst}) {
      study::SearchQuestion question;
      question.setting.input = {45, 50};
      question.setting.backend = backend;
      question.setting.head_dim = 128;
      question.dilation = {2, 3};
      question.objective = objective;
      question.distinct = Distinct::kNone;
      question.top = 50;
      const study::SearchAnswer answer = study::search(question, shared_context());
      INFO(backend);
      std::optional<double> last;
      for (const study::SearchCandidate& candidate : answer.candidates) {
        if (candidate.tile_size != 0) break;
        REQUIRE(candidate.kernel.forward);
        const study::KernelSpeedups& kernel = candidate.kernel.forward->speedup;
        const double wanted = objective == Objective::kWork   ? kernel.work
                              : objective == Objective::kMean ? kernel.mean
                                                                           : kernel.worst;
        CHECK(candidate.speedup == wanted);
        if (last) CHECK(candidate.speedup <= *last);
        last = candidate.speedup;
        more += candidate.kernel.forward->attention.visits.visited_tiles > candidate.counted.count.visited_tiles;
      }
    }
  }
  CHECK(more > 0);
}

}  // namespace search_test
