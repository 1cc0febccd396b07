// Nsight Compute's CSV in its two shapes, and what it may be damaged by.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/record/measured_runs.hpp>
#include <natten_sim/validate/record/ncu_csv.hpp>

#include "catch.hpp"
#include "places.hpp"

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

TEST_CASE("numbers that no locale prints, and units of nothing, are refused") {
  for (const char* value : {",123", "1,,234", "1,234,56", "-1", "1e30", "inf", "0x10", "1.2.3", "+1"}) {
    INFO(value);
    CHECK_THROWS_AS(dram_bytes("byte", value), MalformedData);
  }
  for (const char* unit : {"", "%", "sector", "Kibyte", "kbyte", "bytes", "ns", "K"}) {
    INFO(unit);
    CHECK_THROWS_AS(dram_bytes(unit, "1"), MalformedData);
  }
}

/// A details page with these rows of "metric,unit,value".
std::vector<ProfiledLaunch> launches_of(const std::vector<std::array<std::string, 3>>& rows,
                                        std::optional<DecimalMark> decimal = {}) {
  std::string text;
  for (const auto& [metric, unit, value] : rows)
    text += "\"0\",\"1\",\"k\",\"" + metric + "\",\"" + unit + "\",\"" + value + "\"\n";
  return parse_ncu_csv(details(text), "p.csv", decimal);
}

TEST_CASE("the decimal mark is decided once for a file, from all its values") {
  // 1.234,5 has one reading; so the point of the first row separates thousands.
  const auto european = launches_of(
      {{"gpu__time_duration.sum", "us", "351.328"}, {"dram__bytes_read.sum", "Mbyte", "1.234,5"}})[0];
  CHECK(european.counters.at("gpu_time_ns") == 351328e3);
  CHECK(european.counters.at("dram_read_bytes") == 1234.5e6);
  const auto english =
      launches_of({{"gpu__time_duration.sum", "us", "351.328"}, {"some__metric.avg", "", "0.5"}})[0];
  CHECK(english.counters.at("gpu_time_ns") == 351328);
  // A number of the other locale in the same file is no number.
  CHECK_THROWS_AS(launches_of({{"some__metric.avg", "", "0.5"}, {"dram__bytes_read.sum", "byte", "1.234,5"}}),
                  MalformedData);
}

TEST_CASE("whole units decide where digits do not: 351.328 ns are 351 thousand") {
  CHECK(launches_of({{"gpu__time_duration.sum", "ns", "351.328"}})[0].counters.at("gpu_time_ns") == 351328);
  CHECK(launches_of({{"gpu__time_duration.sum", "ns", "351,328"}})[0].counters.at("gpu_time_ns") == 351328);
  // No CTA has 65 MB of shared memory.
  CHECK(launches_of({{"Dynamic Shared Memory Per Block", "Kbyte/block", "65,536"}})[0].shared_bytes == 65536);
}

TEST_CASE("where nothing decides, the file is refused by the name of the option, which then decides") {
  const std::vector<std::array<std::string, 3>> rows = {{"gpu__time_duration.sum", "us", "351.328"}};
  try {
    (void)launches_of(rows);
    FAIL("accepted");
  } catch (const MalformedData& error) {
    CHECK(std::string(error.what()).find("decimal") != std::string::npos);
    CHECK(std::string(error.what()).find("p.csv:2") != std::string::npos);
  }
  CHECK(launches_of(rows, DecimalMark::kPoint)[0].counters.at("gpu_time_ns") == 351328);
  CHECK(launches_of(rows, DecimalMark::kComma)[0].counters.at("gpu_time_ns") == 351328e3);
  // Units that tell both are a doubt too.
  CHECK_THROWS_AS(
      launches_of({{"gpu__time_duration.sum", "ns", "351.328"}, {"dram__bytes_read.sum", "byte", "1,234"}}),
      MalformedData);
}

TEST_CASE("a metric's row may end after its value, where rows of rules fill all columns") {
  const std::string header =
      "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\",\"Rule Name\",\"Rule Type\"\n";
  const std::string rule = "\"0\",\"k\",\"\",\"\",\"\",\"Occupancy\",\"OPT\"\n";
  for (const char* end : {"", ",", ",,"}) {
    const std::string row = "\"0\",\"k\",\"dram__bytes_read.sum\",\"Gbyte\",\"0.084036\"" + std::string(end);
    const auto launches = parse_ncu_csv(header + row + "\n" + rule, "p.csv");
    REQUIRE(launches.size() == 1);
    CHECK(launches[0].counters.at("dram_read_bytes") == Approx(84036e3));
  }
  CHECK_THROWS_AS(parse_ncu_csv(header + "\"0\",\"k\",\"dram__bytes_read.sum\",\"Gbyte\"\n", "p.csv"),
                  MalformedData);
  CHECK_THROWS_AS(parse_ncu_csv(header + rule.substr(0, rule.size() - 1) + ",\"more\"\n", "p.csv"),
                  MalformedData);
}

TEST_CASE("lines that are no rows are skipped before, between and after the table") {
  const std::string rows = details("0,1,k,dram__bytes_read.sum,byte,10\n");
  for (const char* line :
       {"Done, in 3 s\n", "Loss 0.5\n", "==PROF== Disconnected, \"bye\n", "a \" quote\n", "100\n"}) {
    INFO(line);
    const auto launches = parse_ncu_csv(line + rows + line, "p.csv");
    REQUIRE(launches.size() == 1);
    CHECK(launches[0].counters.at("dram_read_bytes") == 10);
  }
}

TEST_CASE("values by instance, in parentheses after the sum, are left out") {
  CHECK(launches_of({{"dram__bytes_read.sum", "Gbyte", "0.084 (1; 2; 3)"}})[0].counters.at(
            "dram_read_bytes") == Approx(84e6));
  const std::string raw = "\"ID\",\"Kernel Name\",\"dram__bytes_read.sum\"\n\"\",\"\",\"byte\"\n";
  CHECK(parse_ncu_csv(raw + "\"0\",\"k\",\"6 (1; 2; 3)\"\n", "p.csv")[0].counters.at("dram_read_bytes") == 6);
}

TEST_CASE("semicolons and tabs separate cells as well as commas") {
  for (const char separator : {';', '\t'}) {
    std::string text = details("0,1,k,dram__bytes_read.sum,Kbyte,1.5\n");
    std::replace(text.begin(), text.end(), ',', separator);
    CHECK(parse_ncu_csv(text, "p.csv")[0].counters.at("dram_read_bytes") == 1500);
    std::string raw = kRaw;
    std::replace(raw.begin(), raw.end(), ',', separator);
    CHECK(parse_ncu_csv(raw, "p.csv")[1].counters.at("l2_read_sectors") == 300);
  }
  // So decimal commas need no quotes.
  const std::string european =
      "ID;Process ID;Kernel Name;Metric Name;Metric Unit;Metric "
      "Value\n0;1;k;dram__bytes_read.sum;Mbyte;1,5\n";
  CHECK(parse_ncu_csv(european, "p.csv")[0].counters.at("dram_read_bytes") == 1.5e6);
}

TEST_CASE("metrics that count the same by another name are kept") {
  const auto sectors = launches_of({{"dram__sectors_read.sum", "sector", "10"},
                                    {"dram__sectors_write.sum", "Ksector", "2"},
                                    {"Duration", "ms", "7.90"}})[0];
  CHECK(sectors.counters.at("dram_read_bytes") == 320);
  CHECK(sectors.counters.at("dram_write_bytes") == 64000);
  CHECK(sectors.counters.at("gpu_time_ns") == Approx(7.9e6));
  // The bytes themselves come first, wherever they stand.
  const std::array<std::string, 3> bytes = {"dram__bytes_read.sum", "byte", "321"};
  const std::array<std::string, 3> of_sectors = {"dram__sectors_read.sum", "sector", "10"};
  CHECK(launches_of({bytes, of_sectors})[0].counters.at("dram_read_bytes") == 321);
  CHECK(launches_of({of_sectors, bytes})[0].counters.at("dram_read_bytes") == 321);
}

TEST_CASE("bytes read and written together are kept, and tell the reads beside the writes") {
  const auto alone = launches_of({{"dram__bytes.sum", "byte", "100"}})[0];
  CHECK(alone.dram_bytes == 100);
  CHECK(alone.counters.empty());
  const auto both =
      launches_of({{"dram__bytes.sum", "byte", "100"}, {"dram__bytes_write.sum", "byte", "30"}})[0];
  CHECK(both.counters.at("dram_read_bytes") == 70);
  CHECK(profiled_kernels({alone})[0].dram_bytes == 100);
}

TEST_CASE("measured runs take their time from a details page's Duration, and from a report") {
  const std::string page =
      "\"ID\",\"Kernel Name\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
      "\"1\",\"FnaForward\",\"GPU Speed Of Light Throughput\",\"Duration\",\"ms\",\"7.90\"\n";
  std::vector<KernelRun> runs(1);
  add_measured_times(page, "p.csv", "Fna", runs);
  CHECK(runs[0].ms == Approx(7.90));
  std::vector<KernelRun> of_report(1);
  const std::string path = std::string(natten_sim::test::kSourceDir) + "/tests/golden/ncu/attention-h200.ncu-rep";
  add_measured_times(read_text("times", path), path, "flash_fwd_kernel", of_report);
  CHECK(of_report[0].ms.value() > 0);
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
