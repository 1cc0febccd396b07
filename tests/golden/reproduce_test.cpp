#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "places.hpp"
#include "program.hpp"

namespace reproduce_test {

using namespace natten_sim::test;

TEST_CASE(
    "all published figures are reproduced: 21 rows of tables 4.2-4.4 in both settings, ladders, figures 4.5 "
    "and 4.7") {
  const Json rows = result_of("reproduce gna")["rows"];
  std::size_t end_to_end = 0, known = 0, ladders = 0;
  for (const Json& row : rows) {
    INFO(row.dump());
    CHECK(row["verdict"] != "OUT OF TOLERANCE");
    const std::string item = row["item"].get<std::string>();
    if (item.find("stride ladder") != std::string::npos) {
      ++ladders;
      CHECK(row["published_text"] == row["ours_text"]);
      CHECK(row["published"].is_null());  // a text is no number
    } else if (item.find("dense, stride") != std::string::npos) {
      ++end_to_end;
      CHECK(row["tolerance"] == 0.0075);
      if (row["verdict"] == "known deviation") {
        ++known;
        CHECK(item.find("cosmos-predict1-7b 16x32x48") == 0);
        CHECK(item.find("stride 1x1x1") != std::string::npos);
      } else {
        CHECK(std::abs(row["deviation"].get<double>()) <= 0.0075);
      }
    }
  }
  CHECK(end_to_end == 2 * 21);
  CHECK(ladders == 5);
  CHECK(known == 2);
}

TEST_CASE("the outlier follows from 1.8 in place of 1.746 rounded") {
  // Cosmos 56%, stride 1: p = 0.587, 12 of 35 steps dense in the second setting; printed 1.35 and 1.21.
  const double p = 0.587, k = 12.0 / 35.0;
  CHECK(std::abs(1 / (1 - p + p / 1.8) - 1.35) <= 0.0075);
  CHECK(std::abs(1 / (1 - p + p * (k + (1 - k) / 1.8)) - 1.21) <= 0.0075);
  const Json result =
      result_of("count --preset cosmos-predict1-7b -w 16 32 48 --q-tile 8 4 8 --kv-tile 4 4 8");
  CHECK(std::abs(result["speedup_worst"].get<double>() - 1.746) < 0.001);
}

TEST_CASE("FlashAttention-3's deterministic backward: the stored fit repeats, and every deviation is told",
          "[.nightly][long]") {
  const Json result = result_of("reproduce dash");
  CHECK(result["out_of_tolerance"] == 0);
  std::map<std::string, std::vector<double>> ours;
  std::size_t fitted = 0;
  for (const Json& row : result["rows"]) {
    INFO(row.dump());
    const std::string figure = row["figure"].get<std::string>();
    REQUIRE(row["fitted"].is_boolean());
    if (figure.find("held out") == 0 || figure.find("zero latency") == 0) CHECK(row["fitted"] == false);
    if (figure.find("fitted: ") == 0) {
      ++fitted;
      CHECK(row["fitted"] == true);
      CHECK(row["verdict"] == "within");
    }
    // Out of tolerance, and said to be.
    const bool outside =
        !row["tolerance_of"].is_null() &&
        std::abs(row[row["tolerance_of"].get<std::string>()].get<double>()) > row["tolerance"].get<double>();
    CHECK((row["verdict"] == "known deviation") == outside);
    if (outside) CHECK(!row["note"].get<std::string>().empty());
    if (row["ours"].is_number()) ours[figure].push_back(row["ours"].get<double>());
  }
  CHECK(fitted == 3);
  // Two ratios rank: descending (464.0) below SPT (474.0), ascending (361.3) far below both.
  const std::vector<double>& ratios = ours.at("fitted: pull request 1893, over not deterministic");
  CHECK(ratios[0] < ratios[1]);
  CHECK(ratios[1] < ratios[2]);
  CHECK(ours.at("held out: pull request 2207").size() == 6);

  // Ascending, descending, SPT in the zero-latency model, by an independent simulation.
  const auto rounded = [&](const std::string& figure) {
    std::vector<long> percent;
    for (const double ratio : ours.at(figure)) percent.push_back(std::lround(100 * ratio));
    return percent;
  };
  CHECK(rounded("zero latency: pull request 1893, sections of 4") == std::vector<long>{73, 99, 94});
  CHECK(rounded("zero latency: pull request 1893, sections of 1") == std::vector<long>{59, 99, 98});
}

TEST_CASE("claims of others are scored together by factors, and what is not answered is a miss",
          "[.nightly][long]") {
  const Json rows = result_of("reproduce claims")["rows"];
  CHECK(rows.size() >= 60);
  std::size_t answered = 0, within = 0, fitted = 0;
  std::set<std::string> publishers;
  for (const Json& row : rows) {
    INFO(row.dump());
    REQUIRE(row["published"].get<double>() > 0);
    publishers.insert(row["figure"]);
    fitted += row["fitted"].get<bool>() ? 1 : 0;
    const std::string note = row["note"].get<std::string>();
    CHECK(note.find("https://") != std::string::npos);  // its own source
    CHECK(row["verdict"] == (row["ours"].is_null() ? "not answered" : "scored"));
    if (row["ours"].is_null()) {
      CHECK(note.find("not answered: ") != std::string::npos);
      continue;
    }
    ++answered;
    const double ratio = row["ours"].get<double>() / row["published"].get<double>();
    within += ratio <= 1.25 && ratio >= 0.8 ? 1 : 0;
  }
  CHECK(publishers.size() >= 5);
  CHECK(fitted >= 12);  // NATTEN's sample outputs: calibrations took them
  const std::string share = std::to_string((100 * within + rows.size() / 2) / rows.size()) + "% of all";
  const std::string text = run("reproduce claims").out;
  INFO(text);
  CHECK(text.find(std::to_string(rows.size()) + " claims, " + std::to_string(answered) + " answered") !=
        std::string::npos);
  CHECK(text.find(share) != std::string::npos);
}

TEST_CASE("the published throughputs of the training points imply a batch of 2") {
  // 5 products of 2 S^2 / 2 D FLOPs a head, 16 heads: 574.7 TFLOP/s for 2.391 ms.
  const double flops_a_batch = 5.0 * 2 * 8192 * 8192 / 2 * 128 * 16;
  CHECK(std::abs(574.7e12 * 2.391e-3 / flops_a_batch - 2) < 0.001);
}

TEST_CASE("FlashAttention's pull requests: slowdowns by determinism, and every miss with a reason") {
  const Json rows = result_of("reproduce flash-attention")["rows"];
  std::map<std::string, const Json*> with_latencies;
  for (const Json& row : rows) {
    INFO(row.dump());
    CHECK(row["fitted"] == false);
    CHECK(row["verdict"] != "OUT OF TOLERANCE");
    if (row["verdict"] == "known deviation") CHECK(!row["note"].get<std::string>().empty());
    if (row["figure"].get<std::string>().find("costs of") == 0) with_latencies[row["item"]] = &row;
  }
  CHECK(rows.size() == 2 * 26);
  REQUIRE(with_latencies.size() == 26);
  // Pull request 2567: milliseconds, deterministic over not; we are within 15% of each.
  for (const auto& [item, theirs] :
       std::map<std::string, double>{{"H20, 20 heads of 64, 1,024 tokens", 0.257 / 0.229},
                                     {"H20, 20 heads of 64, 4,096 tokens", 0.788 / 0.464},
                                     {"H20, 20 heads of 64, 16,384 tokens", 5.516 / 1.890},
                                     {"H20, 16 heads of 128 over 4, 1,024 tokens", 0.362 / 0.324},
                                     {"H20, 16 heads of 128 over 4, 4,096 tokens", 1.406 / 0.745},
                                     {"H20, 16 heads of 128 over 4, 16,384 tokens", 16.295 / 3.059}}) {
    const Json& row = *with_latencies.at(item + ", slowdown");
    INFO(item);
    const double ours = row["ours"].get<double>();
    CHECK(ours / theirs == Approx(1).margin(0.15));
    CHECK(row["note"].get<std::string>().find("mask not stated") == 0);
  }
  // Pull request 2512: a window of 512 is slower by 546% ascending and 723% descending, one of 2,048 by 142%
  // and 698%. All of them are within 25% of that.
  for (const auto& [item, more] :
       std::map<std::string, double>{{"window 512 of 4,096, ascending", 5.46},
                                     {"window 512 of 4,096, descending", 7.23},
                                     {"window 2,048 of 4,096, ascending", 1.42},
                                     {"window 2,048 of 4,096, descending", 6.98}}) {
    INFO(item);
    CHECK(with_latencies.at(item + ", slowdown")->at("ours").get<double>() / (1 + more) ==
          Approx(1).margin(0.25));
  }
}

TEST_CASE("the MSDA tables are reproduced: no unfitted point off without a stated reason",
          "[.nightly][long]") {
  const Json rows = result_of("reproduce msda")["rows"];
  const Json known = Json::parse(natten_sim::test::read_text(std::string(natten_sim::test::kSourceDir) +
                                                             "/data/msda-paper.json"))["known_deviations"];
  std::set<std::size_t> used;
  std::map<std::string, int> unfitted;
  double logs = 0;
  int cas_cells = 0;
  std::size_t judged = 0;
  for (const Json& row : rows) {
    INFO(row.dump());
    CHECK(row["verdict"] != "OUT OF TOLERANCE");
    // Tables 4, 7 and 13 repeat cells of tables 10 and 11; table 12 is rounding.
    if (row["verdict"] == "not judged" || row["verdict"] == "not predicted") continue;
    ++judged;
    REQUIRE(row.contains("fitted"));
    // Goals, recomputed: 1.5x either way under collapse and for proxies, where half is as far off as twice.
    CHECK(row["tolerance_of"] == "deviation_relative");
    const double ratio = 1 + row["deviation_relative"].get<double>(),
                 tolerance = row["tolerance"].get<double>();
    const double miss = tolerance == 0.5 ? std::max(ratio, 1 / ratio) - 1 : std::abs(ratio - 1);
    // A constant that agrees is within too, but counts for nothing.
    const bool constant = row["verdict"] == "by construction";
    if (constant) CHECK(row["note"] == "host");
    CHECK((miss <= tolerance) == (row["verdict"] == "within" || constant));
    for (std::size_t i = 0; i < known.size(); ++i) {
      const std::string note = row["note"];
      if (row["verdict"] == "known deviation" && note.ends_with(known[i]["reason"].get<std::string>()) &&
          ratio >= known[i]["ratio"][0].get<double>() && ratio <= known[i]["ratio"][1].get<double>())
        used.insert(i);
    }
    if (!row["fitted"]) ++unfitted[row["verdict"].get<std::string>()];
    if (row["verdict"] == "known deviation") CHECK_FALSE(row["fitted"].get<bool>());
    const std::string item = row["item"];
    if (row["fitted"] == true && row["figure"] == "table 10" && item.ends_with("_enc bf16 block backward")) {
      logs += std::log1p(row["deviation_relative"].get<double>());
      ++cas_cells;
    }
  }
  CHECK(judged == 380);
  CHECK(used.size() == known.size());  // no reason is left for a miss that is none any more
  // 276 and 38 while 12 cells of an H200 were fitted, 104 while eight of an H100 were. Both have the law of a
  // sweep since.
  CHECK(unfitted["by construction"] == 183);  // host latencies: no evidence
  CHECK(unfitted["within"] == 112);
  CHECK(unfitted["known deviation"] <= 40);
  // The CAS round trip is stored as the one that leaves these two cells without error in the mean.
  CHECK(cas_cells == 2);
  CHECK(std::abs(logs / 2) < 0.01);
}

}  // namespace reproduce_test
