#include <natten_sim/core/error.hpp>
#include <natten_sim/study/count.hpp>

#include "catch.hpp"

namespace count_time_test {

using namespace natten_sim;
using study::CountAnswer;
using study::CountQuestion;
using study::MissingTime;
using study::PassTime;

/// Cosmos-Predict1 7B, 89% sparse.
CountQuestion cosmos(const Extents& window, const Extents& stride) {
  CountQuestion question;
  question.setting.input = {16, 44, 80};
  question.setting.heads = 32;
  question.setting.head_dim = 128;
  question.setting.device = "h200";
  question.window = window;
  question.stride = stride;
  return question;
}

double kernel_ms(const CountQuestion& question) {
  const CountAnswer answer = study::count(question, study::default_context());
  REQUIRE(answer.time);
  REQUIRE(std::holds_alternative<PassTime>(*answer.time));
  return std::get<PassTime>(*answer.time).kernel_ms;
}

TEST_CASE("a count on a device comes with the time of the kernel that NATTEN runs there") {
  // Measured on another H200 than the costs: 21.553 ms, and 8.51 to 10.22 ms where no tile is masked.
  CHECK(kernel_ms(cosmos({16, 24, 16}, {1, 1, 1})) == Approx(21.553).epsilon(0.03));
  const double unmasked_ms = kernel_ms(cosmos({16, 24, 16}, {1, 8, 16}));
  CHECK(unmasked_ms > 8.5);
  CHECK(unmasked_ms < 10.22);
}

TEST_CASE("a window that covers the input is timed as the dense kernel, unless another is named") {
  CountQuestion question = cosmos({16, 44, 80}, {1, 1, 1});
  question.q_tile = question.kv_tile = {2, 8, 8};
  const double dense = kernel_ms(question);
  question.kernel = "hopper-fna";
  // 129.58 ms measured on that H200, one launch after the other: 44 rows take 48, and every tile is checked for bounds.
  question.rest_ms = 0;
  CHECK(kernel_ms(question) == Approx(129.58).epsilon(0.03));
  question.rest_ms.reset();
  question.kernel = "fmha";
  CHECK(kernel_ms(question) == dense);
}

TEST_CASE("a backward pass has a time of its own") {
  CountQuestion question = cosmos({16, 24, 16}, {1, 1, 1});
  question.backward_q_tile = {4, 4, 4};
  question.backward_kv_tile = {4, 4, 8};
  const CountAnswer answer = study::count(question, study::default_context());
  REQUIRE(answer.backward);
  REQUIRE(answer.backward->time);
  CHECK(std::get<PassTime>(*answer.backward->time).kernel_ms == Approx(87.77).epsilon(0.04));
}

TEST_CASE("a named kernel brings its tiles, and needs a device") {
  CountQuestion question = cosmos({16, 24, 16}, {1, 1, 1});
  question.setting.device = std::nullopt;
  CHECK(!study::count(question, study::default_context()).time);
  question.kernel = "hopper-fna";
  const CountAnswer answer = study::count(question, study::default_context());
  CHECK(answer.forward.problem.tiles == TilePair{{4, 4, 8}, {4, 4, 8}});
  CHECK(std::get<MissingTime>(*answer.time).sentence.find("needs a device") != std::string::npos);
  question.kernel = "hopper";
  CHECK_THROWS_AS(study::count(question, study::default_context()), UnknownName);
}

}  // namespace count_time_test
