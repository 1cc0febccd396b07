// Nsight Compute's CSV in its two shapes, and what it may be damaged by.
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/ncu_csv.hpp>

#include "catch.hpp"

namespace {

using namespace natten_sim;
using namespace natten_sim::validate;

const std::string kDetails =
    "==PROF== Connected to process 1\n"
    "\"ID\",\"Process ID\",\"Kernel Name\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric "
    "Value\"\n"
    "\"0\",\"1\",\"flash_fwd<A, \"\"B\"\">\",\"Command line profiler "
    "metrics\",\"dram__bytes_read.sum\",\"Mbyte\",\"1,234.5\"\n"
    "\"0\",\"1\",\"flash_fwd<A, \"\"B\"\">\",\"Command line profiler "
    "metrics\",\"some__other.sum\",\"inst\",\"nan\"\n"
    "\"0\",\"1\",\"flash_fwd<A, \"\"B\"\">\",\"Command line profiler "
    "metrics\",\"gpu__time_duration.sum\",\"us\",\"2\"\n"
    "\"1\",\"1\",\"copy\",\"Command line profiler metrics\",\"dram__bytes_read.sum\",\"byte\",\"7\"\n";

const std::string kRaw =
    "\"ID\",\"Kernel Name\",\"dram__bytes_read.sum\",\"l1tex__m_xbar2l1tex_read_sectors.sum\"\n"
    "\"\",\"\",\"Kbyte\",\"sector\"\n"
    "\"0\",\"flash_fwd\",\"1.5\",\"100\"\n"
    "\"1\",\"flash_fwd\",\"2.5\",\"300\"\n";

TEST_CASE("the details page has a row a metric, scaled units and thousands are understood") {
  const auto launches = parse_ncu_csv(kDetails, "p.csv");
  REQUIRE(launches.size() == 2);
  CHECK(launches[0].kernel == "flash_fwd<A, \"B\">");
  CHECK(launches[0].counters.at("dram_read_bytes") == 1234.5e6);
  CHECK(launches[0].counters.at("gpu_time_ns") == 2000);
  CHECK(launches[0].counters.size() == 2);
  CHECK(launches[1].counters.at("dram_read_bytes") == 7);
}

TEST_CASE("the raw page has a column a metric and a row of units") {
  const auto launches = parse_ncu_csv(kRaw, "p.csv");
  REQUIRE(launches.size() == 2);
  CHECK(launches[1].counters.at("dram_read_bytes") == 2500);
  CHECK(launches[1].counters.at("l2_read_sectors") == 300);
}

TEST_CASE("launches of one kernel become one row with their median") {
  const Point point = parse_point_words({"tokens=100", "head_dim=64", "q_tile=64", "kv_tile=64",
                                         "ctas_per_sm=1", "schedule=grid", "order=cyclic"});
  const RecordedRow row = row_of_launches(parse_ncu_csv(kRaw, "p.csv"), "flash", point);
  CHECK(row.counters.at("l2_read_sectors").spread.median == 200);
  CHECK(row.counters.at("l2_read_sectors").repetitions == 2);
  CHECK_THROWS_AS(row_of_launches(parse_ncu_csv(kRaw, "p.csv"), "no such", point), InvalidParameter);
}

TEST_CASE("damaged profiles are refused, never read wrongly") {
  CHECK_THROWS_AS(parse_ncu_csv("", "p.csv"), MalformedData);
  CHECK_THROWS_AS(parse_ncu_csv("hello\nworld\n", "p.csv"), MalformedData);
  const std::string header = kRaw.substr(0, kRaw.find('\n') + 1);
  CHECK(parse_ncu_csv(header, "p.csv").empty());
  const std::string units = "\"\",\"\",\"Kbyte\",\"sector\"\n";
  CHECK_THROWS_AS(parse_ncu_csv(header + units + "\"0\",\"k\",\"1\"\n", "p.csv"), MalformedData);
  CHECK_THROWS_AS(parse_ncu_csv(header + units + "\"0\",\"k\",\"1x\",\"2\"\n", "p.csv"), MalformedData);
  CHECK_THROWS_AS(parse_ncu_csv(header + units + "\"0\",\"k\",\"1\",\"2\n", "p.csv"), MalformedData);
  CHECK_THROWS_AS(
      parse_ncu_csv(header + "\"\",\"\",\"furlong\",\"sector\"\n\"0\",\"k\",\"1\",\"2\"\n", "p.csv"),
      MalformedData);
  // Every truncation is either refused or read as far as it goes.
  for (std::size_t n = 0; n < kDetails.size(); ++n) {
    std::size_t launches = 0;
    try {
      launches = parse_ncu_csv(std::string_view(kDetails).substr(0, n), "p.csv").size();
    } catch (const MalformedData&) {
    }
    CHECK(launches <= 2);
  }
}

}  // namespace
