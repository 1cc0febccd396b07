#include <natten_sim/report/text_table.hpp>

#include "catch.hpp"

namespace text_table_test {

using natten_sim::report::wrapped_text;

TEST_CASE("numbers have three digits, and from 1,000 on all before the point") {
  CHECK(natten_sim::report::short_text(0.01234) == "0.0123");
  CHECK(natten_sim::report::short_text(37.84) == "37.8");
  CHECK(natten_sim::report::short_text(999.4) == "999");
  CHECK(natten_sim::report::short_text(999.6) == "1,000");
  CHECK(natten_sim::report::short_text(3782.54) == "3,783");
  CHECK(natten_sim::report::short_text(-12345.4) == "-12,345");
  CHECK(natten_sim::report::short_text(1e20) == "1e+20");
}

TEST_CASE("a text is wrapped between words, and what goes on is indented") {
  CHECK(wrapped_text("one two three", 20) == "one two three\n");
  CHECK(wrapped_text("one two three", 9) == "one two\n    three\n");
  CHECK(wrapped_text("one two three", 7) ==
        "one two\n    three\n");                              // a word longer than the rest of its line
  CHECK(wrapped_text("  one two", 7) == "  one\n    two\n");  // its own indent stays
  CHECK(wrapped_text("incomprehensible two", 5) == "incomprehensible\n    two\n");
  CHECK(wrapped_text("", 9) == "\n");
}

}  // namespace text_table_test
