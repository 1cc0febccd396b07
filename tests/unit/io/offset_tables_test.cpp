// Attention by offset from NumPy files: each form, and what is no table.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/offset_tables.hpp>

#include "catch.hpp"
#include "places.hpp"

namespace offset_tables_test {

using namespace natten_sim;

template <typename T>
std::string npy(const std::string& type, const std::string& shape, const std::vector<T>& values) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(117, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size());
  file += '\0';
  file += header;
  file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return file;
}

ByteSource bytes_of(std::string text) {
  return [text = std::move(text), at = std::size_t{0}](std::span<char> buffer) mutable {
    const std::size_t some = std::min(buffer.size(), text.size() - at);
    std::memcpy(buffer.data(), text.data() + at, some);
    at += some;
    return some;
  };
}

TEST_CASE(
    "tables come head by head, with layers or without, of 32 or 64 bits, whole or as factors of the axes") {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};
  OffsetTables whole(bytes_of(npy("<f8", "(2, 3, 3)", values)), {2, 2}, "t.npy");
  CHECK(whole.layers() == 1);
  CHECK(whole.heads() == 2);
  CHECK_FALSE(whole.product());
  CHECK(whole.next() == std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(whole.next() == std::vector<double>{10, 11, 12, 13, 14, 15, 16, 17, 18});
  const std::vector<float> floats(values.begin(), values.end());
  OffsetTables factors(bytes_of(npy("<f4", "(3, 1, 6)", floats)), {2, 2}, "t.npy");
  CHECK(factors.layers() == 3);
  CHECK(factors.heads() == 1);
  CHECK(factors.product());
  CHECK(factors.next() == std::vector<double>{1, 2, 3, 4, 5, 6});
  OffsetTables axis(bytes_of(npy("<f8", "(6, 3)", values)), {2}, "t.npy");
  CHECK(axis.heads() == 6);
  CHECK(axis.next() == std::vector<double>{1, 2, 3});
}

TEST_CASE("what is no table of the layout, or no attention, is refused") {
  const std::vector<double> nine(9, 1.0);
  const auto open = [](const std::string& file, const Extents& layout) {
    return OffsetTables(bytes_of(file), layout, "t.npy");
  };
  CHECK_THROWS_AS(open(npy("<f8", "(3, 3)", nine), {2, 2}), MalformedData);     // no heads
  CHECK_THROWS_AS(open(npy("<f8", "(1, 3, 3)", nine), {3, 3}), MalformedData);  // of another layout
  CHECK_THROWS_AS(open(npy("<f8", "(1, 1, 1, 3, 3)", nine), {2, 2}), MalformedData);
  CHECK_THROWS_AS(open(npy("<f8", "(0, 3, 3)", std::vector<double>{}), {2, 2}), MalformedData);
  CHECK_THROWS_AS(open(npy("<i8", "(1, 3, 3)", std::vector<std::int64_t>(9, 1)), {2, 2}), MalformedData);
  CHECK_THROWS_AS(open("no NumPy file at all", {2, 2}), MalformedData);
  for (const double bad : {-1.0, static_cast<double>(INFINITY), static_cast<double>(NAN)}) {
    std::vector<double> values = nine;
    values[4] = bad;
    CHECK_THROWS_AS(open(npy("<f8", "(1, 3, 3)", values), {2, 2}).next(), MalformedData);
  }
  CHECK_THROWS_AS(open(npy("<f8", "(1, 3, 3)", std::vector<double>(9, 0.0)), {2, 2}).next(), MalformedData);
  OffsetTables cut = open(npy("<f8", "(2, 3, 3)", nine), {2, 2});  // half of what it promises
  CHECK(cut.next() == nine);
  CHECK_THROWS_AS(cut.next(), MalformedData);
  CHECK_THROWS_AS(OffsetTables("recall", "/nonexistent/t.npy", {2, 2}), InvalidParameter);
}

/// Each head's attention fades as exp(-distance / rate) on every axis.
void check_fading(const std::string& file, const Extents& layout, const std::vector<double>& rates) {
  OffsetTables tables("recall", std::string(natten_sim::test::kSourceDir) + "/" + file, layout);
  CHECK(tables.product());
  REQUIRE(tables.layers() * tables.heads() == rates.size());
  for (const double rate : rates) {
    const std::vector<double> factors = tables.next();
    std::size_t at = 0;
    for (const std::int64_t length : layout) {
      for (std::int64_t offset = 1 - length; offset < length; ++offset)
        CHECK(factors.at(at++) == Approx(std::exp(-std::abs(static_cast<double>(offset)) / rate)).epsilon(1e-6));
    }
    CHECK(at == factors.size());
  }
}

TEST_CASE("the tables of docs/recall.md and of the tests hold what they are said to hold") {
  std::vector<double> rates;
  for (int head = 0; head < 24; ++head) rates.push_back(std::pow(12, head / 23.0));
  check_fading("docs/hunyuan-attention.npy", {30, 48, 80}, rates);
  check_fading("tests/data/attention.npy", {64, 64}, {2, 20});
}

}  // namespace offset_tables_test
