#include <natten_sim/study/count.hpp>

#include "catch.hpp"

namespace fast_path_change_test {

using namespace natten_sim;
using study::FastPathChange;

/// 4,096 tokens in a row on a B200, whose tiles are 256 queries and 128 keys.
std::optional<FastPathChange> change_for(std::int64_t window, std::int64_t stride) {
  study::CountQuestion question;
  question.setting.device = "b200";
  question.setting.input = {4096};
  question.window = {window};
  question.stride = {stride};
  return study::count(question, study::default_context()).fast_path_change;
}

// The predicate on one axis: s % tq == 0, w % tk == 0, L % s == 0, and (w/2 - s/2) % tk == 0.
TEST_CASE("a stride that misses the fast path is told") {
  REQUIRE_FALSE(change_for(1024, 256));  // 512 - 128 is a multiple of 128: nothing is masked as it is
  const auto change = change_for(1024, 200);
  REQUIRE(change);
  CHECK(change->stride == Extents{256});
  CHECK(change->window.empty());
}

TEST_CASE("a window that misses the fast path is told") {
  // 1,000 / 128 lies between 896 (448 - 128 is no multiple of 128) and 1,024.
  const auto change = change_for(1000, 256);
  REQUIRE(change);
  CHECK(change->window == Extents{1024});
  CHECK(change->stride.empty());
}

TEST_CASE("what misses by two numbers has no single change") { CHECK_FALSE(change_for(1000, 200)); }

TEST_CASE("another KV tile that the backend has is told first") {
  // Q 16x16 on a B200 has KV tiles 16x8 and 8x16. Window 32 and stride 16 on the first axis: 16 - 8 is a
  // multiple of 8 alone; on the second 48 and 16: 24 - 8 is one of 16.
  study::CountQuestion question;
  question.setting.device = "b200";
  question.setting.input = {128, 128};
  question.window = {32, 48};
  question.stride = {16, 16};
  question.q_tile = {16, 16};
  question.kv_tile = {16, 8};
  const auto change = study::count(question, study::default_context()).fast_path_change;
  REQUIRE(change);
  CHECK(change->kv_tile == Extents{8, 16});
}

}  // namespace fast_path_change_test
