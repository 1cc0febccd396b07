#include <natten_sim/report/draw/html_page.hpp>

#include "catch.hpp"
#include "unit/report/draw_document.hpp"

namespace draw_html_page_test {

using namespace natten_sim::draw;
using natten_sim::test::count_of;
using natten_sim::test::read_xml;

std::string page(const std::string& text) {
  Document document(text);
  document.text(5, 15, text, {});
  HtmlPage page(text);
  page.heading(text)
      .heading(text, 3)
      .paragraph(text)
      .preformatted(text)
      .list({text, text})
      .picture(std::move(document).finish(100, 20), text);
  page.table({{text, "points"}, {{{text, "12"}, RowTone::kFailure}, {{text}}}, {false, true}});
  return std::move(page).finish();
}

TEST_CASE("text of any kind leaves a page well formed") {
  const std::string hostile = std::string("</pre><script>alert('x')</script>&\"\0\xff", 37);
  const auto elements = read_xml(page(hostile));
  CHECK(count_of(elements, "script") == 0);
  CHECK(count_of(elements, "pre") == 1);
  CHECK(page("a") == page("a"));
}

TEST_CASE("a page holds what was added, in order") {
  const auto elements = read_xml(page("text"));
  CHECK(count_of(elements, "h1") == 1);
  CHECK(count_of(elements, "h2") == 1);
  CHECK(count_of(elements, "h3") == 1);
  CHECK(count_of(elements, "li") == 2);
  CHECK(count_of(elements, "svg") == 1);
  CHECK(count_of(elements, "tr") == 3);
  CHECK(count_of(elements, "tr", "failure") == 1);
  CHECK(count_of(elements, "td", "number") == 1);
  CHECK(count_of(elements, "th", "number") == 1);
}

TEST_CASE("a page loads nothing: no link, script, image or address but the namespace of SVG") {
  const std::string html = page("text");
  for (const char* const name : {"link", "script", "img", "iframe"})
    CHECK(count_of(read_xml(html), name) == 0);
  CHECK(html.find("url(") == std::string::npos);
  CHECK(html.find("@import") == std::string::npos);
  std::size_t addresses = 0;
  for (std::size_t at = html.find("://"); at != std::string::npos; at = html.find("://", at + 1)) ++addresses;
  CHECK(addresses == 1);
}

TEST_CASE("a page has the palette's colours in both schemes") {
  const std::string html = page("text");
  const std::size_t dark = html.find("@media (prefers-color-scheme:dark)");
  REQUIRE(dark != std::string::npos);
  const Shade ground = Paint::role(Role::kBackground).shade();
  CHECK(html.find("--ground:" + to_hex(ground.light)) < dark);
  CHECK(html.find("--ground:" + to_hex(ground.dark)) > dark);
  CHECK(html.find("--ground:" + to_hex(ground.dark)) != std::string::npos);
}

TEST_CASE("rows that stand out can be read: text on them has a contrast of 4.5") {
  const std::string html = page("text");
  const Shade text = Paint::role(Role::kText).shade();
  for (const double fraction : {-0.2, -0.5}) {
    const Shade row = Paint::diverging(fraction).shade();
    CHECK(html.find(to_hex(row.light)) != std::string::npos);
    CHECK(contrast(row.light, text.light) >= 4.5);
    CHECK(contrast(row.dark, text.dark) >= 4.5);
  }
}

TEST_CASE("headings have the levels 2 to 4") {
  CHECK_THROWS_AS(HtmlPage("x").heading("y", 1), std::invalid_argument);
  CHECK_THROWS_AS(HtmlPage("x").heading("y", 5), std::invalid_argument);
}

}  // namespace draw_html_page_test
