#include <natten_sim/report/rows.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/report/csv.hpp>
#include <natten_sim/report/text_table.hpp>

namespace natten_sim::report {
namespace {

/// A word of a column's name that is a unit, as it is printed, and what values are multiplied by.
struct NamedUnit {
  const char* word;
  const char* unit;
  double scale;
};
constexpr NamedUnit kUnits[] = {{"ms", "ms", 1},         {"us", "us", 1},           {"ns", "ns", 1},
                                {"s", "s", 1},           {"bytes", "bytes", 1},     {"dollars", "dollars", 1},
                                {"tflops", "TFLOP/s", 1}, {"share", "%", 100},       {"rate", "%", 100},
                                {"deviation", "%", 100}, {"sparsity", "%", 100},    {"utilization", "%", 100},
                                {"speedup", "times", 1}};

/// Larger units of those in which answers are told, each so many of the one before.
struct LargerUnits {
  const char* word;
  double factor;
  std::vector<const char*> units;
};
const std::vector<LargerUnits>& larger_units() {
  static const std::vector<LargerUnits> units = {{"ns", 1e3, {"ns", "us", "ms", "s"}},
                                                 {"bytes", 1024, {"bytes", "KiB", "MiB", "GiB", "TiB"}}};
  return units;
}

/// In what a table prints a unit: the largest of which its smallest number is a tenth or more.
using PrintedUnits = std::map<std::string, NamedUnit>;

std::vector<std::string> words_of(std::string name) {
  for (const auto& [compound, word] : {std::pair{"tflops_per_s", "tflops"}, {"bytes_per_s", "rate of bytes"}}) {
    if (const std::size_t at = name.find(compound); at != std::string::npos)
      name.replace(at, std::string_view(compound).size(), word);
  }
  std::replace(name.begin(), name.end(), '_', ' ');
  std::istringstream words(name);
  return {std::istream_iterator<std::string>(words), {}};
}

/// The unit of a column, and whether its word says nothing else.
const NamedUnit* unit_of(const std::string& name) {
  const std::vector<std::string> words = words_of(name);
  for (const NamedUnit& unit : kUnits) {
    if (std::find(words.begin(), words.end(), unit.word) != words.end()) return &unit;
  }
  return nullptr;
}

/// Decimals with which the largest of the numbers has three digits, and up to two more for the smallest. Whole numbers
/// have none.
int decimals_of(const std::vector<double>& numbers) {
  double least = INFINITY, most = 0;
  for (const double number : numbers) {
    if (number == 0 || !std::isfinite(number)) continue;
    least = std::min(least, std::abs(number));
    most = std::max(most, std::abs(number));
  }
  const bool whole = std::all_of(numbers.begin(), numbers.end(), [](double number) { return number == std::rint(number); });
  if (most == 0 || whole) return 0;
  const int of_largest = 2 - static_cast<int>(std::floor(std::log10(most))),
            of_smallest = 1 - static_cast<int>(std::floor(std::log10(least)));
  return std::clamp(std::max(of_largest, std::min(of_smallest, of_largest + 2)), 0, 6);
}

struct Column {
  std::string title;
  std::vector<std::string> cells;  ///< empty: no value
  bool numbers = true;
};

/// Whole numbers in groups of three digits.
std::string number_cell(double value, int decimals) {
  return decimals == 0 && std::abs(value) < 1e15 ? grouped(static_cast<std::int64_t>(std::llround(value)))
                                                 : fmt::format("{:.{}f}", value, decimals);
}

std::string word_cell(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? "" : csv_cell(value);
}

PrintedUnits printed_units(const std::vector<Json>& rows, const std::vector<std::string>& names) {
  constexpr double kLeast = 0.1;
  PrintedUnits printed;
  for (const LargerUnits& larger : larger_units()) {
    double least = INFINITY;
    for (const std::string& name : names) {
      const NamedUnit* const unit = unit_of(name);
      if (unit == nullptr || std::string_view(unit->word) != larger.word) continue;
      for (const Json& row : rows) {
        const double value = row.contains(name) && row[name].is_number() ? std::abs(row[name].get<double>()) : 0;
        if (value > 0) least = std::min(least, value);
      }
    }
    NamedUnit chosen{larger.word, larger.units.front(), 1};
    for (std::size_t i = 1; i < larger.units.size() && least * chosen.scale / larger.factor >= kLeast && std::isfinite(least); ++i)
      chosen = {larger.word, larger.units[i], chosen.scale / larger.factor};
    printed[larger.word] = chosen;
  }
  return printed;
}

Column column_of(const std::vector<Json>& rows, const std::string& name, const PrintedUnits& printed) {
  const NamedUnit* unit = unit_of(name);
  Column column{.title = column_title(name), .cells = {}};
  if (unit != nullptr && printed.contains(unit->word)) {
    const NamedUnit& larger = printed.at(unit->word);
    const std::string told = std::string("(") + unit->unit + ")";
    if (column.title.ends_with(told)) {
      column.title.replace(column.title.size() - told.size(), told.size(), std::string("(") + larger.unit + ")");
      unit = &larger;
    }
  }
  std::vector<double> numbers;
  for (const Json& row : rows) {
    const Json value = row.contains(name) ? row[name] : Json();
    if (value.is_null()) continue;
    if (!value.is_number()) column.numbers = false;
    else numbers.push_back(value.get<double>() * (unit != nullptr ? unit->scale : 1));
  }
  const int decimals = decimals_of(numbers);
  std::size_t next = 0;
  for (const Json& row : rows) {
    const Json value = row.contains(name) ? row[name] : Json();
    if (!column.numbers) column.cells.push_back(word_cell(value));
    else column.cells.push_back(value.is_null() ? "" : number_cell(numbers[next++], decimals));
  }
  return column;
}

bool is_empty(const std::vector<Json>& rows, const std::string& name) {
  return std::none_of(rows.begin(), rows.end(),
                      [&](const Json& row) { return row.contains(name) && !row[name].is_null(); });
}

bool differs(const std::vector<Json>& rows, const std::string& name) {
  const auto value = [&](const Json& row) { return row.contains(name) ? row[name] : Json(); };
  return rows.size() < 2 ||
         std::any_of(rows.begin(), rows.end(), [&](const Json& row) { return value(row) != value(rows.front()); });
}

std::vector<std::string> names_of(const Json& header) {
  std::vector<std::string> names;
  const Json flat = flattened(header);
  for (const auto& [name, ignored] : flat.items()) names.push_back(name);
  return names;
}

/// The columns that are typeset.
std::vector<std::string> chosen(const Rows& rows, const std::vector<Json>& flat, const std::vector<std::string>& asked) {
  const std::vector<std::string> all = names_of(rows.header);
  for (const std::string& name : asked) {
    if (std::find(all.begin(), all.end(), name) == all.end())
      throw UnknownName("table-columns", name, closest_name(name, all), joined(all));
  }
  if (!asked.empty()) return asked;
  std::vector<std::string> names;
  for (const std::string& name : rows.columns.empty() ? all : rows.columns) {
    if (!is_empty(flat, name) && (!rows.columns.empty() || differs(flat, name))) names.push_back(name);
  }
  return names.empty() ? all : names;
}

/// 18x24x24 with crosses, and what LaTeX reads otherwise as it stands.
std::string latex(const std::string& text) {
  std::string escaped;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
    if (c == 'x' && i > 0 && digit(i - 1) && digit(i + 1)) escaped += "$\\times$";
    else if (std::string_view("&%$#_{}").find(c) != std::string_view::npos) escaped += std::string("\\") + c;
    else if (c == '~') escaped += "\\textasciitilde{}";
    else if (c == '^') escaped += "\\textasciicircum{}";
    else if (c == '\\') escaped += "\\textbackslash{}";
    else if (c == '<' || c == '>') escaped += std::string("$") + c + "$";
    else escaped += c;
  }
  return escaped;
}

std::string markdown(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : c == '\n' ? " " : std::string(1, c);
  return escaped;
}

/// A line of all columns.
template <typename Cell>
std::string line_of(const std::vector<Column>& columns, const char* between, const Cell& cell) {
  std::string line;
  for (const Column& column : columns) line += (&column == &columns.front() ? "" : between) + cell(column);
  return line;
}

std::string latex_table(const std::vector<Column>& columns, std::size_t rows) {
  const auto kind = [](const Column& column) { return std::string(column.numbers ? "r" : "l"); };
  std::string text = "% \\usepackage{booktabs}\n\\begin{tabular}{" + line_of(columns, "", kind) + "}\n\\toprule\n";
  text += line_of(columns, " & ", [](const Column& column) { return latex(column.title); }) + " \\\\\n\\midrule\n";
  for (std::size_t row = 0; row < rows; ++row) {
    const auto cell = [&](const Column& column) { return column.cells[row].empty() ? "--" : latex(column.cells[row]); };
    text += line_of(columns, " & ", cell) + " \\\\\n";
  }
  return text + "\\bottomrule\n\\end{tabular}\n";
}

std::string markdown_table(const std::vector<Column>& columns, std::size_t rows) {
  const auto line = [&](const auto& cell) { return "| " + line_of(columns, " | ", cell) + " |\n"; };
  std::string text = line([](const Column& column) { return markdown(column.title); });
  text += line([](const Column& column) { return std::string(column.numbers ? "---:" : "---"); });
  for (std::size_t row = 0; row < rows; ++row)
    text += line([&](const Column& column) { return column.cells[row].empty() ? "-" : markdown(column.cells[row]); });
  return text;
}

}  // namespace

std::string csv_text(const Rows& rows) { return csv_table(rows.header, rows.rows); }

std::string column_title(const std::string& name) {
  const NamedUnit* const unit = unit_of(name);
  const std::vector<std::string> words = words_of(name);
  std::string title;
  for (const std::string& word : words) {
    // A unit is said at the end alone; a quantity such as sparsity is said too.
    if (unit != nullptr && word == unit->word && words.size() > 1 && unit->scale == 1 && word != "speedup") continue;
    title += (title.empty() ? "" : " ") + word;
  }
  return title + (unit != nullptr && title != unit->unit ? std::string(" (") + unit->unit + ")" : "");
}

std::string table_text(const Rows& rows, TableFormat format, const std::vector<std::string>& columns) {
  std::vector<Json> flat;
  for (const Json& row : rows.rows) flat.push_back(flattened(row));
  const std::vector<std::string> names = chosen(rows, flat, columns);
  if (format == TableFormat::kCsv) {
    Json header = Json::object();
    for (const std::string& name : names) header[name] = nullptr;
    return csv_table(header, flat);
  }
  const PrintedUnits printed = printed_units(flat, names);
  std::vector<Column> typeset;
  for (const std::string& name : names) typeset.push_back(column_of(flat, name, printed));
  return format == TableFormat::kLatex ? latex_table(typeset, flat.size()) : markdown_table(typeset, flat.size());
}

}  // namespace natten_sim::report
