// What a Gantt chart shows in columns, against a count of the time in each of them.
#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include <natten_sim/report/draw/gantt_columns.hpp>

#include "catch.hpp"
#include "random_values.hpp"

namespace gantt_columns_test {

using namespace natten_sim;
using draw::Activity;
using draw::GanttColumns;
using draw::Interval;
using test::RandomValues;

TEST_CASE("a column shows what took most of it, and nothing when it was idle for more than half") {
  GanttColumns columns(2, 4, 40);
  columns.add({.row = 0, .start = 0, .end = 16, .group = 3});                                  // 10 + 6
  columns.add({.row = 0, .start = 16, .end = 20, .activity = Activity::kReduce, .group = 3});  // 4 of the second
  columns.add({.row = 0, .start = 20, .end = 24, .group = 5});                                 // 4 of the third
  columns.add({.row = 1, .start = 35, .end = 40, .activity = Activity::kReduce, .second_lane = true});
  const std::vector<Interval> shown = columns.intervals();
  REQUIRE(shown.size() == 2);
  CHECK(shown[0].row == 0);
  CHECK(shown[0].start == 0);
  CHECK(shown[0].end == 20);
  CHECK(shown[0].group == 3);
  CHECK(shown[0].activity == Activity::kCompute);
  CHECK(shown[1].row == 1);
  CHECK(shown[1].start == 30);
  CHECK(shown[1].end == 40);
  CHECK(shown[1].second_lane);
}

TEST_CASE("columns of random intervals are those that a count of whole units gives") {
  RandomValues random(20261129);
  for (int round = 0; round < 200; ++round) {
    const std::int64_t rows = random.whole(1, 3), columns = random.whole(1, 6), width = random.whole(1, 7);
    GanttColumns drawn(rows, static_cast<std::size_t>(columns), static_cast<double>(columns * width));
    std::map<std::pair<std::int64_t, std::int64_t>, std::map<std::size_t, std::int64_t>> units;  // cell, group
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t at = 0; at < columns * width;) {
        const std::int64_t end = std::min(at + random.whole(0, 9), columns * width);
        const auto group = static_cast<std::size_t>(random.whole(0, 2));
        drawn.add({.row = row, .start = static_cast<double>(at), .end = static_cast<double>(end), .group = group});
        for (std::int64_t unit = at; unit < end; ++unit) ++units[{row, unit / width}][group];
        at = end + random.whole(0, 3);
      }
    }
    std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> shown;
    for (const Interval& each : drawn.intervals()) {
      for (auto column = static_cast<std::int64_t>(each.start) / width; column * width < static_cast<std::int64_t>(each.end);
           ++column)
        CHECK(shown.insert({{each.row, column}, each.group}).second);
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        std::int64_t busy = 0, most = 0;
        const auto& cell = units[{row, column}];
        for (const auto& [group, time] : cell) busy += time, most = std::max(most, time);
        const auto found = shown.find({row, column});
        CHECK((found != shown.end()) == (busy > 0 && 2 * busy >= width));
        if (found != shown.end()) CHECK(cell.at(found->second) == most);
      }
    }
  }
}

TEST_CASE("columns refuse what has no place in them") {
  CHECK_THROWS_AS(GanttColumns(0, 4, 40), std::invalid_argument);
  CHECK_THROWS_AS(GanttColumns(1, 0, 40), std::invalid_argument);
  CHECK_THROWS_AS(GanttColumns(1, 4, 0), std::invalid_argument);
  GanttColumns columns(1, 4, 40);
  CHECK_THROWS_AS(columns.add({.row = 1, .start = 0, .end = 1}), std::invalid_argument);
  CHECK_THROWS_AS(columns.add({.row = 0, .start = 3, .end = 1}), std::invalid_argument);
  CHECK_THROWS_AS(columns.add({.row = 0, .start = 3, .end = 41}), std::invalid_argument);
}

}  // namespace gantt_columns_test
