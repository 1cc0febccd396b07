#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/io/index_file.hpp>
#include <natten_sim/sim/scatter/collision_count.hpp>

#include "catch.hpp"

namespace index_stream_test {

using namespace natten_sim;

std::vector<std::int64_t> drain(IndexStream& stream, std::size_t piece = 1000) {
  std::vector<std::int64_t> all, buffer(piece);
  for (std::size_t got = 0; (got = stream.read(buffer)) > 0;)
    all.insert(all.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(got));
  return all;
}

ByteSource source(std::string text) {
  return [text, at = std::size_t{0}](std::span<char> buffer) mutable {
    const std::size_t count = std::min(buffer.size(), text.size() - at);
    std::memcpy(buffer.data(), text.data() + at, count);
    at += count;
    return count;
  };
}

std::vector<std::int64_t> parse(const std::string& text, IndexFormat format, std::int64_t rows = 100) {
  return drain(*parse_indices(source(text), format, rows, "test"));
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string npy(const std::string& descr, const std::string& shape, const std::string& data,
                bool fortran = false) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
                       ", 'shape': (" + shape + "), }\n";
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 255);
  file += static_cast<char>(header.size() >> 8);
  return file + header + data;
}

TEST_CASE("the same seed gives the same rows, whatever the pieces, another seed others") {
  for (const IndexDistribution& distribution :
       {IndexDistribution(UniformRows{}), IndexDistribution(ZipfRows{1.2})}) {
    const GeneratedIndices request{distribution, 5000, 777, 64, 11};
    GeneratedIndices other = request;
    other.seed = 12;
    const auto rows = drain(*generate_indices(request), 5000);
    CHECK(rows.size() == 5000);
    CHECK(drain(*generate_indices(request), 7) == rows);
    CHECK(drain(*generate_indices(other)) != rows);
    for (const std::int64_t row : rows) REQUIRE((row >= 0 && row < 777));
  }
}

TEST_CASE("Zipf frequencies follow 1 / k^s within five standard deviations") {
  for (const double s : {0.0, 0.5, 1.0, 1.5, 3.0}) {
    constexpr std::int64_t kRows = 50, kUpdates = 200000;
    double total = 0;
    for (int k = 1; k <= kRows; ++k) total += std::pow(k, -s);
    std::map<std::int64_t, std::int64_t> counts;
    for (const std::int64_t row : drain(*generate_indices({ZipfRows{s}, kUpdates, kRows, 64, 3})))
      ++counts[row];
    for (int k = 1; k <= kRows; ++k) {
      const double p = std::pow(k, -s) / total;
      INFO("s " << s << " row " << k);
      CHECK(std::abs(static_cast<double>(counts[k - 1]) - p * kUpdates) <=
            5 * std::sqrt(p * (1 - p) * kUpdates) + 1);
    }
  }
}

TEST_CASE("hot rows share the updates evenly and lie in distinct sectors") {
  // Rows of 8 bytes: four share a sector, so hot rows are four apart.
  std::map<std::int64_t, int> counts;
  for (const std::int64_t row : drain(*generate_indices({HotRows{5}, 1003, 20, 8, 0}))) ++counts[row];
  CHECK(counts.size() == 5);
  for (const auto& [row, count] : counts) {
    CHECK(row % 4 == 0);
    CHECK((count == 200 || count == 201));
  }
  CHECK_THROWS_AS(generate_indices({HotRows{6}, 10, 20, 8, 0}), InvalidParameter);
  CHECK(drain(*generate_indices({HotRows{20}, 20, 20, 32, 0})).back() == 19);
}

TEST_CASE("parameters out of range are refused") {
  CHECK_THROWS_AS(generate_indices({UniformRows{}, -1, 10, 64, 0}), InvalidParameter);
  CHECK_THROWS_AS(generate_indices({UniformRows{}, 10, 0, 64, 0}), InvalidParameter);
  CHECK_NOTHROW(generate_indices({UniformRows{}, 10, 10, std::int64_t{1} << 40, 0}));
  CHECK_THROWS_AS(generate_indices({UniformRows{}, 10, 10, (std::int64_t{1} << 40) + 1, 0}),
                  InvalidParameter);
  CHECK_THROWS_AS(generate_indices({ZipfRows{-0.1}, 10, 10, 64, 0}), InvalidParameter);
  CHECK_THROWS_AS(generate_indices({ZipfRows{17}, 10, 10, 64, 0}), InvalidParameter);
  CHECK_THROWS_AS(generate_indices({ZipfRows{std::nan("")}, 10, 10, 64, 0}), InvalidParameter);
  CHECK_THROWS_AS(generate_indices({HotRows{0}, 10, 10, 64, 0}), InvalidParameter);
  CHECK(drain(*generate_indices({UniformRows{}, 0, 10, 64, 0})).empty());
}

TEST_CASE("NumPy, text and raw files give their rows") {
  const std::vector<std::int64_t> rows = {3, 0, 99, 7};
  CHECK(parse(npy("<i8", "4,", bytes_of(rows)), IndexFormat::kNpy) == rows);
  CHECK(parse(npy("<i8", "2, 2", bytes_of(rows)), IndexFormat::kNpy) == rows);
  CHECK(parse(npy("<i4", "4,", bytes_of(std::vector<std::int32_t>{3, 0, 99, 7})), IndexFormat::kNpy) == rows);
  CHECK(parse(npy("|u1", "4,", bytes_of(std::vector<std::uint8_t>{3, 0, 99, 7})), IndexFormat::kNpy) == rows);
  CHECK(parse(npy("<f4", "4,", bytes_of(std::vector<float>{3, 0, 99, 7})), IndexFormat::kNpy) == rows);
  CHECK(parse(npy("<i8", "4,", bytes_of(rows), true), IndexFormat::kNpy) == rows);
  CHECK(parse(npy("<i8", "0,", ""), IndexFormat::kNpy).empty());
  CHECK(parse("3,0\n99;7\r\n", IndexFormat::kCsv) == rows);
  CHECK(parse("  3 0\t99 7", IndexFormat::kCsv) == rows);
  CHECK(parse("", IndexFormat::kCsv).empty());
  CHECK(parse("\xef\xbb\xbf"
              "3,0,99,7",
              IndexFormat::kCsv) == rows);  // a byte order mark
  CHECK(parse(bytes_of(rows), IndexFormat::kRaw) == rows);
}

void check_refused(const std::string& text, IndexFormat format, const std::string& word) {
  try {
    (void)parse(text, format);
    FAIL_CHECK("accepted; expected " << word);
  } catch (const MalformedData& error) {
    INFO(error.what());
    CHECK(std::string(error.what()).find(word) != std::string::npos);
  }
}

TEST_CASE("a byte order mark stands at the beginning only") {
  check_refused(
      "3,\xef\xbb\xbf"
      "0",
      IndexFormat::kCsv, "value 1");
}

TEST_CASE("ill-formed files are refused with the reason") {
  const std::string four = bytes_of(std::vector<std::int64_t>{3, 0, 99, 7});
  check_refused(npy("<i8", "4,", four.substr(0, 20)), IndexFormat::kNpy, "truncated behind 2 elements");
  check_refused(npy("<i8", "4,", four + "x"), IndexFormat::kNpy, "bytes behind the last element");
  check_refused(npy("<i8", "4,", four).substr(0, 30), IndexFormat::kNpy, "truncated within the header");
  check_refused("", IndexFormat::kNpy, "truncated within the header");
  check_refused("not a file of numpy", IndexFormat::kNpy, "does not start like one");
  check_refused(npy("<f8", "2,", bytes_of(std::vector<double>{1, std::nan("")})), IndexFormat::kNpy,
                "index 1 is NaN");
  check_refused(npy("<f8", "1,", bytes_of(std::vector<double>{1.5})), IndexFormat::kNpy, "1.5");
  check_refused(npy("<f8", "1,", bytes_of(std::vector<double>{HUGE_VAL})), IndexFormat::kNpy, "inf");
  check_refused(npy(">i8", "4,", four), IndexFormat::kNpy, "'>i8'");
  check_refused(npy("<c8", "4,", four), IndexFormat::kNpy, "'<c8'");
  check_refused(npy("<i8", "2, 2", four, true), IndexFormat::kNpy, "Fortran");
  check_refused(npy("<i8", "9999999999, 9999999999", four), IndexFormat::kNpy, "too large");
  check_refused(npy("<i8", "1,", bytes_of(std::vector<std::int64_t>{-4})), IndexFormat::kNpy,
                "index 0 is -4");
  check_refused(npy("<u8", "1,", bytes_of(std::vector<std::uint64_t>{~0ull})), IndexFormat::kNpy,
                "index 0 is -1");
  check_refused("3,\x1b[2J\xff", IndexFormat::kCsv, "'?[2J?'");
  check_refused("\x93NUMPY\x01\x01\x10", IndexFormat::kNpy, "does not start like one");
  check_refused("3,100", IndexFormat::kCsv, "index 1 is 100");
  check_refused("3,-1", IndexFormat::kCsv, "index 1 is -1");
  check_refused("3,nan", IndexFormat::kCsv, "'nan'");
  check_refused("3,2.5", IndexFormat::kCsv, "'2.5'");
  check_refused("99999999999999999999", IndexFormat::kCsv, "99999999999999999999");
  check_refused(std::string(11, 'x'), IndexFormat::kRaw, "");
}

std::string npy_with(const std::string& header, const std::string& data = "") {
  std::string file("\x93NUMPY\x02\x00", 8);
  for (int byte = 0; byte < 4; ++byte) file += static_cast<char>(header.size() >> (8 * byte) & 255);
  return file + header + data;
}

TEST_CASE("headers of NumPy files are read as Python reads them, in any order of keys") {
  const std::string two = bytes_of(std::vector<std::int64_t>{3, 7});
  const std::vector<std::int64_t> rows = {3, 7};
  CHECK(parse(npy_with("{'shape': (2,), 'fortran_order': False, 'descr': '<i8'}", two), IndexFormat::kNpy) ==
        rows);
  CHECK(parse(npy_with("{\"descr\":\"<i8\",\"fortran_order\":True,\"shape\":(2,),}  \n", two),
              IndexFormat::kNpy) == rows);
  CHECK(parse(npy_with("{'descr': '<i8', 'fortran_order': False, 'shape': (2, 1, 1)}", two),
              IndexFormat::kNpy) == rows);
  CHECK(parse(npy_with("{'descr': '<i8', 'fortran_order': False, 'shape': ()}", two.substr(0, 8)),
              IndexFormat::kNpy) == std::vector<std::int64_t>{3});
}

TEST_CASE("ill-formed headers of NumPy files are refused, however long") {
  const std::string start = "{'descr': '<i8', 'fortran_order': False, 'shape': ";
  for (const char* end : {"(1 0,)}", "(1)}", "(01,)}", "(-1,)}", "(1,,)}", "(,)}", "(1,", "(1,)", "(1,)} x",
                          "(1,), 'extra': 1}", "1}", "(1,) 'x'}"}) {
    check_refused(npy_with(start + end, std::string(8, '\0')), IndexFormat::kNpy,
                  "the header is not a dictionary");
  }
  check_refused(npy_with("{'descr': '<i8', 'descr': '<i4', 'fortran_order': False, 'shape': (1,)}"),
                IndexFormat::kNpy, "names 'descr' twice");
  for (const char* lacking : {"{'descr': '<i8', 'fortran_order': False}", "{}", "", "{'descr': <i8}",
                              "{'descr': '<i8', 'fortran_order': 0, 'shape': (1,)}"})
    check_refused(npy_with(lacking), IndexFormat::kNpy, "the header is not a dictionary");
  // As long as a header may be: these once overran the stack.
  const std::string rest = "', 'fortran_order': False, 'shape': (1,)}";
  check_refused(npy_with("{'descr': '" + std::string(65000, 'a') + rest), IndexFormat::kNpy,
                "elements of type 'aaaa");
  std::string axes;
  for (int axis = 0; axis < 30000; ++axis) axes += "1,";
  CHECK(parse(npy_with("{'descr': " + std::string(4000, ' ') + "'<i8', 'fortran_order': False, 'shape': (" +
                           axes + ")}",
                       std::string(8, '\0')),
              IndexFormat::kNpy) == std::vector<std::int64_t>{0});
  check_refused(npy_with(std::string(70000, ' ')), IndexFormat::kNpy, "a header of 70000 bytes");
}

TEST_CASE("collisions agree with counting by hand") {
  // 2 2 5 2 9: row 2 three times; within these 5 updates the pairs 2-2 are three.
  auto stream = parse_indices(source("2 2 5 2 9"), IndexFormat::kCsv, 10, "test");
  const CollisionCount count = count_collisions(*stream, 10);
  CHECK(count.updates == 5);
  CHECK(count.rows_touched == 3);
  CHECK(count.max_multiplicity == 3);
  CHECK(count.hottest_row == 2);
  CHECK(count.hottest_rows == 3);  // three updates and one differ by chance alone
  CHECK(count.serial_multiplicity == 3);
  CHECK(count.close_updates == 2.0 * 3 / 5);
  CHECK(count.histogram == std::vector<MultiplicityCount>{{1, 2}, {3, 1}});
}

TEST_CASE("the first and the last row of a table are rows, and no other") {
  const auto counted = [](const char* rows, std::int64_t table) {
    auto stream = parse_indices(source(rows), IndexFormat::kCsv, 100, "test");
    return count_collisions(*stream, table);
  };
  CHECK(counted("0 9 0", 10).hottest_row == 0);
  CHECK(counted("0 9 9", 10).hottest_row == 9);
  CHECK_THROWS_AS(counted("0 9", 9), InvalidParameter);
  CHECK(counted("0", 1).rows_touched == 1);
  CHECK_THROWS_AS(counted("0", 0), InvalidParameter);
}

TEST_CASE("no updates have no close ones, and as many rows as can be counted are") {
  CHECK(RowTally(3).result().close_updates == 0);
  auto stream = parse_indices(source("7 7"), IndexFormat::kCsv, kMaxRows, "test");
  CHECK(count_collisions(*stream, kMaxRows).max_multiplicity == 2);
  CHECK_THROWS_AS(count_collisions(*stream, kMaxRows + 1), InvalidParameter);
}

TEST_CASE("touched words and sectors are exact, whatever the rows' size: neighbours may share one") {
  std::uint64_t n = 0;
  const auto below = [&](std::int64_t count) { return random_below(random_bits(23, n++), count); };
  for (int repetition = 0; repetition < 300; ++repetition) {
    const std::int64_t rows = 1 + below(60), row_bytes = 1 + below(100),
                       unit_bytes = std::int64_t{1} << below(8);
    RowTally tally(rows);
    std::set<std::int64_t> units;
    for (std::int64_t update = below(40); update > 0; --update) {
      const std::int64_t row = below(rows);
      tally.add(row);
      for (std::int64_t byte = row * row_bytes; byte < (row + 1) * row_bytes; ++byte)
        units.insert(byte / unit_bytes);
    }
    INFO("repetition " << repetition << " row_bytes " << row_bytes << " unit_bytes " << unit_bytes);
    CHECK(touched_units(tally.result(), row_bytes, unit_bytes) == std::ssize(units));
  }
  CHECK_THROWS_AS(touched_units({}, 0, 4), InvalidParameter);
  CHECK_THROWS_AS(touched_units({}, 4, 0), InvalidParameter);
}

TEST_CASE("rows that only chance tells apart are equally hot") {
  // 40,000 updates of 128 rows: 312 of each, give or take 18; the hottest has some 360.
  RowTally tally(129);
  for (std::uint64_t i = 0; i < 40000; ++i) tally.add(random_below(random_bits(17, i), 128));
  for (int i = 0; i < 100; ++i) tally.add(128);  // 100 are 12 deviations below 312
  CHECK(tally.result().max_multiplicity > 340);
  CHECK(tally.result().hottest_rows >= 120);
  CHECK(tally.result().hottest_rows <= 128);
}

TEST_CASE("the serial multiplicity follows the hottest row as it changes") {
  // Rows 0, 1, 2 are hot one after the other, each for one stretch: 3 stretches serve one address each.
  RowTally tally(3);
  for (std::int64_t i = 0; i < 3 * kCollisionStretch; ++i) tally.add(i / kCollisionStretch);
  const CollisionCount count = tally.result();
  CHECK(count.max_multiplicity == kCollisionStretch);
  CHECK(count.serial_multiplicity == 3 * kCollisionStretch);
  CHECK(count.hottest_rows == 3);
}

TEST_CASE("counts of a table of few or many rows are the same, before and after it becomes an array") {
  // Of 70,000 rows an array is no larger from 16,384 touched ones on; of 2^28 it never is here.
  for (const std::int64_t rows : {std::int64_t{70000}, kMaxRows}) {
    for (const std::int64_t updates : {1, 3000, 150000}) {
      std::map<std::int64_t, std::int64_t> expected;
      RowTally tally(rows);
      const std::int64_t step = rows / 70000;
      for (std::int64_t i = 0; i < updates; ++i) {
        const std::int64_t row = random_below(random_bits(5, static_cast<std::uint64_t>(i)), 70000) * step;
        ++expected[row];
        tally.add(row);
      }
      const CollisionCount count = tally.result();
      INFO(rows << " rows, " << updates << " updates");
      std::map<std::int64_t, std::int64_t> histogram;
      std::int64_t most = 0, hottest = 0;
      for (const auto& [row, times] : expected) {
        ++histogram[times];
        if (times > most) most = times, hottest = row;
        REQUIRE(count.touched[static_cast<std::size_t>(row)]);
      }
      CHECK(count.updates == updates);
      CHECK(count.rows_touched == std::ssize(expected));
      CHECK(count.max_multiplicity == most);
      CHECK(count.hottest_row == hottest);
      CHECK(std::ssize(count.touched) == rows);
      REQUIRE(count.histogram.size() == histogram.size());
      for (const MultiplicityCount& bin : count.histogram) CHECK(bin.rows == histogram[bin.multiplicity]);
      for (std::size_t i = 0; i < count.near.size(); ++i) {
        const auto found = expected.find(count.near_first + static_cast<std::int64_t>(i));
        CHECK(count.near[i] == (found == expected.end() ? 0 : found->second));
      }
    }
  }
}

TEST_CASE("text without a value ends with an error, also where it has no end") {
  const std::string many(1 << 20, ' ');
  CHECK(parse("3" + many + "4" + many, IndexFormat::kCsv) == std::vector<std::int64_t>{3, 4});
  const auto endless = [](std::span<char> buffer) {
    std::fill(buffer.begin(), buffer.end(), '\n');
    return buffer.size();
  };
  const auto stream = parse_indices(endless, IndexFormat::kCsv, 100, "test");
  std::int64_t row = 0;
  CHECK_THROWS_AS(stream->read({&row, 1}), MalformedData);
}

}  // namespace index_stream_test
