// Kernels that NATTEN does not run see one sequence, in tiles of their own.
#include <string>
#include <variant>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/tile_count.hpp>
#include <natten_sim/models/tiles/kernel_time.hpp>
#include <natten_sim/study/count.hpp>

#include "catch.hpp"
#include "shared_context.hpp"

namespace dense_sequence_test {

using namespace natten_sim;
using study::CountAnswer;
using study::CountQuestion;
using natten_sim::test::shared_context;

CountQuestion question_of(const char* kernel, const char* device, const Extents& input, std::int64_t head_dim = 128) {
  CountQuestion question;
  question.setting.input = input;
  question.setting.device = device;
  question.setting.head_dim = head_dim;
  question.kernel = kernel;
  return question;
}

CountAnswer answer_of(const CountQuestion& question) { return study::count(question, shared_context()); }

double total_ms(const CountAnswer& answer) { return std::get<study::PassTime>(answer.time.value()).total_ms; }

TEST_CASE("a library's kernel is counted in its own tiles over one sequence") {
  struct Row {
    const char *kernel, *device;
    std::int64_t head_dim, q_tile, kv_tile;  // FlashAttention's configurations, as its public sources have them
  };
  const Row rows[] = {{"fa4", "h200", 128, 128, 128}, {"fa4", "b200", 128, 256, 128}, {"fa3", "h100", 128, 128, 176},
                      {"fa3", "h100", 64, 192, 128},  {"fa2", "h200", 128, 128, 64},  {"cudnn", "h200", 64, 128, 128}};
  constexpr std::int64_t kTokens = 30 * 48 * 80;
  for (const Row& row : rows) {
    INFO(row.kernel << " on " << row.device << " at head dim " << row.head_dim);
    const CountAnswer answer = answer_of(question_of(row.kernel, row.device, {30, 48, 80}, row.head_dim));
    CHECK(answer.forward.problem.tiles == TilePair{{row.q_tile}, {row.kv_tile}});
    const std::int64_t q_tiles = (kTokens + row.q_tile - 1) / row.q_tile,
                       kv_tiles = (kTokens + row.kv_tile - 1) / row.kv_tile;
    CHECK(answer.forward.count.visited_tiles == q_tiles * kv_tiles);
    CHECK(answer.question.setting.input == Extents{kTokens});
    CHECK_FALSE(answer.kernel.call);
    CHECK(total_ms(answer) == total_ms(answer_of(question_of(row.kernel, row.device, {kTokens}, row.head_dim))));
    CHECK(total_ms(answer_of(answer.question)) == total_ms(answer));
  }
}

TEST_CASE("a causal sequence of 32 tiles visits the 528 pairs below the diagonal and on it") {
  CountQuestion question = question_of("fa4", "h200", {4096});
  question.causal = {true};
  question.backward = true;
  const CountAnswer answer = answer_of(question);
  CHECK(answer.forward.count.visited_tiles == 32 * 33 / 2);
  CHECK(answer.forward.count.partial_tiles() == 32);
  CHECK(answer.backward->problem.tiles == TilePair{{64}, {128}});
  CHECK(answer.backward->count.visited_tiles == 2 * (32 * 33 / 2));
}

/// Of the pass's tiles alone.
double tiles_ms(const study::TimeAnswer& time) { return std::get<study::PassTime>(time).parts.tiles_ms; }

TEST_CASE("keys that do not fill their last tile cost every pair what was measured, on Hopper alone") {
  struct Row {
    const char *kernel, *device;
    std::int64_t head_dim, keys;
    bool causal;
    double forward, backward;  // over as many tiles that are filled
  };
  const Row rows[] = {{"cudnn", "h200", 64, 16456, false, 1.12, 1.085}, {"cudnn", "h200", 128, 16456, false, 1.08, 1.03},
                      {"cudnn", "h200", 64, 16456, true, 1, 1.05},      {"cudnn", "h200", 128, 16456, true, 1, 1.025},
                      {"cudnn", "h200", 64, 16448, false, 1.12, 1},     {"cudnn", "h100", 64, 16456, false, 1.12, 1.085},
                      {"fa2", "h200", 64, 16448, false, 0.965, 1.06},   {"fa2", "h200", 128, 16456, false, 1, 1},
                      {"fa2", "a100", 64, 16456, false, 1, 1},           {"fa4", "h200", 128, 16456, false, 1, 1}};
  for (const Row& row : rows) {
    INFO(row.kernel << " on " << row.device << ", head dim " << row.head_dim << ", " << row.keys << " keys");
    const auto answer = [&](std::int64_t keys) {
      CountQuestion question = question_of(row.kernel, row.device, {keys}, row.head_dim);
      question.causal = {row.causal};
      question.backward = true;
      return answer_of(question);
    };
    const CountAnswer ragged = answer(row.keys), filled = answer(129 * 128);
    REQUIRE(ragged.forward.count.visited_tiles == filled.forward.count.visited_tiles);
    CHECK(tiles_ms(*ragged.time) / tiles_ms(*filled.time) == Approx(row.forward));
    CHECK(tiles_ms(*ragged.backward->time) / tiles_ms(*filled.backward->time) ==
          Approx(row.backward * static_cast<double>(ragged.backward->count.visited_tiles) /
                 static_cast<double>(filled.backward->count.visited_tiles)));
  }
}

TEST_CASE("a last round of FlashAttention-2 takes as long as a full one where keys fill no last tile of head dim 64") {
  // 32 tiles of 19 heads on 132 SMs, two CTAs on each: two rounds, and 80 CTAs alone on their SMs.
  const auto rounds = [](std::int64_t tokens, std::int64_t head_dim, std::int64_t heads = 19) {
    CountQuestion question = question_of("fa2", "h200", {tokens}, head_dim);
    question.setting.heads = heads;
    const CountAnswer answer = answer_of(question);
    const auto& time = std::get<study::PassTime>(*answer.time);
    CHECK(time.ctas == 32 * heads);
    const LaunchTime& parts = time.parts;
    return time.waves * (1 + parts.tail_ms / (parts.tiles_ms + parts.masking_ms + parts.prologue_ms));
  };
  const double alone = shared_pace(1, 2, 0.82);
  CHECK(alone < 0.65);
  CHECK(rounds(4096, 64) == Approx(2 + alone));
  CHECK(rounds(4088, 64) == Approx(3));
  CHECK(rounds(4088, 128) == Approx(2 + alone));
  CHECK(rounds(4088, 64, 4) == Approx(alone));  // the only round
}

TEST_CASE("a speedup over a dense kernel is over one whose keys do not fill their last tile either") {
  const auto dense_ms = [](std::int64_t tokens) {
    CountQuestion question = question_of("flexattention", "h200", {tokens}, 64);
    question.window = {1024};
    const CountAnswer answer = answer_of(question);
    const auto& time = std::get<study::PassTime>(*answer.time);
    CHECK(time.dense_kernel == "cudnn");
    return *time.dense_ms;
  };
  CHECK(dense_ms(16456) > 1.08 * dense_ms(129 * 128));
}

void check_refused(const CountQuestion& question, const std::string& word) {
  try {
    (void)answer_of(question);
    FAIL("answered, without " << word);
  } catch (const InvalidParameter& error) {
    INFO(error.what());
    CHECK(std::string(error.what()).find(word) != std::string::npos);
  }
}

TEST_CASE("what a dense kernel does not have is refused with what it has") {
  for (const char* kernel : {"fa2", "fa3", "fa4", "cudnn", "fmha", "hopper-fmha"}) {
    INFO(kernel);
    CountQuestion question = question_of(kernel, "h100", {64, 64});
    CHECK_NOTHROW(answer_of(question));
    question.window = {16, 64};
    check_refused(question, "flexattention");
    question.window = {};
    question.causal = {true, false};
    check_refused(question, "causal");
  }
  CountQuestion question = question_of("fa4", "h100", {4096});
  question.window = {512};
  check_refused(question, "window:L,R");
  question.window = {};
  question.q_tile = question.kv_tile = {64};
  check_refused(question, "128, the tile of fa4");
  question.q_tile = question.kv_tile = {128};
  CHECK_NOTHROW(answer_of(question));
  question.setting.backend = "hopper-fna";
  check_refused(question, "backend");
  check_refused(question_of("fa4", "h100", {4096}, 512), "multiples of 8 up to 128");
  check_refused(question_of("fa4", "a100", {4096}), "sm90, sm100, sm103");
  question = question_of("fa4", "h100", {4096});
  question.setting.device = std::nullopt;
  check_refused(question, "device");
}

TEST_CASE("a dense kernel's time is asked for with a mask that it has") {
  study::TimeQuestion question{.kernel = "fa4", .device = "h200"};
  question.sizes = {.heads = 8, .heads_kv = 8, .head_dim = 128, .head_dim_value = 128};
  question.mask = make_mask({4096}, {4096}, {});
  CHECK(std::holds_alternative<study::PassTime>(study::time(question, shared_context())));
  question.mask = make_mask({4096}, {512}, {});
  CHECK_THROWS_AS(study::time(question, shared_context()), InvalidParameter);
}

TEST_CASE("head dims that nobody timed are not called ones that the kernel lacks") {
  // cutlass-fna has multiples of 8 up to 65,536 (NATTEN's checks of head dims), FlexAttention any.
  for (const char* kernel : {"cutlass-fna", "flexattention"}) {
    CountQuestion question = question_of(kernel, "h200", {4096}, 512);
    question.window = {512};
    const std::string sentence = std::get<study::MissingTime>(answer_of(question).time.value()).sentence;
    INFO(sentence);
    CHECK(sentence.find("no times of head dim 512") != std::string::npos);
    CHECK(sentence.find("multiples of 8 up to 256") != std::string::npos);
  }
}

TEST_CASE("FlexAttention has times for blocks of multiples of 16 tokens alone") {
  // Its least tile: Triton multiplies 16 x 16, and PyTorch refuses blocks that the tiles do not divide.
  for (const auto& [shape, runs] : {std::pair{Extents{2, 2}, false}, {Extents{4, 6}, false}, {Extents{3, 8}, false},
                                   {Extents{4, 4}, true}, {Extents{6, 8}, true}, {Extents{8, 16}, true}}) {
    CountQuestion question = question_of("flexattention", "h200", {64, 64}, 64);
    question.window = {16, 16};
    for (const bool of_queries : {true, false}) {
      question.q_tile = of_queries ? shape : Extents{8, 16};
      question.kv_tile = of_queries ? Extents{8, 16} : shape;
      INFO(to_string(question.q_tile) << " and " << to_string(question.kv_tile));
      const CountAnswer answer = answer_of(question);
      CHECK(std::holds_alternative<study::PassTime>(answer.time.value()) == runs);
      if (runs) continue;
      CHECK(std::get<study::MissingTime>(*answer.time).sentence.find("multiples of 16") != std::string::npos);
    }
  }
}

}  // namespace dense_sequence_test
