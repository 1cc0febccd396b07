// Nsight Compute's CSV in its two shapes, and what it may be damaged by.
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/record/ncu_csv.hpp>

#include "catch.hpp"

namespace ncu_csv_test {

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

std::string details(const std::string& rows) {
  return "\"ID\",\"Process ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n" + rows;
}

double dram_bytes(const std::string& unit, const std::string& value) {
  return parse_ncu_csv(details("0,1,k,dram__bytes_read.sum,\"" + unit + "\",\"" + value + "\"\n"), "p.csv")
      .at(0)
      .counters.at("dram_read_bytes");
}

TEST_CASE("units are decimal multiples, thousands have commas") {
  CHECK(dram_bytes("byte", "1,234,567") == 1234567);
  CHECK(dram_bytes("byte", "1234567") == 1234567);
  CHECK(dram_bytes("Kbyte", "1.5") == 1500);
  CHECK(dram_bytes("Mbyte", "1,234.567") == 1234567000);
  CHECK(dram_bytes("Gbyte", "2") == 2e9);
  CHECK(dram_bytes("Tbyte", "0.5") == 5e11);
  CHECK(dram_bytes("byte", "0") == 0);
}

TEST_CASE("a count beyond 64 bits is refused, before and after its unit") {
  CHECK(dram_bytes("Tbyte", "9000000") == 9e18);
  CHECK_THROWS_AS(dram_bytes("Tbyte", "9000001"), MalformedData);
  CHECK_THROWS_AS(dram_bytes("byte", "9100000000000000000"), MalformedData);
}

TEST_CASE("a decimal comma is refused, not read as thousands") {
  for (const char* value : {"1.234,5", "1,5", "12,34", ",123", "1234,567", "1,2345", "1,,234", "1,234,56",
                            "-1", "1e30", "inf", "0x10", "1 234", "1.2.3", "+1"}) {
    INFO(value);
    CHECK_THROWS_AS(dram_bytes("byte", value), MalformedData);
  }
  for (const char* unit : {"", "%", "sector", "Kibyte", "kbyte", "bytes", "ns", "K"}) {
    INFO(unit);
    CHECK_THROWS_AS(dram_bytes(unit, "1"), MalformedData);
  }
}

TEST_CASE("percent becomes a fraction, any time nanoseconds") {
  const auto launch = parse_ncu_csv(details("0,1,k,sm__warps_active.avg.pct_of_peak_sustained_active,%,12.5\n"
                                            "0,1,k,gpu__time_duration.sum,msecond,2\n"),
                                    "p.csv")
                          .at(0);
  CHECK(launch.counters.at("active_warps_fraction") == 0.125);
  CHECK(launch.counters.at("gpu_time_ns") == 2e6);
}

TEST_CASE("a byte order mark, CRLF, blank lines and ncu's own lines do not matter") {
  std::string text =
      "\xef\xbb\xbf" + kDetails.substr(kDetails.find('\n') + 1) + "\n==WARNING== \"Found no unclosed quote\n";
  std::string crlf;
  for (const char c : text) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  const auto launches = parse_ncu_csv(crlf, "p.csv");
  REQUIRE(launches.size() == 2);
  CHECK(launches[0].counters.at("dram_read_bytes") == 1234.5e6);
  CHECK(launches[1].counters.size() == 1);
  // What the program printed before the header is none of ncu's.
  CHECK(parse_ncu_csv("a \" quote, \"ID\", Kernel Name\n" + kRaw, "p.csv").size() == 2);
}

TEST_CASE("metrics that ncu could not read are absent") {
  for (const char* value : {"n/a", "nan", ""}) {
    const auto launches = parse_ncu_csv(details(std::string("0,1,k,dram__bytes_read.sum,byte,") + value +
                                                "\n0,1,k,gpu__time_duration.sum,ns,5\n"),
                                        "p.csv");
    REQUIRE(launches.size() == 1);
    CHECK(launches[0].counters.size() == 1);
  }
}

TEST_CASE("launches of two processes, or of two profiles in one file, are not mixed") {
  const std::string rows =
      "0,1,k,dram__bytes_read.sum,byte,10\n0,1,k,gpu__time_duration.sum,ns,1\n0,2,k,dram__bytes_read.sum,"
      "byte,30\n";
  CHECK(parse_ncu_csv(details(rows), "p.csv").size() == 2);
  CHECK(parse_ncu_csv(details(rows) + details(rows), "p.csv").size() == 4);
  CHECK(parse_ncu_csv(kRaw + kRaw, "p.csv").size() == 4);
  const std::string same_id = "\"0\",\"flash_fwd\",\"3\",\"5\"\n";
  CHECK(parse_ncu_csv(kRaw + same_id + same_id, "p.csv").size() == 4);
}

TEST_CASE("launches of several kernels are not averaged") {
  const Point point = parse_point_words({"tokens=100", "head_dim=64", "q_tile=64", "kv_tile=64",
                                         "ctas_per_sm=1", "schedule=grid", "order=cyclic"});
  const auto launches = parse_ncu_csv(kDetails, "p.csv");
  CHECK_THROWS_AS(row_of_launches(launches, "", point), InvalidParameter);
  CHECK(row_of_launches(launches, "copy", point).counters.at("dram_read_bytes").spread.median == 7);
  CHECK_THROWS_AS(row_of_launches({}, "", point), InvalidParameter);
  CHECK_THROWS_AS(row_of_launches({{"k", "0", {}}}, "", point), InvalidParameter);
}

TEST_CASE("damaged profiles are refused, never read wrongly") {
  CHECK_THROWS_AS(parse_ncu_csv("", "p.csv"), MalformedData);
  CHECK_THROWS_AS(parse_ncu_csv("hello\nworld\n", "p.csv"), MalformedData);
  const std::string header = kRaw.substr(0, kRaw.find('\n') + 1);
  CHECK(parse_ncu_csv(header, "p.csv").empty());
  CHECK_THROWS_AS(parse_ncu_csv(header + "\"0\",\"k\",\"1\",\"2\"\n", "p.csv"), MalformedData);  // no units
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

}  // namespace ncu_csv_test
