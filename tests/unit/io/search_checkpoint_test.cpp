// Files in which a search for a schedule is left.
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/search_checkpoint.hpp>

#include "catch.hpp"

namespace search_checkpoint_test {

using namespace natten_sim;

SearchCheckpoint one_tile() {
  SearchCheckpoint checkpoint;
  checkpoint.iterations = 17;
  checkpoint.best.problem.mask = {1, 1, {TileWork::kFull}};
  checkpoint.best.schedule = {.chains = {{0, 0, {0}}}, .dq_order = {{0}}};
  return checkpoint;
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = to_json(one_tile());
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("a checkpoint reads as it was written") {
  const std::string text = to_json(one_tile());
  const SearchCheckpoint read = parse_search_checkpoint(text, "test");
  CHECK(read.iterations == 17);
  CHECK(read.best.problem == one_tile().best.problem);
  CHECK(to_json(read) == text);
}

/// What is said of a text that is no checkpoint.
std::string refusal(const std::string& text) {
  try {
    (void)parse_search_checkpoint(text, "test");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("a file that is no checkpoint is refused by what is wrong with it") {
  CHECK(refusal(with("search-checkpoint/1", "search-checkpoint/2")).find("search-checkpoint/1") !=
        std::string::npos);
  for (const char* count : {":-1", ":1000000001", ":1.5", ":\"1\""})
    CHECK(refusal(with(":17", count)).find("iterations") != std::string::npos);
  CHECK(refusal(with("\"best\"", "\"worst\"")).find("worst") != std::string::npos);
  const std::string later = refusal(with("\"dispatch\":\"dynamic\"", "\"dispatch\":\"later\""));
  CHECK(later.find("test.best") != std::string::npos);
  CHECK(later.find("later") != std::string::npos);
  CHECK(refusal(to_json(one_tile().best)).find("search-checkpoint/1") != std::string::npos);
}

}  // namespace search_checkpoint_test
