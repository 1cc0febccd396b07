// Suites as data, points as words, counters as a table, spreads.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <tuple>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/cases/attention.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/measure/counters.hpp>
#include <natten_sim/validate/compare/suite.hpp>
#include <natten_sim/validate/measure/timing.hpp>

#include "catch.hpp"
#include "places.hpp"

namespace suite_test {

using namespace natten_sim;
using namespace natten_sim::validate;

std::string suite_with(const std::string& sweep) {
  return R"({"schema": "natten-sim.suite/1", "name": "s", "title": "t", "counters": [], "sweeps": [)" +
         sweep + R"(], "tolerances": [], "known_misses": []})";
}

TEST_CASE("a sweep stands for the product of its lists") {
  const Suite suite = parse_suite(
      suite_with(R"({"kernel": "stream", "buffer_mib": [1, 2, 3], "order": ["cyclic", "sawtooth"]})"),
      "v.json");
  CHECK(suite.points.size() == 6);
  std::set<std::string> keys;
  for (const Point& point : suite.points) keys.insert(key_of(point));
  CHECK(keys.size() == 6);
}

TEST_CASE("suites are read strictly") {
  for (
      const char* sweep :
      {R"({"kernel": "stream", "buffer_mib": 1, "order": "cyclic", "colour": 1})",
       R"({"kernel": "stream", "buffer_mib": [1, 1], "order": "cyclic"})",
       R"({"kernel": "stream", "buffer_mib": [], "order": "cyclic"})",
       R"({"kernel": "stream", "order": "cyclic"})",
       R"({"kernel": "cream", "buffer_mib": 1, "order": "cyclic"})", R"(7)",
       R"({"kernel": "attention", "tokens": 64, "head_dim": 128, "q_tile": 77, "kv_tile": 64, "ctas_per_sm": 1, "schedule": "grid", "order": "cyclic"})",
       R"({"kernel": "attention", "tokens": 1.5, "head_dim": 128, "q_tile": 128, "kv_tile": 64, "ctas_per_sm": 1, "schedule": "grid", "order": "cyclic"})"}) {
    INFO(sweep);
    CHECK_THROWS_AS(parse_suite(suite_with(sweep), "v.json"), Error);
  }
  CHECK_THROWS_AS(parse_suite("{}", "v.json"), MalformedData);
}

/// A list of the whole numbers from 1 to `last`.
std::string numbers_to(int last) {
  std::string text = "[1";
  for (int i = 2; i <= last; ++i) text += "," + std::to_string(i);
  return text + "]";
}

TEST_CASE("the points of a suite are bounded before any is made") {
  const auto sweep = [](int sizes, int passes) {
    return R"({"kernel": "stream", "order": "cyclic", "buffer_mib": )" + numbers_to(sizes) +
           R"(, "passes": )" + numbers_to(passes) + "}";
  };
  const auto said = [](const std::string& sweeps) {
    try {
      (void)parse_suite(suite_with(sweeps), "v.json");
    } catch (const Error& error) {
      return error.sentence("--");
    }
    return std::string();
  };
  // 900 million points would take all memory.
  CHECK(said(sweep(30'000, 30'000)).find("at most 10000 in a suite") != std::string::npos);
  // 100 sweeps of 101 points.
  std::string many = sweep(101, 1);
  for (int i = 1; i < 100; ++i) {
    many += R"(, {"kernel": "stream", "order": "sawtooth", "passes": )" + std::to_string(i + 1) +
            R"(, "buffer_mib": )" + numbers_to(101) + "}";
  }
  CHECK(said(many).find("at most 10000 in a suite") != std::string::npos);
  std::string wide = R"({"kernel": "stream")";
  for (int i = 0; i < 64; ++i) wide += ", \"p" + std::to_string(i) + "\": 1";
  CHECK(said(wide + "}").find("at most 64 parameters") != std::string::npos);
}

TEST_CASE("suites are listed by their place, then by name, and every file is one suite") {
  const std::vector<Suite>& suites = builtin_suites();
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(natten_sim::test::kSourceDir) + "/data/suites")) {
    INFO(entry.path().string());
    CHECK(find_suite(suites, entry.path().stem().string()).place > 0);
    ++files;
  }
  CHECK(suites.size() == files);
  CHECK(std::is_sorted(suites.begin(), suites.end(), [](const Suite& a, const Suite& b) {
    return std::tie(a.place, a.name) < std::tie(b.place, b.name);
  }));
}

TEST_CASE("a suite is timed unless it says no") {
  const std::string sweep = R"({"kernel": "stream", "buffer_mib": 1, "order": "cyclic"})";
  const auto with = [&](const std::string& timed) {
    std::string text = suite_with(sweep);
    return text.replace(text.find("\"counters\""), 0, "\"timed\": " + timed + ", ");
  };
  CHECK(parse_suite(suite_with(sweep), "v.json").timed);
  CHECK_FALSE(parse_suite(with("false"), "v.json").timed);
  CHECK_THROWS_AS(parse_suite(with("0"), "v.json"), MalformedData);
}

TEST_CASE("a suite may have the GPU rest before each launch") {
  const auto with_rest = [](const std::string& rest) {
    return parse_suite(
        R"({"schema": "natten-sim.suite/1", "name": "s", "title": "t", "counters": [], )" + rest +
            R"("sweeps": [{"kernel": "stream", "buffer_mib": 1, "order": "cyclic"}], "tolerances": []})",
        "v.json");
  };
  CHECK(with_rest("").rest == 0);
  CHECK(with_rest(R"("rest": 2.5, )").rest == 2.5);
  CHECK_THROWS_AS(with_rest(R"("rest": -1, )"), Error);
  CHECK_THROWS_AS(with_rest(R"("rest": 101, )"), Error);
  for (const char* name : {"backward-costs", "backward", "backward-masks"})
    CHECK(find_suite(builtin_suites(), name).rest == 2);
}

TEST_CASE("savings have tolerances and known misses as counters have") {
  std::string text = suite_with(R"({"kernel": "stream", "buffer_mib": 1, "order": "cyclic"})");
  const std::string none = "\"tolerances\": []";
  text.replace(text.find(none), none.size(),
               R"("tolerances": [{"counter": "dram_read_saving", "relative": 0.05}])");
  CHECK(parse_suite(text, "v.json").tolerances.at(0).counter == "dram_read_saving");
  text.replace(text.find("dram_read_saving"), 16, "dram_read_losing");
  CHECK_THROWS_AS(parse_suite(text, "v.json"), UnknownName);
}

TEST_CASE("a tolerance may have a score, whose numbers are in range") {
  const auto with = [](const std::string& score) {
    return R"({"schema": "natten-sim.suite/1", "name": "s", "title": "t", "counters": [], "sweeps": [], "known_misses": [], "tolerances": [{"counter": "dram_read_bytes", "relative": 0.1, "score": )" +
           score + "}]}";
  };
  const std::string whole = R"({"points": 9, "within": 0.5, "median": 0.1, "p90": 0.2, "rank": 0.9, "skill": 0.7})";
  const Suite suite = parse_suite(with(whole), "v.json");
  REQUIRE(suite.tolerances.at(0).score);
  CHECK(suite.tolerances[0].score->p90 == 0.2);
  CHECK(suite.tolerances[0].score->skill == 0.7);
  for (const auto& [from, to] : {std::pair{"9,", "0,"},
                                 {"0.5", "1.5"},
                                 {"0.5", "-0.1"},
                                 {"0.1", "-0.1"},
                                 {"0.2", "0.05"},
                                 {"0.9", "1.1"},
                                 {"0.7", "1.01"},
                                 {"\"rank\": 0.9", "\"rang\": 0.9"}}) {
    std::string damaged = whole;
    damaged.replace(damaged.find(from), std::string(from).size(), to);
    INFO(damaged);
    CHECK_THROWS_AS(parse_suite(with(damaged), "v.json"), Error);
  }
}

TEST_CASE("a launch on some SMs is another point, one on all of them the same as ever") {
  const std::vector<std::string> words = {"tokens=65536", "head_dim=128",       "q_tile=128",
                                          "kv_tile=64",   "ctas_per_sm=1",      "stages=2",
                                          "order=cyclic", "schedule=persistent"};
  const std::string all = "attention b1 h1/1 s65536 d128 bf16 full 128x64x2 1 CTAs persistent cyclic";
  CHECK(key_of(parse_point_words(words)) == all);
  const auto with = [&](const std::string& word) {
    std::vector<std::string> more = words;
    more.push_back(word);
    return more;
  };
  CHECK(key_of(parse_point_words(with("ctas=0"))) == all);
  const Point some = parse_point_words(with("ctas=8"));
  CHECK(key_of(some) == all + " 8 in all");
  CHECK(group_of(some) == "attention full persistent cyclic, some SMs");
  CHECK(some.as<AttentionCase>()->variant.resident_ctas(132) == 8);
  CHECK(parse_point_words(words).as<AttentionCase>()->variant.resident_ctas(132) == 132);
  CHECK_THROWS_AS(parse_point_words(with("ctas=65537")), InvalidParameter);
  // Only a persistent launch has so many CTAs as one likes.
  std::vector<std::string> grid = with("ctas=8");
  grid[7] = "schedule=grid";
  CHECK_THROWS_AS(parse_point_words(grid), InvalidParameter);
}

TEST_CASE("a known miss says where, by how much, how often and why") {
  const auto with = [](const std::string& miss) {
    return R"({"schema": "natten-sim.suite/1", "name": "s", "title": "t", "counters": [], "sweeps": [], "tolerances": [], "known_misses": [)" +
           miss + "]}";
  };
  const std::string whole =
      R"({"counter": "dram_read_bytes", "point": "p", "worst": 0.5, "points": 2, "cause": "c"})";
  CHECK(parse_suite(with(whole), "v.json").known_misses.at(0).points == 2);
  for (const auto& [from, to] : {std::pair{"\"points\": 2, ", ""},
                                 {"\"points\": 2", "\"points\": 0"},
                                 {"\"point\": \"p\"", "\"point\": \"\""},
                                 {"0.5", "0"},
                                 {"0.5", "-1"},
                                 {"\"c\"", "\"\""},
                                 {"dram_read_bytes", "dram"},
                                 {"\"worst\"", "\"wrost\""}}) {
    std::string damaged = whole;
    damaged.replace(damaged.find(from), std::string(from).size(), to);
    INFO(damaged);
    CHECK_THROWS_AS(parse_suite(with(damaged), "v.json"), Error);
  }
}

TEST_CASE("the shipped suites have the points that the comparison needs") {
  CHECK(find_suite(builtin_suites(), "reuse").points.size() >= 150);
  CHECK_FALSE(find_suite(builtin_suites(), "stream").points.empty());
  CHECK_THROWS_AS(find_suite(builtin_suites(), "reus"), UnknownName);
}

TEST_CASE("a point in words is the point of the data, with any tile shape") {
  const Point point =
      parse_point_words({"tokens=4096", "head_dim=128", "q_tile=128", "kv_tile=176", "ctas_per_sm=1",
                         "schedule=persistent", "order=descending", "causal=true", "heads=8"});
  CHECK(key_of(point) == "attention b1 h8/8 s4096 d128 bf16 causal 128x176x1 1 CTAs persistent descending");
  CHECK(group_of(point) == "attention causal persistent descending");
  CHECK_THROWS_AS(parse_point_words({"tokens"}), InvalidParameter);
  CHECK_THROWS_AS(parse_point_words({"tokens=1", "tokens=2"}), InvalidParameter);
  CHECK_THROWS_AS(parse_point_words({"tokens=many"}), Error);
  CHECK_THROWS_AS(parse_point_words({"tokens=99999999999999999999"}), Error);
  CHECK_THROWS_AS(parse_point_words({}), Error);
}

TEST_CASE("each metric is one counter's, and each counter has one metric a chip") {
  std::set<std::string_view> metrics;
  for (const std::string_view chip : counter_chips()) {
    std::set<std::string_view> labels;
    for (const CounterSpec& spec : counter_table()) {
      if (!exists_on(spec, chip)) continue;
      CHECK(labels.insert(spec.label).second);
      CHECK(counter_on(spec.label, chip) == &spec);
    }
  }
  for (const CounterSpec& spec : counter_table()) {
    CHECK(metrics.insert(spec.metric).second);
    CHECK_FALSE(spec.meaning.empty());
    CHECK(find_metric(spec.metric) == &spec);
    CHECK(counter(spec.label).label == spec.label);
    CHECK_FALSE(exists_on(spec, "GH10"));
  }
  CHECK_THROWS_AS(counter("dram_bytes"), UnknownName);
  CHECK(counter_on("dram_read_bytes", "GB202")->metric == "dram__bytes_op_read.sum");
  CHECK(counter_on("dram_read_bytes", "AD102") == nullptr);
  CHECK(find_metric("dram__bytes") == nullptr);
}

TEST_CASE("sets of inputs are taken in turn") {
  std::string order;
  const auto next = in_turn({[&] { order += 'a'; }, [&] { order += 'b'; }, [&] { order += 'c'; }});
  for (int i = 0; i < 7; ++i) next();
  CHECK(order == "abcabca");
  CHECK_THROWS_AS(in_turn({}), InvalidParameter);
}

TEST_CASE("median and 95th percentile are those of the sorted values") {
  std::vector<double> values;
  for (int i = 20; i >= 1; --i) values.push_back(i);
  const Spread spread = spread_of(values);
  CHECK(spread.median == 10.5);
  CHECK(spread.p95 == 19);  // nearest rank: the 19th of 20
  CHECK(spread.smallest == 1);
  CHECK(spread.largest == 20);
  const std::vector<double> one = {3};
  CHECK(spread_of(one).p95 == 3);
  CHECK(spread_of(one).median == 3);
  CHECK_THROWS_AS(spread_of({}), InvalidParameter);
}

}  // namespace suite_test
