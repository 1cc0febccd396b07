// CSV and numbers as locales print them.
#include <string>
#include <vector>

#include <natten_sim/io/csv_text.hpp>

#include "catch.hpp"

namespace csv_text_test {

using namespace natten_sim;
using Kind = DecimalEvidence::Kind;
using Cells = std::vector<std::string>;

TEST_CASE("cells are split at their separator, outside quotes") {
  CHECK(csv_cells("a,b,,c") == Cells{"a", "b", "", "c"});
  CHECK(csv_cells("\"a,b\",\"say \"\"x\"\"\"") == Cells{"a,b", "say \"x\""});
  CHECK(csv_cells("a;b,c;", ';') == Cells{"a", "b,c", ""});
  CHECK(csv_cells("a\tb", '\t') == Cells{"a", "b"});
  CHECK_FALSE(csv_cells("a,\"b").has_value());
}

TEST_CASE("a number decides its locale, leaves it in doubt, or says nothing of it") {
  const auto point = DecimalMark::kPoint, comma = DecimalMark::kComma;
  for (const char* text :
       {"0.084", "1.5", "1,234.5", "1234.567", "1,234,567", "0.351", "1 234.5", "32.000000"}) {
    INFO(text);
    CHECK(decimal_evidence(text) == DecimalEvidence{Kind::kDecided, point});
  }
  for (const char* text : {"0,084", "1,5", "1.234,5", "1234,567", "1.234.567", "1\u202f234,5"}) {
    INFO(text);
    CHECK(decimal_evidence(text) == DecimalEvidence{Kind::kDecided, comma});
  }
  CHECK(decimal_evidence("1,234") == DecimalEvidence{Kind::kDoubtful, point});
  CHECK(decimal_evidence("351.328") == DecimalEvidence{Kind::kDoubtful, comma});
  for (const char* text : {"", "12", "1 234", "n/a", "12.8.1", "1,,2", ".", "-1.5", "1.2e"}) {
    INFO(text);
    CHECK(decimal_evidence(text).kind == Kind::kNothing);
  }
}

TEST_CASE("numbers are read by one decimal mark, whatever separates thousands") {
  const auto point = [](const char* text) { return localised_number(text, DecimalMark::kPoint); };
  const auto comma = [](const char* text) { return localised_number(text, DecimalMark::kComma); };
  CHECK(point("7") == 7);
  CHECK(point("1,234,567.5") == 1234567.5);
  CHECK(point("1234567.5") == 1234567.5);
  CHECK(point("351.328") == 351.328);
  CHECK(point("1.0496e-05") == 1.0496e-05);
  CHECK(comma("1,5E+3") == 1500);
  CHECK(comma("351.328") == 351328);
  CHECK(comma("1.234,5") == 1234.5);
  CHECK(comma("1 234,5") == 1234.5);
  CHECK(comma("1\u00a0234\u00a0567") == 1234567);
  CHECK(point("1'234.5") == 1234.5);
  CHECK(point("1\u2019234.5") == 1234.5);
  for (const char* text : {"", "1.234,5", "1,5", "12,34", ",123", "1234,567", "1,,234", "1,234,56", "-1",
                           "1e", "inf", "0x10", "1.2.3", "+1", "1.", "."}) {
    INFO(text);
    CHECK_FALSE(point(text).has_value());
  }
}

}  // namespace csv_text_test
