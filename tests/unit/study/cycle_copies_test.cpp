// What callers copy around cyclic axes: bytes by hand, times by their differences.
#include "cycle_copies.hpp"

#include "catch.hpp"

namespace cycle_copies_test {

using namespace natten_sim;

NeighborhoodMask cyclic(const Extents& input, const Extents& window, const PerAxis<bool>& cycle) {
  return make_mask(input, window, {}, {}, {}, cycle);
}

TEST_CASE("padding reads and writes a whole tensor for each axis that gets tokens of the other end") {
  // A window of 32 has 16 keys before a query and 15 after it.
  CHECK(study::padding_bytes(cyclic({64, 128}, {16, 32}, {false, true}), 10) == 2 * 64 * (16 + 128 + 15) * 10);
  // Rows first, then columns of the longer rows: windows of 5 have 2 on either side.
  CHECK(study::padding_bytes(cyclic({8, 10}, {5, 5}, {true, true}), 3) == 2 * (12 * 10 + 12 * 14) * 3);
  CHECK(study::padding_bytes(cyclic({8, 10}, {8, 5}, {true, false}), 3) == 0);  // the whole cycle needs none
}

TEST_CASE("tiles hold tokens as they lie if they are parts of one axis and all of those after it") {
  CHECK(study::holds_rows({2, 64}, {64, 64}));
  CHECK(study::holds_rows({1, 32}, {64, 64}));
  CHECK(study::holds_rows({1, 4, 64}, {8, 64, 64}));
  CHECK(study::holds_rows({128}, {4096}));
  CHECK_FALSE(study::holds_rows({2, 32}, {64, 64}));
  CHECK_FALSE(study::holds_rows({2, 1, 64}, {8, 64, 64}));
}

study::CycleCopies copies_of(std::int64_t window, std::int64_t batch, const Extents& tile) {
  static const study::Context context = study::default_context();
  study::CountQuestion question;
  question.setting.input = {64, 128};
  question.setting.heads = 16;
  question.setting.head_dim = 128;
  question.setting.batch = batch;
  question.setting.device = "h100";
  question.window = {16, window};
  question.cyclic = {false, true};
  question.q_tile = question.kv_tile = tile;
  return study::count(question, context).cycle_copies.value();
}

TEST_CASE("times of copies grow as their bytes do, and a launch for each is all else") {
  const auto grown = [](std::int64_t window) {
    return copies_of(window, 3, {8, 16}).padding_ms - copies_of(window, 1, {8, 16}).padding_ms;
  };
  // (128 + 31) tokens against (128 + 63) in each of 64 rows.
  CHECK(grown(64) / grown(32) == Approx(191.0 / 159));
  const double once = copies_of(32, 1, {8, 16}).padding_ms;
  CHECK(once > grown(32) / 2);  // a launch each for Q, K and V
  CHECK(once < grown(32) / 2 + 0.1);
  CHECK(copies_of(32, 1, {1, 128}).blocks_ms == 0);  // rows
  const study::CycleCopies blocks = copies_of(32, 1, {8, 16});
  // Q, K, V and O without new tokens against Q, K and V with 31 in 128: rates in and out differ by less than a half.
  CHECK(blocks.blocks_ms / blocks.padding_ms > 4.0 / 3 * 128 / 159 * 0.67);
  CHECK(blocks.blocks_ms / blocks.padding_ms < 4.0 / 3 * 128 / 159 * 1.5);
  CHECK(blocks.interval > 0);
}

TEST_CASE("without a cycle or a device nothing is said of copies around one") {
  const study::Context context = study::default_context();
  study::CountQuestion question;
  question.setting.input = {64, 128};
  question.window = {16, 32};
  CHECK_FALSE(study::count(question, context).cycle_copies);
  question.cyclic = {true};
  CHECK_FALSE(study::count(question, context).cycle_copies);
}

}  // namespace cycle_copies_test
