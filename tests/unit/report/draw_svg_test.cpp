#include <cmath>
#include <set>
#include <sstream>

#include <natten_sim/report/draw/legend.hpp>
#include <natten_sim/report/draw/limit.hpp>
#include <natten_sim/report/draw/panels.hpp>
#include <natten_sim/report/draw/svg.hpp>

#include "catch.hpp"
#include "unit/report/draw_document.hpp"

namespace draw_svg_test {

using namespace natten_sim::draw;
using natten_sim::test::count_of;
using natten_sim::test::read_xml;

Picture small(const std::string& text) {
  Document document(text);
  document.rect({1, 2, 3, 4}, {.fill = Paint::category(0)}, text);
  document.text(10, 20, text, {});
  document.symbol(Symbol::kCross, 5, 5, 2, {.fill = Paint::category(1)});
  document.begin_clip({0, 0, 10, 10});
  document.line(0, 0, 20, 20, {.stroke = Paint::role(Role::kAxis), .dash = Dash::kDashed});
  document.end_clip();
  return std::move(document).finish(100, 50);
}

TEST_CASE("no two categories of colours share a symbol") {
  STATIC_REQUIRE(kSymbols == kCategories);
  std::set<std::string> drawn;
  for (std::size_t i = 0; i < kSymbols; ++i) {
    Document document("symbol");
    document.symbol(static_cast<Symbol>(i), 50, 25, 5, {.fill = Paint::category(0)});
    drawn.insert(std::move(document).finish(100, 50).svg);
  }
  CHECK(drawn.size() == kSymbols);
}

TEST_CASE("the reader of these tests refuses what is not well formed") {
  for (const char* const wrong : {"<a>", "<a></b>", "<a b=c/>", "<a b=\"1\" b=\"2\"/>", "<a>&nbsp;</a>",
                                  "<a/><b/>", "<a>\x01</a>", "<a b=\"<\"/>", "x<a/>"}) {
    INFO(wrong);
    CHECK_THROWS_AS(read_xml(wrong), std::runtime_error);
  }
  CHECK(read_xml("<a b=\"&lt;\">x<c/>y</a>").size() == 2);
}

TEST_CASE("text of any kind leaves a document well formed, and arrives as it was") {
  const std::string text = "<script>\"&'</title>]]>";
  const auto elements = read_xml(small(text).svg);
  CHECK(elements.front().name == "svg");
  std::size_t found = 0;
  for (const auto& each : elements)
    if ((each.name == "text" || each.name == "title") && each.text == text) ++found;
  CHECK(found == 3);
  CHECK_NOTHROW(read_xml(small(std::string("\0\x1b\xff\xc3", 4)).svg));
}

TEST_CASE("the same calls give the same bytes") { CHECK(small("tiles").svg == small("tiles").svg); }

TEST_CASE("every class has a colour in both schemes") {
  const std::string svg = small("tiles").svg;
  const std::size_t dark = svg.find("@media (prefers-color-scheme:dark){");
  REQUIRE(dark != std::string::npos);
  std::size_t classes = 0;
  for (const auto& each : read_xml(svg)) {
    const auto names = each.attributes.find("class");
    if (names == each.attributes.end()) continue;
    std::istringstream words(names->second);
    for (std::string name; words >> name; ++classes) {
      INFO(name);
      CHECK(svg.find("." + name + "{") < dark);
      CHECK(svg.find("." + name + "{", dark) != std::string::npos);
    }
  }
  CHECK(classes >= 5);
}

TEST_CASE("lengths have two decimals at most and no trailing zeros") {
  CHECK(length_text(1) == "1");
  CHECK(length_text(1.5) == "1.5");
  CHECK(length_text(1.0 / 3) == "0.33");
  CHECK(length_text(-0.001) == "0");
  CHECK(length_text(100) == "100");
  CHECK_THROWS_AS(length_text(std::nan("")), std::invalid_argument);
  CHECK_THROWS_AS(length_text(INFINITY), std::invalid_argument);
}

TEST_CASE("a picture needs a positive size") {
  CHECK_THROWS_AS(Document("x").finish(0, 10), std::invalid_argument);
  CHECK_THROWS_AS(Document("x").finish(10, -1), std::invalid_argument);
}

TEST_CASE("boxes that touch do not overlap") {
  CHECK_FALSE(Box{0, 0, 10, 10}.overlaps({10, 0, 10, 10}));
  CHECK_FALSE(Box{0, 0, 10, 10}.overlaps({0, 10, 10, 10}));
  CHECK(Box{0, 0, 10, 10}.overlaps({9, 9, 10, 10}));
}

TEST_CASE("a legend names up to eight groups, and beyond that which of them share a colour") {
  const auto labels = [](std::size_t groups) {
    std::vector<std::string> texts;
    for (const LegendEntry& entry : group_legend("head", groups)) texts.push_back(entry.label);
    return texts;
  };
  CHECK(labels(2) == std::vector<std::string>{"head 0", "head 1"});
  CHECK(labels(8).size() == 8);
  CHECK(labels(10)[0] == "head 0, 8");
  CHECK(labels(10)[2] == "head 2");
  CHECK(labels(20)[3] == "head 3, 11, 19");
  CHECK(labels(64).size() == 8);
  CHECK(labels(64)[1] == "head 1, 9, \u2026 57");
  CHECK(labels(0).empty());
}

TEST_CASE("a legend wraps to its width") {
  Document document("x");
  const std::vector<LegendEntry> entries(20,
                                         {"a label of some length", LegendKey::kSwatch, Paint::category(0)});
  CHECK(draw_legend(document, entries, 16, 40, 300) > draw_legend(document, entries, 16, 40, 3000));
  const Picture picture = std::move(document).finish(3200, 2000);
  CHECK(count_of(read_xml(picture.svg), "text") == 40);
}

TEST_CASE("panels stand in rows as wide and as high as their largest") {
  const std::vector<Picture> pictures = {small("a"), small("b"), small("c")};
  const Picture two = beside(pictures, 2);
  CHECK(two.width == 200);
  CHECK(two.height == 100);
  CHECK(beside(pictures, 7).width == 300);
  CHECK(beside(pictures, 1).height == 150);
  CHECK(count_of(read_xml(two.svg), "svg") == 1 + 3 * 2);
  CHECK_THROWS_AS(beside({}, 2), std::invalid_argument);
  CHECK_THROWS_AS(beside(pictures, 0), std::invalid_argument);
}

TEST_CASE("a limit names what is limited, what was given and what is accepted") {
  try {
    require_at_most("tiles across", 9000, 4096);
    FAIL("accepted");
  } catch (const LimitExceeded& error) {
    CHECK(error.subject() == "tiles across");
    CHECK(error.given() == 9000);
    CHECK(error.accepted() == 4096);
    CHECK(std::string(error.what()) == "tiles across: 9000, at most 4096");
  }
  CHECK_NOTHROW(require_at_most("tiles across", 4096, 4096));
}

}  // namespace draw_svg_test
