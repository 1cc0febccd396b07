#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/recorded_run.hpp>

namespace natten_sim {
namespace {

constexpr std::string_view kRunHeader = "head,q_tile,kv_tile,worker,ready_ns,turn_ns,end_ns";
constexpr std::size_t kRunColumns = 7;
constexpr std::int64_t kMaxRunNs = std::int64_t{1} << 50;
constexpr std::int64_t kMaxRunNumber = std::int64_t{1} << 20;

/// Cells of one line; the first four are numbers of things, the others times.
std::array<std::int64_t, kRunColumns> run_cells(std::string_view line, const std::string& place) {
  std::array<std::int64_t, kRunColumns> cells{};
  for (std::size_t i = 0; i < kRunColumns; ++i) {
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), cells[i]);
    const std::int64_t limit = i < 4 ? kMaxRunNumber : kMaxRunNs;
    if (error != std::errc{} || cells[i] < 0 || cells[i] > limit)
      throw MalformedData(place, "cell " + std::to_string(i + 1),
                          "a whole number from 0 to " + std::to_string(limit));
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    const bool last = i + 1 == kRunColumns;
    if (last ? !line.empty() : line.empty() || line.front() != ',')
      throw MalformedData(place, "other than 7 cells", "7 whole numbers and commas between them");
    if (!last) line.remove_prefix(1);
  }
  if (cells[5] < cells[4] || cells[6] < cells[5])
    throw MalformedData(place, "times that go back", "ready_ns <= turn_ns <= end_ns");
  return cells;
}

}  // namespace

std::vector<RecordedTask> parse_recorded_run(std::string_view csv, const std::string& where) {
  std::vector<RecordedTask> tasks;
  std::int64_t number = 0;
  while (!csv.empty()) {
    const std::size_t end = std::min(csv.find('\n'), csv.size());
    std::string_view line = csv.substr(0, end);
    csv.remove_prefix(std::min(end + 1, csv.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const std::string place = where + ", line " + std::to_string(++number);
    if (number == 1) {
      if (line != kRunHeader) throw MalformedData(place, "another header", std::string(kRunHeader));
      continue;
    }
    const auto cells = run_cells(line, place);
    const auto whole = [&](std::size_t i) { return static_cast<std::int32_t>(cells[i]); };
    const auto time = [&](std::size_t i) { return static_cast<double>(cells[i]); };
    tasks.push_back({whole(0), whole(1), whole(2), whole(3), time(4), time(5), time(6)});
  }
  if (tasks.empty()) throw MalformedData(where, "no task", "a header and a line a task");
  return tasks;
}

}  // namespace natten_sim
