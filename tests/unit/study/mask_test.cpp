#include <natten_sim/core/error.hpp>
#include <natten_sim/io/mask_file.hpp>
#include <natten_sim/study/mask.hpp>

#include "catch.hpp"
#include "shared_context.hpp"

namespace mask_test {

using namespace natten_sim;
using namespace natten_sim::study;
using natten_sim::test::shared_context;

MaskQuestion asked(SequenceRule rule, std::int64_t tokens) {
  MaskQuestion question;
  question.mask.mask.rule = JoinedMask{{{std::move(rule)}}};
  question.q_tokens = tokens;
  return question;
}

const PassTime& pass_of(const std::optional<TimeAnswer>& answer) { return std::get<PassTime>(*answer); }

TEST_CASE("a causal mask visits the blocks on and below the diagonal, and its pairs are counted") {
  MaskQuestion question = asked(CausalMask{}, 1024);
  const MaskAnswer answer = count_mask(question, shared_context());
  CHECK(answer.count.q_tiles == 8);
  CHECK(answer.count.visited == 8 * 9 / 2);
  CHECK(answer.count.partial == 8);
  CHECK(answer.count.full == 28);
  CHECK(answer.pairs == Int128{1024} * 1025 / 2);
  CHECK(answer.count.shortest_row == 1);
  CHECK(answer.count.longest_row == 8);
  CHECK(answer.count.mean_row == Approx(4.5));
  CHECK(answer.count.empty_rows == 0);
  CHECK(answer.others.size() == 3);
  CHECK_FALSE(answer.count.forward);
}

TEST_CASE("blocks that are cut at the end of a sequence are partial, as FlexAttention pads them") {
  const MaskAnswer answer = count_mask(asked(FullMask{}, 1000), shared_context());
  CHECK(answer.count.visited == 64);
  CHECK(answer.count.partial == 8 + 7);  // the last row and the last column
  CHECK(answer.pairs == Int128{1000} * 1000);
}

TEST_CASE("documents bring their tokens") {
  MaskQuestion question;
  question.mask.mask.rule = DocumentMask{{256, 512}};
  const MaskAnswer answer = count_mask(question, shared_context());
  CHECK(*answer.question.q_tokens == 768);
  CHECK(answer.count.visited == 4 + 16);
  CHECK(answer.count.partial == 0);
  CHECK(answer.pairs == Int128{256} * 256 + Int128{512} * 512);
}

TimeQuestion without_mask(Walk pass) {
  TimeQuestion dense{.kernel = "flexattention", .device = "h200"};
  dense.mask = {{8192, 8192, 1, 1, false}};
  dense.tiles = {{128}, {128}};
  dense.pass = pass;
  dense.sizes.heads = dense.sizes.heads_kv = 16;
  dense.sizes.head_dim = dense.sizes.head_dim_value = 128;
  dense.dtype = Dtype::kBf16;
  return dense;
}

TEST_CASE(
    "a full mask takes the time of FlexAttention without a mask, but backward its shorter CTAs end more evenly") {
  MaskQuestion question = asked(FullMask{}, 8192);
  question.device = "h200";
  question.heads = 16;
  question.head_dim = 128;
  question.backprop = true;
  const MaskAnswer answer = count_mask(question, shared_context());
  const auto dense = [](Walk pass) { return std::get<PassTime>(study::time(without_mask(pass), shared_context())); };
  CHECK(pass_of(answer.count.forward).kernel_ms == Approx(dense(Walk::kForward).kernel_ms));
  const LaunchTime parts = pass_of(answer.count.backward).parts, whole = dense(Walk::kBackward).parts;
  CHECK(parts.tiles_ms == Approx(whole.tiles_ms));
  CHECK(parts.tail_ms < whole.tail_ms);
}

TEST_CASE("a mask for each head is the sum of its heads, and one mask for all their multiple") {
  const char* kFirst = R"({"indptr": [0, 1, 3], "indices": [0, 0, 1], "shape": [2, 2]})";
  MaskQuestion one;
  one.mask = parse_mask_file(kFirst, "one");
  one.heads = 4;
  one.head_dim = 128;
  one.device = "h200";
  const MaskAnswer of_one = count_mask(one, shared_context());
  CHECK(of_one.count.visited == 3);
  CHECK_FALSE(of_one.pairs);
  CHECK(of_one.others.empty());
  MaskQuestion two = one;
  two.mask = parse_mask_file(
      R"({"kv_num_blocks": [[[0, 0], [0, 0]]], "kv_indices": [[[[], []], [[], []]]],
          "full_kv_num_blocks": [[[1, 2], [1, 2]]], "full_kv_indices": [[[[0], [0, 1]], [[0], [0, 1]]]]})",
      "two");
  const MaskAnswer of_two = count_mask(two, shared_context());
  CHECK(of_two.masks == 2);
  CHECK(of_two.count.visited == 6);
  CHECK(of_two.count.q_tiles == 2);
  CHECK(pass_of(of_two.count.forward).kernel_ms == Approx(pass_of(of_one.count.forward).kernel_ms));
  two.heads = 3;
  CHECK_THROWS_AS(count_mask(two, shared_context()), InvalidParameter);
}

TEST_CASE("the longest row decides how long one head takes on more SMs than it has blocks") {
  MaskQuestion question = asked(CausalMask{}, 8192);
  question.device = "h200";
  question.head_dim = 128;
  const PassTime causal = pass_of(count_mask(question, shared_context()).count.forward);
  question.mask.mask.rule = JoinedMask{{{FullMask{}}}};
  const PassTime full = pass_of(count_mask(question, shared_context()).count.forward);
  // 64 CTAs run at once: the last one of a causal mask has as many blocks as each of a full one, one of them
  // partial.
  CHECK(causal.kernel_ms >= full.kernel_ms);
  CHECK(causal.kernel_ms <= 1.05 * full.kernel_ms);
}

/// Blocks on the diagonal, all of one kind.
MaskQuestion diagonal_blocks(std::int32_t blocks, TileWork work) {
  BlockMask mask{blocks, blocks, {}};
  mask.work.resize(static_cast<std::size_t>(blocks) * static_cast<std::size_t>(blocks));
  for (std::int32_t block = 0; block < blocks; ++block)
    mask.work.set(static_cast<std::size_t>(block) * static_cast<std::size_t>(blocks + 1), work);
  MaskQuestion question;
  question.mask.mask.rule = mask;
  question.device = "h200";
  question.heads = 16;
  question.head_dim = 128;
  return question;
}

TEST_CASE("of blocks from a file nothing tells the mask function: the interval begins where it costs nothing") {
  const PassTime masked = pass_of(count_mask(diagonal_blocks(50, TileWork::kPartial), shared_context()).count.forward);
  const PassTime open = pass_of(count_mask(diagonal_blocks(50, TileWork::kFull), shared_context()).count.forward);
  CHECK(masked.low_ms == Approx(open.low_ms));
  CHECK(masked.total_ms > open.total_ms);
  CHECK(masked.mask_function == "tables");
}

TEST_CASE("a rule's comparisons are counted: 2 each, and what a document's number takes to read") {
  const std::int64_t tokens = 6400;
  const auto cost_of = [&](JoinedMask mask) {
    MaskQuestion question = asked(FullMask{}, tokens);
    question.mask.mask.rule = std::move(mask);
    question.device = "h200";
    question.head_dim = 128;
    const PassTime time = pass_of(count_mask(question, shared_context()).count.forward);
    CHECK(time.mask_function == "rule");
    return time.mask_instructions;
  };
  const DocumentMask documents{std::vector<std::int64_t>(64, 100)};
  CHECK(cost_of({{{CausalMask{}}}}) == 2);
  CHECK(cost_of({{{SlidingWindowMask{100, 5}}}}) == 4);
  CHECK(cost_of({{{documents, CausalMask{}}}}) == 5);
  CHECK(cost_of({{{CausalMask{}}, {PrefixMask{77}}}}) == 4);
}

TEST_CASE("a mask function of one's own takes as long as its instructions say") {
  MaskQuestion question = asked(DocumentMask{std::vector<std::int64_t>(64, 100)}, 6400);
  question.device = "h200";
  question.heads = 16;
  question.head_dim = 128;
  const auto time = [&](double instructions) {
    question.mask_cost = instructions;
    return pass_of(count_mask(question, shared_context()).count.forward);
  };
  const PassTime free = time(0), ten = time(10), twenty = time(20);
  CHECK(free.parts.masking_ms == Approx(0).margin(1e-9));
  CHECK(twenty.parts.masking_ms == Approx(2 * ten.parts.masking_ms));
  CHECK(ten.mask_function == "given");
}

TEST_CASE("FlashAttention-4 takes blocks of its tiles, and walks those of larger blocks one by one") {
  const auto time_of = [&](MaskQuestion question, std::int64_t block) {
    question.kernel = "fa4";
    question.q_tile = question.kv_tile = block;
    question.backprop = true;
    return count_mask(question, shared_context()).count;
  };
  MaskQuestion full = asked(FullMask{}, 8192);
  full.device = "h200";
  full.heads = 16;
  full.head_dim = 128;
  TimeQuestion dense{.kernel = "fa4", .device = "h200"};
  dense.mask = {{8192, 8192, 1, 1, false}};
  dense.sizes.heads = dense.sizes.heads_kv = 16;
  dense.sizes.head_dim = dense.sizes.head_dim_value = 128;
  for (const std::int64_t block : {128, 256}) {
    const BlockCount count = time_of(full, block);
    for (const auto& [pass, answer] : {std::pair{Walk::kForward, count.forward}, std::pair{Walk::kBackward, count.backward}}) {
      dense.pass = pass;
      const PassTime whole = std::get<PassTime>(study::time(dense, shared_context()));
      CHECK(pass_of(answer).parts.tiles_ms == Approx(whole.parts.tiles_ms));
      CHECK(pass_of(answer).kernel_ms == Approx(whole.kernel_ms).epsilon(0.01));
    }
  }
  CHECK_THROWS_AS(time_of(full, 64), InvalidParameter);
  full.q_tile = std::nullopt;
  full.kernel = "fa4";
  CHECK(count_mask(full, shared_context()).others.empty());
}

TEST_CASE("FlashAttention-4 at head dim 64 takes blocks of 128 with tiles of 128, and of 192 with tiles of 192") {
  MaskQuestion question = asked(FullMask{}, 18432);  // 144 blocks of 128, 96 of 192
  question.device = "h200";
  question.kernel = "fa4";
  question.heads = 16;
  question.head_dim = 64;
  question.backprop = true;
  const BlockCount small = count_mask(question, shared_context()).count;
  CHECK(small.q_tile == 128);
  const PassTime forward = pass_of(small.forward);
  CHECK(forward.ctas == 16 * 144);
  CHECK(forward.evidence.origin == CostOrigin::kTransferred);
  CHECK(forward.evidence.transfer == to_string(TransferKind::kOtherTiles));
  CHECK(std::holds_alternative<PassTime>(*small.backward));
  question.q_tile = 192;
  question.backprop = false;
  const PassTime large = pass_of(count_mask(question, shared_context()).count.forward);
  CHECK(large.ctas == 16 * 96);
  CHECK(large.evidence.origin == CostOrigin::kMeasured);
  question.q_tile = 64;
  CHECK_THROWS_AS(count_mask(question, shared_context()), InvalidParameter);
}

TEST_CASE("heads that share keys take as long forward, and backward nobody knows") {
  MaskQuestion question = asked(CausalMask{}, 8192);
  question.device = "h200";
  question.heads = 16;
  question.head_dim = 128;
  question.backprop = true;
  const double alone = pass_of(count_mask(question, shared_context()).count.forward).kernel_ms;
  question.heads_kv = 4;
  const BlockCount shared = count_mask(question, shared_context()).count;
  CHECK(pass_of(shared.forward).kernel_ms == Approx(alone));
  CHECK(std::holds_alternative<MissingTime>(*shared.backward));
  question.heads_kv = 5;
  CHECK_THROWS_AS(count_mask(question, shared_context()), InvalidParameter);
}

TEST_CASE("what a mask does not fit is refused by name") {
  const auto refused = [](MaskQuestion question, const char* parameter) {
    try {
      (void)count_mask(question, shared_context());
      return false;
    } catch (const InvalidParameter& error) {
      return error.parameter() == parameter;
    }
  };
  CHECK(refused({}, "seqlen_q"));
  MaskQuestion question = asked(FullMask{}, 1024);
  question.kernel = "hopper-fna";
  CHECK(refused(question, "kernel"));
  MaskQuestion blocks;
  blocks.mask = parse_mask_file(
      R"({"indptr": [0, 1], "indices": [0], "shape": [1, 1], "BLOCK_SIZE": [64, 64]})", "file");
  blocks.q_tile = 128;
  CHECK(refused(blocks, "q_tile"));
  blocks.q_tile = std::nullopt;
  blocks.q_tokens = 65;
  CHECK(refused(blocks, "seqlen_q"));
  MaskQuestion gna;
  gna.mask.mask.rule = GnaMask{.layout = {64}};
  CHECK(refused(gna, "mask"));
}

TEST_CASE("there are no times where keys are not as many as queries") {
  MaskQuestion question = asked(CausalMask{}, 1024);
  question.kv_tokens = 2048;
  question.device = "h200";
  question.head_dim = 128;
  CHECK(std::holds_alternative<MissingTime>(*count_mask(question, shared_context()).count.forward));
}

}  // namespace mask_test
