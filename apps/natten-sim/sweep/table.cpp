#include "sweep/table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/report/csv.hpp>
#include <natten_sim/report/rows.hpp>
#include <natten_sim/report/draw/chart.hpp>

namespace natten_sim::cli {
namespace {

/// A number, also where it stands in a list of one or in a text.
std::optional<double> number_in(const Json& row, const std::string& column) {
  if (!row.contains(column)) return std::nullopt;
  const Json& cell = row.at(column);
  const Json& value = cell.is_array() && cell.size() == 1 ? cell[0] : cell;
  if (value.is_boolean() || value.is_null()) return std::nullopt;
  if (value.is_number()) return value.get<double>();
  const std::string text = report::csv_cell(value);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool has_numbers(const std::vector<Json>& rows, const std::string& column) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const Json& row) { return number_in(row, column).has_value(); });
}

/// The column that an option of the picture names.
std::string checked_column(const std::string& parameter, const std::optional<std::string>& given,
                           const std::string& otherwise, const SweepTable& table, const std::vector<Json>& rows,
                           bool numbers) {
  const std::string column = column_of(given.value_or(otherwise));
  const std::vector<std::string> columns = table.columns();
  if (std::find(columns.begin(), columns.end(), column) == columns.end())
    throw UnknownName(parameter, column, closest_name(column, columns), joined(columns));
  if (numbers && !has_numbers(rows, column)) throw InvalidParameter(parameter, column, "a column of numbers");
  return column;
}

/// Its values in the order in which they first appear.
std::vector<std::string> values_in(const std::vector<Json>& rows, const std::string& column) {
  std::vector<std::string> values;
  for (const Json& row : rows) {
    const std::string value = report::csv_cell(row.contains(column) ? row.at(column) : Json());
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}

/// Cells of a line of CSV, as they stand in it.
std::vector<std::string_view> cells_in(std::string_view line) {
  std::vector<std::string_view> cells;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && line[i] == '"') quoted = !quoted;
    if (i < line.size() && (quoted || line[i] != ',')) continue;
    cells.push_back(line.substr(begin, i - begin));
    begin = i + 1;
  }
  return cells;
}

}  // namespace

SweepTable::SweepTable(const SweepGrid& grid, std::vector<std::string> columns, const SweepPicture& drawn, bool cells)
    : grid_(grid), cells_(cells) {
  if (!columns.empty()) {
    for (const SweptOption& option : grid.options()) header_.push_back(column_of(option.name));
    header_.emplace_back("error");
    for (const std::string& column : columns) header_.push_back(column_of(column));
  }
  if (!drawn.y) return;
  for (const SweptOption& option : grid.options()) drawn_.push_back(column_of(option.name));
  for (const std::optional<std::string>& column : {drawn.x, drawn.y, drawn.by}) {
    if (column) drawn_.push_back(column_of(*column));
  }
}

std::size_t SweepTable::shape_number(Shape shape) {
  const auto [found, added] = shape_numbers_.emplace(std::move(shape), shapes_.size());
  if (added) shapes_.push_back(&found->first);
  return found->second;
}

void SweepTable::add(std::int64_t point, const Json& line) {
  Json fields = Json::object();
  const std::vector<Json> values = grid_.point(point);
  for (std::size_t i = 0; i < values.size(); ++i) fields[column_of(grid_.options()[i].name)] = values[i];
  fields["error"] = line.contains("error") ? line.at("error").at("message") : Json();
  if (line.contains("result")) put_answer_fields(line.at("input"), line.at("result"), fields);
  fields = report::flattened(fields);
  const auto value_of = [&](const std::string& column) { return fields.contains(column) ? fields.at(column) : Json(); };
  Row row{.refused = line.contains("error")};
  for (const std::string& column : drawn_) row.drawn.push_back(value_of(column));
  Shape shape;
  for (const auto& [column, value] : fields.items()) shape.push_back(column);
  if (cells_) {
    bool first = true;
    for (const std::string& column : header_.empty() ? shape : header_) {
      row.cells += (std::exchange(first, false) ? "" : ",") + report::csv_cell(value_of(column));
    }
    row.cells.shrink_to_fit();
  }
  const std::lock_guard lock(mutex_);
  row.shape = shape_number(std::move(shape));
  rows_[point] = std::move(row);
}

std::size_t SweepTable::refused() const {
  return static_cast<std::size_t>(std::count_if(rows_.begin(), rows_.end(), [](const auto& row) { return row.second.refused; }));
}

std::vector<std::string> SweepTable::columns() const {
  std::vector<std::string> columns;
  std::set<std::string> seen;
  std::vector<bool> shown(shapes_.size());
  for (const auto& [point, row] : rows_) {
    if (shown[row.shape]) continue;
    shown[row.shape] = true;
    for (const std::string& column : *shapes_[row.shape]) {
      if (seen.insert(column).second) columns.push_back(column);
    }
  }
  return columns;
}

std::vector<Json> SweepTable::drawn_rows() const {
  std::vector<Json> rows;
  for (const auto& [point, row] : rows_) {
    Json fields = Json::object();
    for (std::size_t i = 0; i < drawn_.size(); ++i) fields[drawn_[i]] = row.drawn[i];
    rows.push_back(std::move(fields));
  }
  return rows;
}

void SweepTable::write_csv(const std::function<void(std::string_view)>& write) const {
  const Shape header = header_.empty() ? columns() : header_;
  write(joined(header, ",") + "\n");
  for (const auto& [point, row] : rows_) {
    const Shape& shape = header_.empty() ? *shapes_[row.shape] : header_;
    if (shape == header) {
      write(row.cells + "\n");
      continue;
    }
    const std::vector<std::string_view> cells = cells_in(row.cells);
    std::string line;
    for (const std::string& column : header) {
      const auto at = std::find(shape.begin(), shape.end(), column) - shape.begin();
      line += (&column == &header.front() ? "" : ",") +
              std::string(at == std::ssize(shape) ? "" : cells[static_cast<std::size_t>(at)]);
    }
    write(line + "\n");
  }
}

std::string sweep_sentence(const SweepGrid& grid, const SweepTable& table, const std::optional<std::string>& y) {
  const std::size_t refused = table.refused();
  const std::string answered =
      table.size() == 1
          ? refused > 0 ? "the point was refused: see the column error" : "the point was answered"
      : refused > 0 ? fmt::format("{} of {} points were refused: see the column error", refused, table.size())
                    : fmt::format("all {} points were answered", table.size());
  if (!y) return "In short: " + answered + ".";
  if (refused == table.size()) return "In short: " + answered + ".";
  const std::vector<Json> rows = table.drawn_rows();
  const std::string column = checked_column("y", y, "", table, rows, true);
  const Json *least = nullptr, *most = nullptr;
  for (const Json& row : rows) {
    const std::optional<double> value = number_in(row, column);
    if (!value) continue;
    if (least == nullptr || *value < *number_in(*least, column)) least = &row;
    if (most == nullptr || *value > *number_in(*most, column)) most = &row;
  }
  const auto place = [&](const Json& row) {
    std::vector<std::string> parts;
    for (const SweptOption& option : grid.options())
      parts.push_back(column_of(option.name) + " " + report::csv_cell(row.at(column_of(option.name))));
    return joined(parts);
  };
  const double low = *number_in(*least, column), high = *number_in(*most, column);
  if (low == high) return fmt::format("In short: {} is {} at every point; {}.", column, low, answered);
  const double ratio = high / low;  // of denormals more than a number holds
  const std::string other = low > 0 && std::isfinite(ratio) ? fmt::format("{:.4g} times as much", ratio)
                                                            : fmt::format("{}", high);
  return fmt::format("In short: {} is {} at {}, and {} at {}; {}.", column, low, place(*least), other,
                     place(*most), answered);
}

namespace {

/// A column's words and unit; fractions at its ticks are per cent.
draw::AxisSpec axis_of(const std::string& column, const std::vector<double>& values) {
  const std::string title = report::column_title(column);
  return {.label = title,
          .scale = draw::scale_for(values),
          .unit = title.ends_with("(%)") ? draw::Unit::kPercent : draw::Unit::kNumber};
}

/// A row for each value of `x`, such as a shape or a name.
draw::Picture picture_by_name(const draw::Heading& heading, const std::vector<Json>& rows,
                              const std::string& x, const std::string& y, const std::string& by) {
  draw::DotPlot plot{.heading = heading};
  const std::vector<std::string> groups = by.empty() ? std::vector<std::string>{y} : values_in(rows, by);
  for (const std::string& group : groups) plot.series.push_back(by.empty() ? y : by + " " + group);
  std::vector<double> values;
  for (const std::string& name : values_in(rows, x)) {
    draw::DotRow dots{.label = name, .values = std::vector<std::optional<double>>(groups.size())};
    for (const Json& row : rows) {
      if (report::csv_cell(row.contains(x) ? row.at(x) : Json()) != name) continue;
      const std::string of = by.empty() ? y : report::csv_cell(row.contains(by) ? row.at(by) : Json());
      const auto group =
          static_cast<std::size_t>(std::find(groups.begin(), groups.end(), of) - groups.begin());
      dots.values[group] = number_in(row, y);
      if (dots.values[group]) values.push_back(*dots.values[group]);
    }
    plot.rows.push_back(std::move(dots));
  }
  plot.value = axis_of(y, values);
  return picture_of(plot);
}

}  // namespace

draw::Picture sweep_picture(const std::string& title, const SweepGrid& grid, const SweepTable& table,
                            const SweepPicture& picture) {
  if (!picture.y)
    throw InvalidParameter("y", "not given", "a column of numbers: " + joined(table.columns()));
  const std::vector<Json> rows = table.drawn_rows();
  const std::vector<SweptOption>& options = grid.options();
  const std::string x = checked_column("x", picture.x, options.front().name, table, rows, false);
  const std::string y = checked_column("y", picture.y, "", table, rows, true);
  std::string by;
  if (picture.by || options.size() > 1)
    by = checked_column("by", picture.by, options.size() > 1 ? options[1].name : "", table, rows, false);
  if (!has_numbers(rows, x)) return picture_by_name({y + " by " + x, title}, rows, x, y, by);
  draw::CurvePlot plot{.heading = {y + " over " + x, title}};
  std::vector<double> xs, ys;
  for (const std::string& value : by.empty() ? std::vector<std::string>{""} : values_in(rows, by)) {
    draw::Series series{.label = by.empty() ? "" : by + " " + value,
                        .style = draw::SeriesStyle::kLineAndPoints};
    for (const Json& row : rows) {
      if (!by.empty() && report::csv_cell(row.contains(by) ? row.at(by) : Json()) != value) continue;
      const auto at = number_in(row, x), height = number_in(row, y);
      if (!at || !height) continue;
      series.points.push_back({*at, *height});
      xs.push_back(*at);
      ys.push_back(*height);
    }
    plot.series.push_back(std::move(series));
  }
  plot.x = axis_of(x, xs);
  plot.y = axis_of(y, ys);
  return picture_of(plot);
}

}  // namespace natten_sim::cli
