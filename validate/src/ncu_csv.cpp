#include <algorithm>
#include <charconv>
#include <set>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/counters.hpp>
#include <natten_sim/validate/ncu_csv.hpp>

namespace natten_sim::validate {
namespace {

using Cells = std::vector<std::string>;

/// Cells of one CSV line: quoted or not, doubled quotes inside quotes. ncu breaks no line inside a cell.
Cells split_line(std::string_view line, const std::string& where) {
  Cells cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  if (quoted) throw MalformedData(where, "a quote that does not close", "CSV as ncu --csv writes it");
  return cells;
}

std::optional<std::size_t> column_of(const Cells& header, std::string_view name) {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

double parse_value(const std::string& text, const std::string& where) {
  std::string digits;
  for (const char c : text) {
    if (c != ',') digits += c;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) {
    throw MalformedData(where, "'" + text + "'", "a number");
  }
  return value;
}

/// Factor from ncu's unit to the counter's: decimal prefixes of bytes and sectors, times to ns, percent as it
/// is.
double unit_factor(const std::string& unit, const CounterSpec& spec, const std::string& where) {
  static const std::map<std::string, double> kTimes = {{"ns", 1},        {"nsecond", 1}, {"us", 1e3},
                                                       {"usecond", 1e3}, {"ms", 1e6},    {"msecond", 1e6},
                                                       {"s", 1e9},       {"second", 1e9}};
  static const std::map<char, double> kPrefixes = {{'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}};
  const std::string base(spec.unit);
  if (unit == base || unit.empty() || unit == "%") return 1;
  if (base == "ns") {
    if (const auto time = kTimes.find(unit); time != kTimes.end()) return time->second;
  } else if (unit.substr(1) == base) {
    if (const auto prefix = kPrefixes.find(unit.front()); prefix != kPrefixes.end()) return prefix->second;
  }
  throw MalformedData(where, "unit '" + unit + "' of " + std::string(spec.metric),
                      base + ", or a decimal multiple of it");
}

void store(ProfiledLaunch& launch, const std::string& metric, const std::string& unit,
           const std::string& value, const std::string& where) {
  const CounterSpec* const spec = find_metric(metric);
  if (spec == nullptr) return;
  launch.counters[std::string(spec->label)] =
      parse_value(value, where) * unit_factor(unit, *spec, where) * spec->scale;
}

struct Header {
  Cells cells;
  std::size_t id = 0;
  std::size_t kernel = 0;
  std::optional<std::size_t> metric, unit, value;  // of the details page
};

std::optional<Header> as_header(const Cells& cells) {
  const auto id = column_of(cells, "ID"), kernel = column_of(cells, "Kernel Name");
  if (!id || !kernel) return std::nullopt;
  return Header{cells,
                *id,
                *kernel,
                column_of(cells, "Metric Name"),
                column_of(cells, "Metric Unit"),
                column_of(cells, "Metric Value")};
}

}  // namespace

std::vector<ProfiledLaunch> parse_ncu_csv(std::string_view text, const std::string& where) {
  std::optional<Header> header;
  std::optional<Cells> units;  // the raw page's second row
  std::vector<ProfiledLaunch> launches;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string place = where + ":" + std::to_string(++number);
    if (!header) {
      if (line.find("Kernel Name") != std::string_view::npos) header = as_header(split_line(line, place));
      continue;
    }
    if (line.empty() || line.starts_with("==")) continue;
    const Cells cells = split_line(line, place);
    if (cells.size() != header->cells.size()) {
      throw MalformedData(place, std::to_string(cells.size()) + " cells",
                          std::to_string(header->cells.size()) + " cells, as the header has");
    }
    const bool details = header->metric && header->value;
    if (!details && !units) {
      units = cells;
      continue;
    }
    if (launches.empty() || launches.back().id != cells[header->id]) {
      launches.push_back({cells[header->kernel], cells[header->id], {}});
    }
    if (details) {
      store(launches.back(), cells[*header->metric], header->unit ? cells[*header->unit] : "",
            cells[*header->value], place);
    } else {
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (!cells[i].empty()) store(launches.back(), header->cells[i], (*units)[i], cells[i], place);
      }
    }
  }
  if (!header)
    throw MalformedData(where, "no header with 'ID' and 'Kernel Name'", "CSV as ncu --csv writes it");
  return launches;
}

RecordedRow row_of_launches(const std::vector<ProfiledLaunch>& launches, const std::string& kernel,
                            const Point& point) {
  std::map<std::string, std::vector<double>> values;
  std::set<std::string> names;
  bool found = false;
  for (const ProfiledLaunch& launch : launches) {
    names.insert(launch.kernel);
    if (launch.kernel.find(kernel) == std::string::npos) continue;
    found = true;
    for (const auto& [label, value] : launch.counters) values[label].push_back(value);
  }
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  if (!found) throw InvalidParameter("ncu-kernel", kernel, "part of a kernel's name: " + known);
  if (values.empty())
    throw InvalidParameter("ncu-csv", kernel, "a profile with a counter that natten-sim knows");
  RecordedRow row;
  row.point = point;
  for (const auto& [label, each] : values)
    row.counters[label] = {spread_of(each), static_cast<int>(each.size())};
  return row;
}

}  // namespace natten_sim::validate
