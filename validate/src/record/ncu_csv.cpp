#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/validate/measure/counters.hpp>
#include <natten_sim/validate/record/ncu_csv.hpp>

#include "launch_attributes.hpp"

namespace natten_sim::validate {
namespace {

using Cells = std::vector<std::string>;
constexpr double kMaxCount = 9e18;  // and so in 64 bits

/// Cells of one CSV line: quoted or not, doubled quotes inside quotes; empty when a quote does not close. ncu
/// breaks no line inside a cell.
std::optional<Cells> split_line(std::string_view line) {
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
    } else {
      cells.back() += c;
    }
  }
  return quoted ? std::nullopt : std::optional(cells);
}

/// The next line without its end, "\n" or "\r\n".
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::optional<std::size_t> column_of(const Cells& header, std::string_view name) {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

/// The digits without thousands separators; empty when commas stand elsewhere, as decimal commas do.
std::string without_separators(const std::string& text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::size_t first = text.find(',');
  if (first == std::string::npos) return text;
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool separates = i < point && i >= first && (point - i) % 4 == 0;
    if ((text[i] == ',') != separates) return "";
    if (text[i] != ',') digits += text[i];
  }
  return first >= 1 && first <= 3 ? digits : "";
}

double parse_value(const std::string& text, const std::string& where) {
  const std::string digits = without_separators(text);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || !(value >= 0 && value <= kMaxCount)) {
    throw MalformedData(where, "'" + text + "'",
                        "a count, with '.' before decimals and ',' between thousands if anywhere");
  }
  return value;
}

/// What ncu writes where it has no value.
bool is_absent(const std::string& value) {
  return value.empty() || value == "n/a" || value == "N/A" || value == "nan" || value == "-nan" ||
         value == "no data";
}

/// Factor from ncu's unit to the table's before scaling: decimal prefixes of bytes and sectors, times to ns;
/// fractions are in percent.
double unit_factor(const std::string& unit, const CounterSpec& spec, const std::string& where) {
  static const std::map<std::string, double> kTimes = {{"ns", 1},        {"nsecond", 1}, {"us", 1e3},
                                                       {"usecond", 1e3}, {"ms", 1e6},    {"msecond", 1e6},
                                                       {"s", 1e9},       {"second", 1e9}};
  static const std::map<char, double> kPrefixes = {{'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}};
  const std::string base(spec.unit);
  if (base == "fraction") {
    if (unit == "%") return 1;
  } else if (base == "ns") {
    if (const auto time = kTimes.find(unit); time != kTimes.end()) return time->second;
  } else if (unit == base) {
    return 1;
  } else if (!unit.empty() && unit.substr(1) == base) {
    if (const auto prefix = kPrefixes.find(unit.front()); prefix != kPrefixes.end()) return prefix->second;
  }
  throw MalformedData(where, "unit '" + unit + "' of " + std::string(spec.metric),
                      base == "fraction" ? "%" : base + ", or a decimal multiple of it");
}

/// "(64, 2, 4)": zeros where it is something else.
std::array<std::int64_t, 3> three_of(const std::string& text) {
  std::array<std::int64_t, 3> values{};
  std::size_t at = 0;
  for (std::int64_t& value : values) {
    at = text.find_first_of("0123456789", at);
    if (at == std::string::npos) return {};
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc{} || value > (std::int64_t{1} << 32)) return {};
    at = static_cast<std::size_t>(end - text.data());
  }
  return values;
}

/// Values of launches, which come with units of their own: "65.54", "Kbyte/block".
void keep_attribute(ProfiledLaunch& launch, const std::string& name, const std::string& unit,
                    const std::string& value, const std::string& where) {
  store_attribute_text(name, value, launch);
  if (!is_attribute(name) || is_absent(value)) return;
  const double factor = unit.starts_with("Kbyte") ? 1e3 : unit.starts_with("Mbyte") ? 1e6 : 1;
  store_attribute(name, parse_value(value, where) * factor, launch);
}

void store(ProfiledLaunch& launch, const std::string& metric, const std::string& unit,
           const std::string& value, const std::string& where) {
  keep_attribute(launch, metric, unit, value, where);
  const CounterSpec* const spec = find_metric(metric);
  if (spec == nullptr || is_absent(value)) return;
  const double scaled = parse_value(value, where) * unit_factor(unit, *spec, where) * spec->scale;
  if (scaled > kMaxCount) throw MalformedData(where, value + " " + unit, "a count of 64 bits");
  launch.counters[std::string(spec->label)] = scaled;
}

struct Header {
  Cells cells;
  std::size_t id = 0;
  std::size_t kernel = 0;
  std::optional<std::size_t> process, grid, block;
  std::optional<std::size_t> metric, unit, value;  // of the details page
  std::optional<Cells> units;                      // of the raw page: its second row

  [[nodiscard]] bool details() const { return metric && unit && value; }
};

std::optional<Header> as_header(const Cells& cells) {
  const auto id = column_of(cells, "ID"), kernel = column_of(cells, "Kernel Name");
  if (!id || !kernel) return std::nullopt;
  return Header{cells,
                *id,
                *kernel,
                column_of(cells, "Process ID"),
                column_of(cells, "Grid Size"),
                column_of(cells, "Block Size"),
                column_of(cells, "Metric Name"),
                column_of(cells, "Metric Unit"),
                column_of(cells, "Metric Value"),
                std::nullopt};
}

ProfiledLaunch new_launch(const Header& header, const Cells& cells, const std::string& id) {
  ProfiledLaunch launch{cells[header.kernel], id};
  if (header.grid) launch.grid = three_of(cells[*header.grid]);
  if (header.block) launch.block = three_of(cells[*header.block]);
  return launch;
}

/// A row of the details page: one metric of the launch that it names.
void add_metric(const Header& header, const Cells& cells, const std::string& where,
                std::vector<ProfiledLaunch>& launches) {
  const std::string process = header.process ? cells[*header.process] + ":" : "";
  const std::string id = process + cells[header.id];
  const bool goes_on =
      !launches.empty() && launches.back().id == id && launches.back().kernel == cells[header.kernel];
  if (!goes_on) launches.push_back(new_launch(header, cells, id));
  store(launches.back(), cells[*header.metric], cells[*header.unit], cells[*header.value], where);
}

/// A row of the raw page: the units, or a whole launch.
void add_raw_row(Header& header, const Cells& cells, const std::string& where,
                 std::vector<ProfiledLaunch>& launches) {
  if (!header.units) {
    if (!cells[header.id].empty())
      throw MalformedData(where, "a launch", "the row of units below the header");
    header.units = cells;
    return;
  }
  launches.push_back(new_launch(header, cells, cells[header.id]));
  for (std::size_t i = 0; i < cells.size(); ++i)
    store(launches.back(), header.cells[i], (*header.units)[i], cells[i], where);
}

}  // namespace

std::vector<ProfiledLaunch> parse_ncu_csv(std::string_view text, const std::string& where) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::optional<Header> header;
  std::vector<ProfiledLaunch> launches;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    const std::string place = where + ":" + std::to_string(number);
    if (line.empty() || line.starts_with("==")) continue;
    const std::optional<Cells> cells = split_line(line);
    // Of two profiles in one file the second has its own header.
    if (std::optional<Header> found = cells ? as_header(*cells) : std::nullopt) {
      header = std::move(found);
      continue;
    }
    if (!header) continue;  // what the program printed
    if (!cells) throw MalformedData(place, "a quote that does not close", "CSV as ncu --csv writes it");
    if (cells->size() != header->cells.size()) {
      throw MalformedData(place, std::to_string(cells->size()) + " cells",
                          std::to_string(header->cells.size()) + " cells, as the header has");
    }
    if (header->details()) {
      add_metric(*header, *cells, place, launches);
    } else {
      add_raw_row(*header, *cells, place, launches);
    }
    if (launches.size() > kMaxLaunches)
      throw MalformedData(place, "one more launch", "at most " + std::to_string(kMaxLaunches) + " launches");
  }
  if (!header)
    throw MalformedData(where, "no header with 'ID' and 'Kernel Name'", "CSV as ncu --csv writes it");
  return launches;
}

RecordedRow row_of_launches(const std::vector<ProfiledLaunch>& launches, const std::string& kernel,
                            const Point& point) {
  std::map<std::string, std::vector<double>> values;
  std::set<std::string> names, chosen;
  for (const ProfiledLaunch& launch : launches) {
    names.insert(launch.kernel);
    if (launch.kernel.find(kernel) == std::string::npos) continue;
    chosen.insert(launch.kernel);
    for (const auto& [label, value] : launch.counters) values[label].push_back(value);
  }
  const auto joined = [](const std::set<std::string>& all) {
    std::string text;
    for (const std::string& name : all) text += (text.empty() ? "" : ", ") + name;
    return text.empty() ? std::string("(no launch at all)") : text;
  };
  if (chosen.empty())
    throw InvalidParameter("ncu-kernel", kernel, "part of a kernel's name: " + joined(names));
  if (chosen.size() > 1) {
    throw InvalidParameter("ncu-kernel", "'" + kernel + "'",
                           "part of one kernel's name only, of " + joined(chosen));
  }
  if (values.empty()) {
    throw InvalidParameter("ncu-csv", *chosen.begin(), "a profile with a counter that natten-sim knows");
  }
  RecordedRow row;
  row.point = point;
  for (const auto& [label, each] : values)
    row.counters[label] = {spread_of(each), static_cast<int>(each.size())};
  return row;
}

std::vector<study::ProfiledKernel> profiled_kernels(const std::vector<ProfiledLaunch>& launches) {
  std::vector<study::ProfiledKernel> kernels;
  for (const ProfiledLaunch& launch : launches) {
    study::ProfiledKernel kernel{launch.kernel,      launch.grid, launch.block, launch.shared_bytes,
                                 launch.ctas_per_sm, launch.sms,  launch.gpu};
    const auto value = [&](const char* label) {
      const auto found = launch.counters.find(label);
      return found == launch.counters.end() ? std::nullopt : std::optional(found->second);
    };
    kernel.dram_read_bytes = value("dram_read_bytes");
    kernel.dram_write_bytes = value("dram_write_bytes");
    kernel.l2_read_sectors = value("l2_read_sectors");
    kernel.time_ns = value("gpu_time_ns");
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

Recording recording_of_profile(const Device& device, const std::string& where, const RecordedRow& row) {
  Recording recording;
  recording.head.suite = kProfileSuite;
  recording.head.device.profile = device.name;
  recording.head.device.name = device.title;
  recording.head.driver = recording.head.toolkit = recording.head.commit = "not recorded";
  recording.head.profiler = "Nsight Compute, " + where;
  recording.head.cache_control = "as Nsight Compute was told";
  recording.head.clocks_policy = "as Nsight Compute was told";
  recording.rows.push_back(row);
  return recording;
}

}  // namespace natten_sim::validate
