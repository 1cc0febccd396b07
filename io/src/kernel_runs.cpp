#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/kernel_runs.hpp>

#include "embedded_data.hpp"

namespace natten_sim {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr const char* kSpace = " \t\r\"";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> cells;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(separator, begin), line.size());
    cells.push_back(trimmed(line.substr(begin, end - begin)));
    begin = end + 1;
  }
  return cells;
}

/// The cells of one line by the name of their column.
class RunCells {
 public:
  RunCells(const std::vector<std::string>& columns, std::string_view line, std::string place)
      : place_(std::move(place)) {
    const std::vector<std::string_view> cells = split(line, ',');
    if (cells.size() != columns.size())
      throw MalformedData(place_, std::to_string(cells.size()) + " cells",
                          std::to_string(columns.size()) + ", as the header");
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!cells[i].empty() && cells[i] != "-") cells_[columns[i]] = std::string(cells[i]);
    }
  }

  [[nodiscard]] const std::string* find(const char* column) const {
    const auto cell = cells_.find(column);
    return cell == cells_.end() ? nullptr : &cell->second;
  }
  [[noreturn]] void fail(const char* column, const std::string& value, const std::string& accepted) const {
    throw MalformedData(place_, std::string("'") + column + "' is '" + value + "'", accepted);
  }
  void text(const char* column, std::string& value) const {
    if (const std::string* cell = find(column)) value = *cell;
  }
  void integer(const char* column, std::int64_t& value) const {
    if (const std::string* cell = find(column)) value = whole(column, *cell, 1);
  }
  void milliseconds(const char* column, std::optional<double>& value, bool may_be_zero = false) const {
    const std::string* cell = find(column);
    if (cell == nullptr) return;
    double number = 0;
    const auto [end, error] = std::from_chars(cell->data(), cell->data() + cell->size(), number);
    const bool above = may_be_zero ? number >= 0 : number > 0;
    if (error != std::errc{} || end != cell->data() + cell->size() || !(above && number < 1e9))
      fail(column, *cell, may_be_zero ? "0 or more milliseconds" : "a positive time in milliseconds");
    value = number;
  }
  void extents(const char* column, Extents& value) const {
    const std::string* cell = find(column);
    if (cell == nullptr) return;
    value = {};
    for (const std::string_view part : split(*cell, 'x')) {
      if (value.rank() == kMaxRank) fail(column, *cell, "1 to 4 sizes, as 30x48x80");
      value.push_back(whole(column, std::string(part), 1));
    }
  }
  void booleans(const char* column, PerAxis<bool>& value) const {
    const std::string* cell = find(column);
    if (cell == nullptr) return;
    value = {};
    for (const std::string_view part : split(*cell, 'x')) {
      if (value.rank() == kMaxRank || (part != "0" && part != "1"))
        fail(column, *cell, "0 or 1 an axis, as 1x0x0");
      value.push_back(part == "1");
    }
  }
  template <Named E>
  void name(const char* column, E& value) const {
    const std::string* cell = find(column);
    if (cell == nullptr) return;
    const std::optional<E> meant = named<E>(*cell);
    if (!meant) fail(column, *cell, joined(names_of<E>()));
    value = *meant;
  }

 private:
  [[nodiscard]] std::int64_t whole(const char* column, const std::string& text, std::int64_t lowest) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < lowest || value > (1LL << 40))
      fail(column, text, "a positive whole number");
    return value;
  }

  std::string place_;
  std::map<std::string, std::string> cells_;
};

void read_pass_cell(const RunCells& cells, KernelRun& run) {
  const std::string* cell = cells.find("pass");
  if (cell == nullptr) return;
  if (*cell == "forward" || *cell == "fwd" || *cell == "fmha") {
    run.pass = Walk::kForward;
  } else if (*cell == "backward" || *cell == "bwd") {
    run.pass = Walk::kBackward;
  } else {
    cells.fail("pass", *cell, "forward, backward");
  }
  if (*cell == "fmha") run.kernel = "fmha";
}

void read_copied_by(const RunCells& cells, KernelRun& run) {
  const std::string* cell = cells.find("copied_by");
  if (cell == nullptr) return;
  if (*cell != "natten" && *cell != "pytorch") cells.fail("copied_by", *cell, "natten, pytorch");
  run.pytorch_copies = *cell == "pytorch";
}

KernelRun read_run(const RunCells& cells, const KernelRun& defaults) {
  KernelRun run = defaults;
  cells.text("kernel", run.kernel);
  cells.text("device", run.device);
  read_pass_cell(cells, run);
  cells.extents("input", run.input);
  cells.extents("window", run.window);
  cells.extents("stride", run.stride);
  cells.extents("dilation", run.dilation);
  cells.booleans("causal", run.causal);
  cells.extents("q_tile", run.q_tile);
  cells.extents("kv_tile", run.kv_tile);
  cells.name("schedule", run.schedule);
  cells.integer("batch", run.batch);
  cells.integer("heads", run.heads);
  cells.integer("heads_kv", run.heads_kv);
  cells.integer("head_dim", run.head_dim);
  cells.name("dtype", run.dtype);
  cells.milliseconds("ms", run.ms);
  cells.milliseconds("min_ms", run.min_ms);
  cells.milliseconds("max_ms", run.max_ms);
  cells.milliseconds("perm_q_ms", run.perm_q_ms);
  cells.milliseconds("perm_kv_ms", run.perm_kv_ms);
  cells.milliseconds("unperm_o_ms", run.unperm_o_ms);
  cells.milliseconds("unperm_lse_ms", run.unperm_lse_ms);
  cells.text("natten", run.natten);
  read_copied_by(cells, run);
  cells.milliseconds("rest_ms", run.rest_ms, true);
  for (const auto& [column, value] : {std::pair{"input", &run.input}, std::pair{"window", &run.window},
                                      std::pair{"q_tile", &run.q_tile}, std::pair{"kv_tile", &run.kv_tile}}) {
    if (value->empty()) cells.fail(column, "", "a value in every line");
  }
  return run;
}

}  // namespace

std::vector<KernelRun> parse_kernel_runs(std::string_view csv, const std::string& where,
                                         const KernelRun& defaults) {
  static const std::map<std::string_view, std::string> kOtherNames = {
      {"layout", "input"}, {"median_ms", "ms"}, {"sched", "schedule"}, {"op", "pass"}};
  std::vector<std::string> columns;
  std::vector<KernelRun> runs;
  std::size_t number = 0;
  for (const std::string_view line : split(csv, '\n')) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const std::string place = where + ", line " + std::to_string(number);
    if (columns.empty()) {
      for (const std::string_view cell : split(line, ',')) {
        const auto other = kOtherNames.find(cell);
        columns.push_back(other == kOtherNames.end() ? std::string(cell) : other->second);
      }
      continue;
    }
    runs.push_back(read_run(RunCells(columns, line, place), defaults));
  }
  if (runs.empty()) throw MalformedData(where, "no runs", "a header and a line a measured run");
  return runs;
}

std::vector<double> profiler_times_ms(std::string_view text) {
  // The category of a row, cuDNN's included; tables without one name CUTLASS's operations.
  constexpr std::array<std::string_view, 5> kOperations = {"attention ", "FnaForward", "FnaBackward",
                                                           "FmhaForward", "FmhaBackward"};
  std::vector<double> times;
  for (const std::string_view line : split(text, '\n')) {
    bool attention = false;
    for (const std::string_view operation : kOperations)
      attention = attention || line.find(operation) != std::string_view::npos;
    const std::size_t last = line.find_last_of("0123456789");
    if (!attention || last == std::string_view::npos) continue;
    const std::size_t begin = line.find_last_not_of("0123456789.", last) + 1;
    double value = 0;
    (void)std::from_chars(line.data() + begin, line.data() + last + 1, value);
    const std::string_view unit = line.substr(last + 1);
    const double scale = unit.starts_with("ms")   ? 1
                         : unit.starts_with("us") ? 1e-3
                         : unit.starts_with("s")  ? 1e3
                                                  : 0;
    if (scale > 0 && value > 0) times.push_back(scale * value);
  }
  return times;
}

std::vector<KernelRun> builtin_kernel_runs() {
  std::vector<KernelRun> all;
  for (const embedded::File& file : embedded::kernel_runs) {
    const std::vector<KernelRun> runs = parse_kernel_runs(file.text, std::string(file.path), {});
    all.insert(all.end(), runs.begin(), runs.end());
  }
  return all;
}

std::string key_of_run(const KernelRun& run) {
  const auto above_one = [](const Extents& sizes) {
    return std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size > 1; });
  };
  std::string key = std::string(run.pass == Walk::kForward ? "forward" : "backward") + " b" + std::to_string(run.batch) + " h" +
                    std::to_string(run.heads) + (run.heads_kv > 0 ? "/" + std::to_string(run.heads_kv) : "") + " d" + std::to_string(run.head_dim) + " " +
                    to_string(run.dtype) + " " + to_string(run.input) + " window " + to_string(run.window);
  if (above_one(run.stride)) key += " stride " + to_string(run.stride);
  if (above_one(run.dilation)) key += " dilation " + to_string(run.dilation);
  if (std::find(run.causal.begin(), run.causal.end(), true) != run.causal.end()) {
    key += " causal ";
    for (std::size_t axis = 0; axis < run.causal.rank(); ++axis)
      key += std::string(axis == 0 ? "" : "x") + (run.causal[axis] ? "1" : "0");
  }
  key += " tiles " + to_string(run.q_tile) + "/" + to_string(run.kv_tile);
  if (run.rest_ms) key += " rest " + std::to_string(std::lround(1e3 * *run.rest_ms)) + "us";
  if (run.schedule != KernelSchedule::kCooperative) key += std::string(" ") + to_string(run.schedule);
  return key;
}

}  // namespace natten_sim
