#include <cmath>

#include <natten_sim/report/draw/text.hpp>

#include "catch.hpp"

namespace draw_text_test {

using namespace natten_sim::draw;

const std::string kReplacement = "\xEF\xBF\xBD";  // U+FFFD

TEST_CASE("markup and quotes are escaped") {
  CHECK(escape("<a href=\"x\" b='y'>&amp;") == "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;");
  CHECK(escape("plain, caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80") ==
        "plain, caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80");
}

TEST_CASE("control characters are replaced, tab and line feed stay") {
  CHECK(escape(std::string("a\0b", 3)) == "a" + kReplacement + "b");
  CHECK(escape("\x1b[31m") == kReplacement + "[31m");
  CHECK(escape("\x7f") == kReplacement);
  CHECK(escape("\xC2\x85") == kReplacement);  // U+0085
  CHECK(escape("a\tb\nc\rd") == "a\tb\nc d");
}

TEST_CASE("invalid UTF-8 is replaced byte by byte") {
  CHECK(escape("\xFF") == kReplacement);
  CHECK(escape("\x80x") == kReplacement + "x");
  CHECK(escape("\xC3") == kReplacement);                                        // cut off
  CHECK(escape("\xC0\xAF") == kReplacement + kReplacement);                     // '/' overlong
  CHECK(escape("\xE0\x80\xAF") == kReplacement + kReplacement + kReplacement);  // the same in three bytes
  CHECK(escape("\xED\xA0\x80") == kReplacement);                                // a surrogate
  CHECK(escape("\xEF\xBF\xBF") == kReplacement);                                // U+FFFF
  CHECK(escape("\xF4\x90\x80\x80") == kReplacement);                            // beyond U+10FFFF
}

TEST_CASE("a cut text fits, and a text that fits is not cut") {
  const std::string text = "head dim 128, bf16, causal";
  const double whole = text_width(text, 12);
  CHECK(shortened(text, whole, 12) == text);
  for (const double width : {30.0, 60.0, 100.0}) {
    const std::string cut = shortened(text, width, 12);
    CHECK(cut.ends_with("\u2026"));
    CHECK(text.starts_with(cut.substr(0, cut.size() - 3)));
    CHECK(text_width(cut, 12) <= width);
  }
}

TEST_CASE("wrapped lines fit and keep every word in order") {
  const std::string text =
      "input 30x48x80, window 18x24x24, stride 1x8x8, a-word-that-is-longer-than-a-line-of-it";
  std::string joined;
  for (const std::string& line : wrapped(text, 120, 12)) {
    CHECK(text_width(line, 12) <= 120);
    joined += line;
  }
  std::string without_spaces, expected;
  for (const char c : joined) without_spaces += c == ' ' ? "" : std::string(1, c);
  for (const char c : text) expected += c == ' ' ? "" : std::string(1, c);
  CHECK(without_spaces == expected);
  CHECK(wrapped("", 100, 12).empty());
}

TEST_CASE("a text twice as large is twice as wide, and bold is wider") {
  CHECK(std::abs(text_width("tokens", 24) - 2 * text_width("tokens", 12)) < 1e-9);
  CHECK(text_width("tokens", 12, true) > text_width("tokens", 12));
}

}  // namespace draw_text_test
