// The case of this project's attention backward: its points, what it refuses, and what its costs were fitted to.
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/compare/comparison.hpp>
#include <natten_sim/validate/compare/suite.hpp>

#include "catch.hpp"

namespace attention_backward_case_test {

using namespace natten_sim;
using namespace natten_sim::validate;

Point backward_point(const std::vector<std::string>& words) {
  std::vector<std::string> all = {"kernel=attention_backward"};
  all.insert(all.end(), words.begin(), words.end());
  return parse_point_words(all);
}

double predicted_ns(const std::vector<std::string>& words) {
  const std::vector<Prediction> predictions = predict(backward_point(words), builtin_catalog().device("h200"));
  REQUIRE(predictions.size() == 1);
  CHECK(predictions.front().counter == kLaunchTime);
  return predictions.front().value;
}

TEST_CASE("a point of the backward is a problem, a schedule and whether its turns are taken") {
  const Point point = backward_point({"tokens=2048", "batch=8", "heads=16", "mask=causal", "algorithm=spt",
                                      "mode=deterministic"});
  CHECK(key_of(point) == "attention_backward b8 h16 s2048 d128 bf16 causal spt deterministic");
  CHECK(group_of(point) == "attention_backward causal spt");
  // 2048 * 2049 / 2 pairs, five products of two operations and 128 columns, 128 heads.
  CHECK(point->operations().value() == 10.0 * 2048 * 2049 / 2 * 128 * 128);
}

TEST_CASE("the backward's mma.sync engine is a point of its own, for which no costs were fitted") {
  const std::vector<std::string> words = {"tokens=2048", "mask=causal", "algorithm=spt",
                                          "mode=deterministic"};
  std::vector<std::string> mma = words, wgmma = words;
  mma.emplace_back("engine=mma.sync");
  wgmma.emplace_back("engine=wgmma");
  CHECK(key_of(backward_point(wgmma)) == key_of(backward_point(words)));
  CHECK(key_of(backward_point(mma)) == key_of(backward_point(words)) + " mma.sync");
  CHECK(group_of(backward_point(mma)) == "attention_backward causal spt mma.sync");
  CHECK(predict(backward_point(mma), builtin_catalog().device("h200")).empty());
}

TEST_CASE("the backward refuses masks of other tokens, and names that nothing has") {
  const std::vector<std::string> good = {"tokens=512", "mask=window:100,0", "algorithm=spt", "mode=unordered"};
  CHECK_NOTHROW(backward_point(good));
  const auto refused = [&](const char* word) {
    std::vector<std::string> words = good;
    words.emplace_back(word);
    const std::string name = words.back().substr(0, words.back().find('='));
    std::erase_if(words, [&](const std::string& each) { return each.starts_with(name) && each != word; });
    INFO(word);
    CHECK_THROWS_AS(backward_point(words), Error);
  };
  refused("mask=document:256,255");  // 511 tokens
  refused("mask=gna:i=16x16,w=3x3");
  refused("algorithm=fastest");
  refused("mode=sometimes");
  refused("tokens=0");
  refused("engine=tensor");
}

TEST_CASE("documents and neighborhoods are points of the backward") {
  const Point documents =
      backward_point({"tokens=512", "mask=document:300,212", "algorithm=best", "mode=deterministic"});
  CHECK(group_of(documents) == "attention_backward documents best");
  // Pairs of a document with itself; five products of two operations and 128 columns.
  CHECK(documents->operations().value() == 10.0 * (300 * 300 + 212 * 212) * 128);
  const Point neighborhood = backward_point(
      {"tokens=512", "mask=gna:i=16x32,w=5x7", "algorithm=spt", "mode=unordered", "head_dim=64"});
  CHECK(group_of(neighborhood) == "attention_backward neighborhood unordered");
  CHECK(neighborhood->operations().value() == 10.0 * 512 * 5 * 7 * 64);
  // No costs were fitted to either.
  for (const Point& point : {documents, neighborhood}) {
    const auto predictions = predict(point, builtin_catalog().device("h200"));
    REQUIRE(predictions.size() == 1);
    CHECK(!predictions.front().fitted);
    CHECK(predictions.front().value > 0);
  }
}

TEST_CASE("a task more never makes the predicted backward shorter, and turns cost no less than none") {
  const std::vector<std::string> small = {"tokens=1024", "heads=4", "mask=full", "algorithm=shift",
                                          "mode=unordered"};
  std::vector<std::string> ordered = small, longer = small;
  ordered.back() = "mode=deterministic";
  longer.front() = "tokens=2048";
  CHECK(predicted_ns(ordered) >= predicted_ns(small));
  CHECK(predicted_ns(longer) > predicted_ns(small));
}

TEST_CASE("costs of the backward are fitted to other points than those that they are held against") {
  std::size_t fitted = 0, judged = 0;
  for (const Suite& suite : builtin_suites()) {
    const bool fits = suite.name == "backward-costs" || suite.name == "backward-sections";
    if (suite.name != "backward" && !fits) continue;
    (fits ? fitted : judged) += suite.points.size();
    for (const Point& point : suite.points) {
      // Short problems: the others take seconds to schedule, and differ in nothing that is tested.
      if (key_of(point).find(" s2048 d64") == std::string::npos) continue;
      for (const Prediction& prediction : predict(point, builtin_catalog().device("h200"))) {
        INFO(key_of(point));
        CHECK(prediction.fitted == fits);
      }
    }
  }
  CHECK(judged == 194);
  CHECK(fitted == 90);  // of 534 with backward-masks and sections-draw: 17%
}

}  // namespace attention_backward_case_test
