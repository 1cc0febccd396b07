#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/csv_text.hpp>
#include <natten_sim/validate/record/ncu_csv.hpp>

#include "ncu_table.hpp"
#include "profile_metrics.hpp"

namespace natten_sim::validate {
namespace {

constexpr double kMaxCount = 9e18;  // and so in 64 bits

double parse_value(const std::string& text, DecimalMark mark, const std::string& where) {
  const std::optional<double> value = localised_number(text, mark);
  if (value && *value <= kMaxCount) return *value;
  throw MalformedData(where, "'" + text + "'",
                      mark == DecimalMark::kPoint
                          ? "a count, with '.' before decimals and ',' between thousands if anywhere"
                          : "a count, with ',' before decimals and '.' between thousands if anywhere");
}

/// What ncu writes where it has no value.
bool is_absent(const std::string& value) {
  return value.empty() || value == "n/a" || value == "N/A" || value == "nan" || value == "-nan" ||
         value == "no data";
}

/// Factor from ncu's unit to the table's before scaling: decimal prefixes of bytes and sectors, times to ns;
/// fractions are in percent.
double unit_factor(const std::string& unit, const ProfileMetric& spec, const std::string& where) {
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
                    const std::string& value, DecimalMark mark, const std::string& where) {
  store_attribute_text(name, value, launch);
  if (!is_attribute(name) || is_absent(value)) return;
  const double factor = unit.starts_with("Kbyte") ? 1e3 : unit.starts_with("Mbyte") ? 1e6 : 1;
  store_attribute(name, parse_value(value, mark, where) * factor, launch);
}

void store(ProfiledLaunch& launch, const std::string& metric, const std::string& unit,
           const std::string& value, DecimalMark mark, const std::string& where) {
  keep_attribute(launch, metric, unit, value, mark, where);
  const std::optional<ProfileMetric> known = find_profile_metric(metric);
  if (!known || is_absent(value)) return;
  const double scaled = parse_value(value, mark, where) * unit_factor(unit, *known, where) * known->scale;
  if (scaled > kMaxCount) throw MalformedData(where, value + " " + unit, "a count of 64 bits");
  store_metric(*known, scaled, launch);
}

/// What the unit makes of a doubtful number: bytes, sectors and nanoseconds are whole ones, and no CTA has a
/// megabyte of shared memory.
std::optional<DecimalMark> mark_by_unit(const std::string& metric, const std::string& unit,
                                        const DecimalEvidence& doubtful) {
  const bool counted = unit == "byte" || unit == "sector" || unit == "ns" || unit == "nsecond";
  if (counted && find_profile_metric(metric)) return doubtful.mark;
  if (unit != "Kbyte/block") return std::nullopt;
  return doubtful.mark == DecimalMark::kPoint ? DecimalMark::kComma : DecimalMark::kPoint;
}

/// The locale of a file: that of the first value which has one reading only; else that which units tell; else
/// nothing that is kept may hang on it.
class DecimalDecision {
 public:
  void take(const NcuTable& table, const std::string& metric, const std::string& unit,
            const std::string& value) {
    const bool kept = find_profile_metric(metric) || is_attribute(metric);
    const bool is_value = kept || table.header().details() || metric.find("__") != std::string::npos;
    if (decided_ || !is_value) return;
    const DecimalEvidence evidence = decimal_evidence(value);
    if (evidence.kind == DecimalEvidence::Kind::kDecided) decided_ = evidence.mark;
    if (evidence.kind != DecimalEvidence::Kind::kDoubtful) return;
    const std::optional<DecimalMark> told = mark_by_unit(metric, unit, evidence);
    if (told && !by_unit_) by_unit_ = told;
    const bool open = told ? told != by_unit_ : kept;
    if (open && doubtful_place_.empty()) doubtful_ = value, doubtful_place_ = table.place();
    contradicted_ = contradicted_ || (told && told != by_unit_);
  }
  [[nodiscard]] bool is_decided() const { return decided_.has_value(); }
  /// @throws MalformedData where it is in doubt.
  [[nodiscard]] DecimalMark mark() const {
    if (decided_) return *decided_;
    if (by_unit_ && !contradicted_) return *by_unit_;
    if (doubtful_place_.empty()) return DecimalMark::kPoint;
    throw MalformedData(doubtful_place_, "'" + doubtful_ + "', which no other number of the file makes clear",
                        "with " + mention("decimal") + " point or comma: what stands before decimals");
  }

 private:
  std::optional<DecimalMark> decided_, by_unit_;
  bool contradicted_ = false;  // units tell both
  std::string doubtful_, doubtful_place_;
};

DecimalMark decimal_mark_of(std::string_view text, const std::string& where) {
  NcuTable table(text, where);
  DecimalDecision decision;
  while (!decision.is_decided() && table.next()) {
    table.for_each_value([&](const std::string& metric, const std::string& unit, const std::string& value) {
      decision.take(table, metric, unit, value);
    });
  }
  return decision.mark();
}

ProfiledLaunch new_launch(const NcuTable& table, const std::string& id) {
  const NcuHeader& header = table.header();
  ProfiledLaunch launch{table.cells()[header.kernel], id};
  if (header.grid) launch.grid = three_of(table.cells()[*header.grid]);
  if (header.block) launch.block = three_of(table.cells()[*header.block]);
  return launch;
}

/// A row of the details page is one metric of the launch that it names; one of the raw page, a launch.
void begin_launch(const NcuTable& table, std::vector<ProfiledLaunch>& launches) {
  const NcuHeader& header = table.header();
  const NcuCells& cells = table.cells();
  if (!header.details()) {
    launches.push_back(new_launch(table, cells[header.id]));
    return;
  }
  const std::string process = header.process ? cells[*header.process] + ":" : "";
  const std::string id = process + cells[header.id];
  const bool goes_on =
      !launches.empty() && launches.back().id == id && launches.back().kernel == cells[header.kernel];
  if (!goes_on) launches.push_back(new_launch(table, id));
}

}  // namespace

std::vector<ProfiledLaunch> parse_ncu_csv(std::string_view text, const std::string& where,
                                          std::optional<DecimalMark> decimal) {
  const DecimalMark mark = decimal ? *decimal : decimal_mark_of(text, where);
  NcuTable table(text, where);
  std::vector<ProfiledLaunch> launches;
  while (table.next()) {
    begin_launch(table, launches);
    table.for_each_value([&](const std::string& metric, const std::string& unit, const std::string& value) {
      store(launches.back(), metric, unit, value, mark, table.place());
    });
    if (launches.size() > kMaxLaunches) {
      throw MalformedData(table.place(), "one more launch",
                          "at most " + std::to_string(kMaxLaunches) + " launches");
    }
  }
  if (!table.has_header())
    throw MalformedData(where, "no header with 'ID' and 'Kernel Name'", "CSV as ncu --csv writes it");
  for (ProfiledLaunch& launch : launches) complete_metrics(launch);
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
    kernel.dram_bytes = launch.dram_bytes;
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
