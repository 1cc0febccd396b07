#include <natten_sim/report/text_table.hpp>

#include "catch.hpp"

namespace text_table_test {

using natten_sim::report::wrapped_text;

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
