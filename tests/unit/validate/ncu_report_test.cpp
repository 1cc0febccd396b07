// Nsight Compute's own reports: one that it wrote, reduced to what is read, and what damages them.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/record/ncu_report.hpp>

#include "catch.hpp"
#include "places.hpp"

namespace ncu_report_test {

using namespace natten_sim;
using namespace natten_sim::validate;

std::string bytes_of(const std::string& name) {
  const std::filesystem::path path =
      std::filesystem::path(natten_sim::test::kSourceDir) / "tests" / "golden" / "ncu" / name;
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  REQUIRE(!bytes.str().empty());
  return bytes.str();
}

TEST_CASE("a report of Nsight Compute says the same of a launch as the CSV made of it") {
  const auto report = parse_ncu_profile(bytes_of("attention-h200.ncu-rep"), "r");
  const auto csv = parse_ncu_profile(bytes_of("attention-h200.csv"), "c");
  REQUIRE(report.size() == 3);
  REQUIRE(csv.size() > 3);
  for (std::size_t i = 0; i < 2; ++i) {
    // Casts and namespaces are spelled out in the report only.
    const char* const name = i == 0 ? "distribution_elementwise_grid_stride_kernel" : "flash_fwd_kernel";
    CHECK(report[i].kernel.find(name) != std::string::npos);
    CHECK(csv[i].kernel.find(name) != std::string::npos);
    CHECK(report[i].grid == csv[i].grid);
    CHECK(report[i].block == csv[i].block);
    CHECK(report[i].ctas_per_sm == csv[i].ctas_per_sm);
    CHECK(report[i].sms == 132);
    CHECK(report[i].gpu == "NVIDIA H200");
    CHECK(report[i].counters.at("l2_read_sectors") == csv[i].counters.at("l2_read_sectors"));
    // The CSV has bytes in units of a GB with six decimals.
    CHECK(std::abs(report[i].counters.at("dram_read_bytes") - csv[i].counters.at("dram_read_bytes")) <= 500);
  }
  CHECK(report[1].ctas_per_sm == 2);
  CHECK(report[1].shared_bytes == 65536);
}

TEST_CASE("a report that is cut off anywhere is refused or has fewer launches, and never more") {
  const std::string whole = bytes_of("attention-h200.ncu-rep");
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    std::size_t launches = 0;
    try {
      launches = parse_ncu_report(whole.substr(0, size), "r").size();
    } catch (const MalformedData&) {
    }
    CHECK(launches < 3);
  }
  CHECK_THROWS_AS(parse_ncu_report("no report", "r"), MalformedData);
  CHECK_FALSE(is_ncu_report("\"ID\",\"Kernel Name\"\n"));
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value % 0x80 + 0x80);
  return bytes + static_cast<char>(value);
}

/// Behind its length of 32 bits.
std::string sized(const std::string& part) {
  std::string bytes;
  for (std::size_t i = 0; i < 4; ++i) bytes += static_cast<char>(part.size() >> 8 * i & 0xff);
  return bytes + part;
}

/// A report of one block that says it has so many results.
std::string report_of(std::uint64_t results, const std::string& payload, const std::string& strings = "") {
  const std::string table = strings.empty() ? "" : "\x22" + varint(strings.size()) + strings;  // field 4
  return std::string("NVR\0", 4) + sized("") +
         sized("\x10" + varint(results) + table + "\x28" + varint(payload.size())) + payload;  // 2 and 5
}

void check_report_refused(const std::string& report, const std::string& word) {
  try {
    (void)parse_ncu_report(report, "r.ncu-rep");
    FAIL_CHECK("accepted; expected " << word);
  } catch (const MalformedData& error) {
    INFO(error.what());
    CHECK(std::string(error.what()).starts_with("r.ncu-rep, byte "));
    CHECK(std::string(error.what()).find(word) != std::string::npos);
  }
}

TEST_CASE("few bytes of a report do not become many of memory: results and names have a bound") {
  const std::string name = "\x32\x01k";  // of the function, field 6
  const auto launches = parse_ncu_report(report_of(2, sized(name) + sized(name)), "r");
  REQUIRE(launches.size() == 2);
  CHECK(launches[1].kernel == "k");
  check_report_refused(report_of(2, sized(name) + sized("")), "an empty result");
  check_report_refused(report_of(kMaxLaunches + 1, sized(name)), "at most 1048576 results");
  std::string names;  // of metrics, without a letter
  for (std::size_t i = 0; i <= std::size_t{1} << 20; ++i) names += std::string("\x0a\x00", 2);
  check_report_refused(report_of(1, sized(name), names), "at most 1048576 names");
}

TEST_CASE("grids, shared memory and limits are read from either page of the CSV") {
  const std::string header =
      "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Metric Name\",\"Metric Unit\",\"Metric "
      "Value\"\n";
  const std::string row = "\"0\",\"f\",\"(128, 1, 1)\",\"(64, 2, 4)\",";
  const auto details =
      parse_ncu_csv(header + row + "\"Dynamic Shared Memory Per Block\",\"Kbyte/block\",\"65.536\"\n" + row +
                        "\"Block Limit Registers\",\"block\",\"3\"\n" + row +
                        "\"Block Limit Warps\",\"block\",\"16\"\n" + row + "\"# SMs\",\"SM\",\"132\"\n",
                    "d");
  REQUIRE(details.size() == 1);
  CHECK(details[0].grid == std::array<std::int64_t, 3>{64, 2, 4});
  CHECK(details[0].block == std::array<std::int64_t, 3>{128, 1, 1});
  CHECK(details[0].shared_bytes == 65536);
  CHECK(details[0].ctas_per_sm == 3);
  CHECK(details[0].sms == 132);
}

}  // namespace ncu_report_test
