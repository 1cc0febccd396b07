// Searches on a device keep as many heads at work as its L2 holds.
#include <natten_sim/study/schedule.hpp>

#include "catch.hpp"

namespace heads_limit_test {

using namespace natten_sim;

std::optional<std::int32_t> limit_of(const study::ScheduleQuestion& question) {
  return study::schedule(question, study::default_context()).heads_in_flight;
}

TEST_CASE("the limit of heads is the device's, by head dim and length, and without a device there is none") {
  study::ScheduleQuestion question;
  question.sizes = study::TokenSizes{.q_tokens = 2048};
  question.heads = 64;
  question.algorithms = {"spt"};
  CHECK(limit_of(question) == std::nullopt);
  question.workers = study::WorkersOfDevice{"h200"};  // 60 MiB of L2
  CHECK(limit_of(question) == 30);                    // heads of 2 MiB
  question.head_dim = 64;
  CHECK(limit_of(question) == 60);
  question.dtype = Dtype::kFp32;  // 2048 * 64 * (4 + 4 + 4) bytes: 1.5 MiB
  CHECK(limit_of(question) == 40);
  question.heads_in_flight = 7;
  CHECK(limit_of(question) == 7);
  question.heads_in_flight.reset();
  question.head_dim = 0;
  CHECK_THROWS_AS(limit_of(question), InvalidParameter);
  question.head_dim = 64;
  question.sizes = study::TileSizes{.q_tiles = 16};  // lengths are not known
  CHECK(limit_of(question) == std::nullopt);
}

}  // namespace heads_limit_test
