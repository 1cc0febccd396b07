#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <natten_sim/validate/counters.hpp>
#include <natten_sim/validate/recording.hpp>

#include "point_json.hpp"

namespace natten_sim::validate {
namespace {

namespace fs = std::filesystem;
constexpr const char* kSchema = "natten-sim.recording/1";

Json spread_json(const Spread& spread) {
  return {{"median", spread.median},
          {"p95", spread.p95},
          {"smallest", spread.smallest},
          {"largest", spread.largest}};
}

Spread parse_spread(ObjectReader& reader) {
  return {reader.get<double>("median"), reader.get<double>("p95"), reader.get<double>("smallest"),
          reader.get<double>("largest")};
}

Json clocks_json(const Clocks& clocks) {
  return {{"sm_mhz", clocks.sm_mhz}, {"memory_mhz", clocks.memory_mhz}};
}

Clocks parse_clocks(ObjectReader clocks) {
  const Clocks result{clocks.get<int>("sm_mhz"), clocks.get<int>("memory_mhz")};
  clocks.finish();
  return result;
}

Json row_json(const RecordedRow& row) {
  Json json = {{"point", point_json(row.point)}, {"status", row.status}};
  Json counters = Json::object();
  for (const auto& [label, values] : row.counters) {
    counters[label] = spread_json(values.spread);
    counters[label]["repetitions"] = values.repetitions;
  }
  json["counters"] = counters;
  if (row.timing) {
    Json time = spread_json(row.timing->milliseconds);
    time["repetitions"] = row.timing->repetitions;
    time["l2"] = to_string(row.timing->l2);
    if (row.timing->before) time["clocks_before"] = clocks_json(*row.timing->before);
    if (row.timing->after) time["clocks_after"] = clocks_json(*row.timing->after);
    json["time_ms"] = time;
  }
  return json;
}

RecordedRow parse_row(const Json& json, const std::string& where) {
  ObjectReader reader(json, where);
  RecordedRow row;
  row.point = parse_point(reader.object("point").json(), where + ".point");
  row.status = reader.get<std::string>("status");
  const ObjectReader counters = reader.object("counters");
  for (const auto& [label, values] : counters.json().items()) {
    (void)counter(label);
    ObjectReader each(values, where + ".counters." + label);
    CounterValues parsed;
    parsed.spread = parse_spread(each);
    parsed.repetitions = each.get<int>("repetitions");
    each.finish();
    row.counters[label] = parsed;
  }
  if (reader.has("time_ms")) {
    ObjectReader time = reader.object("time_ms");
    Timing timing;
    timing.milliseconds = parse_spread(time);
    timing.repetitions = time.get<int>("repetitions");
    timing.l2 = l2_state_of(time.get<std::string>("l2"));
    if (time.has("clocks_before")) timing.before = parse_clocks(time.object("clocks_before"));
    if (time.has("clocks_after")) timing.after = parse_clocks(time.object("clocks_after"));
    time.finish();
    row.timing = timing;
  }
  reader.finish();
  return row;
}

RecordingHead parse_head(ObjectReader& reader) {
  RecordingHead head;
  head.suite = reader.get<std::string>("suite");
  ObjectReader device = reader.object("device");
  head.device.name = device.get<std::string>("name");
  head.device.profile = device.get<std::string>("profile");
  head.device.sms = device.get<std::int32_t>("sms");
  head.device.l2_bytes = device.get<std::int64_t>("l2_bytes");
  head.device.memory_bytes = device.get<std::int64_t>("memory_bytes");
  head.device.compute_capability = device.get<std::string>("compute_capability");
  device.finish();
  head.driver = reader.get<std::string>("driver");
  head.toolkit = reader.get<std::string>("toolkit");
  head.profiler = reader.get<std::string>("profiler");
  head.clocks_policy = reader.get<std::string>("clocks_policy");
  head.cache_control = reader.get<std::string>("cache_control");
  head.commit = reader.get<std::string>("commit");
  return head;
}

/// The metric of each label, as it was read: one that the counter table has under this label.
std::map<std::string, std::string> parse_metrics(ObjectReader metrics) {
  std::map<std::string, std::string> parsed;
  for (const auto& [label, unused] : metrics.json().items()) {
    const auto metric = metrics.get<std::string>(label.c_str());
    const CounterSpec* const spec = find_metric(metric);
    if (spec == nullptr || spec->label != label) {
      throw MalformedData(metrics.where() + "." + label, metric, "a metric of this counter");
    }
    parsed[label] = metric;
  }
  return parsed;
}

void write_atomically(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".partial";
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file << text;
    file.flush();
    if (!file) throw InvalidParameter("recording", temporary, "a file that can be written");
  }
  std::error_code error;
  fs::rename(temporary, path, error);
  if (error)
    throw InvalidParameter("recording", path, "a file that can be replaced (" + error.message() + ")");
}

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InvalidParameter("recording", path, "a readable file");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::string recording_json(const Recording& recording) {
  const RecordingHead& head = recording.head;
  Json json = {{"schema", kSchema},
               {"suite", head.suite},
               {"device",
                {{"name", head.device.name},
                 {"profile", head.device.profile},
                 {"sms", head.device.sms},
                 {"l2_bytes", head.device.l2_bytes},
                 {"memory_bytes", head.device.memory_bytes},
                 {"compute_capability", head.device.compute_capability}}},
               {"driver", head.driver},
               {"toolkit", head.toolkit},
               {"profiler", head.profiler},
               {"clocks_policy", head.clocks_policy},
               {"cache_control", head.cache_control},
               {"commit", head.commit}};
  json["metrics"] = Json::object();
  for (const auto& [label, metric] : head.metrics) json["metrics"][label] = metric;
  // One row a line: differences between recordings stay readable.
  std::string text = json.dump(2);
  text.resize(text.rfind('\n'));
  text += ",\n  \"rows\": [";
  for (std::size_t i = 0; i < recording.rows.size(); ++i) {
    text += (i == 0 ? "\n    " : ",\n    ") + row_json(recording.rows[i]).dump();
  }
  return text + "\n  ]\n}\n";
}

Recording parse_recording(std::string_view json, const std::string& where) {
  const Json root = parse_object(json, where);
  ObjectReader reader(root, where);
  if (const auto schema = reader.get<std::string>("schema"); schema != kSchema) {
    throw MalformedData(where + ".schema", schema, kSchema);
  }
  Recording recording;
  recording.head = parse_head(reader);
  recording.head.metrics = parse_metrics(reader.object("metrics"));
  std::map<std::string, int> keys;
  for (const Json& row : reader.array("rows")) {
    recording.rows.push_back(parse_row(row, where + ".rows[" + std::to_string(recording.rows.size()) + "]"));
    for (const auto& [label, values] : recording.rows.back().counters) {
      if (!recording.head.metrics.contains(label)) {
        throw MalformedData(where + ".metrics", "no '" + label + "'", "the metric of every counter");
      }
    }
    const std::string key = key_of(recording.rows.back().point);
    if (++keys[key] > 1) throw MalformedData(where + ".rows", key, "each point once");
  }
  reader.finish();
  return recording;
}

RecordingFile::RecordingFile(std::string path, const RecordingHead& head, IfExists if_exists)
    : path_(std::move(path)) {
  if (!fs::exists(path_)) {
    recording_.head = head;
    return;
  }
  if (if_exists == IfExists::kRefuse) {
    throw InvalidParameter("recording", path_, "a file that is not there yet, or --resume to go on with it");
  }
  recording_ = parse_recording(read_whole(path_), path_);
  // Rows of different sources may be mixed only by who says so with resume; rows of different machines never.
  RecordingHead same = head;
  same.commit = recording_.head.commit;
  if (!(same == recording_.head)) {
    throw InvalidParameter("recording", path_, "one of this suite, device, driver, toolkit and profiler",
                           "choose another folder");
  }
  for (std::size_t i = 0; i < recording_.rows.size(); ++i) by_key_[key_of(recording_.rows[i].point)] = i;
}

const RecordedRow* RecordingFile::find(const Point& point) const {
  const auto found = by_key_.find(key_of(point));
  return found == by_key_.end() ? nullptr : &recording_.rows[found->second];
}

void RecordingFile::put(const RecordedRow& row) {
  const auto [place, is_new] = by_key_.try_emplace(key_of(row.point), recording_.rows.size());
  if (is_new) {
    recording_.rows.push_back(row);
  } else {
    recording_.rows[place->second] = row;
  }
  write_atomically(path_, recording_json(recording_));
}

std::vector<Recording> read_recordings(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  if (error)
    throw InvalidParameter("recorded", folder, "a folder that can be read (" + error.message() + ")");
  std::sort(paths.begin(), paths.end());
  std::vector<Recording> recordings;
  for (const fs::path& path : paths) {
    const std::string text = read_whole(path.string());
    const Json root = parse_object(text, path.string());
    const auto schema = root.find("schema");
    if (schema == root.end() || *schema != kSchema) continue;
    recordings.push_back(parse_recording(text, path.string()));
  }
  if (recordings.empty())
    throw InvalidParameter("recorded", folder, "a folder with recordings (" + std::string(kSchema) + ")");
  return recordings;
}

}  // namespace natten_sim::validate
