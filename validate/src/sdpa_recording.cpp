#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <natten_sim/validate/sdpa_recording.hpp>

#include "json_reader.hpp"

namespace natten_sim::validate {
namespace {

namespace fs = std::filesystem;
constexpr const char* kSchema = "natten-sim.sdpa-recording/1";

std::string known_backends() {
  std::string text;
  for (const std::string& name : sdpa_backends()) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Clocks parse_clocks(ObjectReader reader) {
  const Clocks clocks{reader.get<int>("sm_mhz"), reader.get<int>("memory_mhz")};
  reader.finish();
  return clocks;
}

RecordedDevice parse_device(ObjectReader reader) {
  RecordedDevice device;
  device.name = reader.get<std::string>("name");
  device.sms = reader.get<std::int32_t>("sms");
  device.l2_bytes = reader.get<std::int64_t>("l2_bytes");
  device.memory_bytes = reader.get<std::int64_t>("memory_bytes");
  device.compute_capability = reader.get<std::string>("compute_capability");
  reader.finish();
  return device;
}

kernels::AttentionProblem parse_problem(ObjectReader reader) {
  const std::string where = reader.where();
  kernels::AttentionProblem problem;
  problem.batch = reader.get<std::int64_t>("batch");
  problem.heads = reader.get<std::int64_t>("heads");
  problem.heads_kv = reader.get<std::int64_t>("heads_kv");
  problem.tokens = reader.get<std::int64_t>("tokens");
  problem.head_dim = reader.get<std::int64_t>("head_dim");
  problem.causal = reader.get<bool>("causal");
  try {
    problem.dtype = kernels::dtype_of(reader.get<std::string>("dtype"));
    kernels::require_valid_sizes(problem, kernels::AttentionVariant{});
  } catch (const MalformedData&) {
    throw;
  } catch (const Error& error) {
    throw MalformedData(where + "." + error.parameter(), error.value(), error.accepted());
  }
  reader.finish();
  return problem;
}

/// Times that a clock can have shown.
bool plausible(const Spread& spread) {
  return std::isfinite(spread.largest) && spread.smallest > 0 && spread.smallest <= spread.median &&
         spread.median <= spread.p95 && spread.p95 <= spread.largest;
}

SdpaRow parse_row(const Json& json, const std::string& where) {
  ObjectReader reader(json, where);
  SdpaRow row;
  row.problem = parse_problem(reader.object("problem"));
  row.backend = reader.get<std::string>("backend");
  const std::vector<std::string>& known = sdpa_backends();
  if (std::find(known.begin(), known.end(), row.backend) == known.end()) {
    throw MalformedData(where + ".backend", row.backend, known_backends());
  }
  row.status = reader.get<std::string>("status");
  if (row.status.empty() || (row.status == "measured") != reader.has("time_ms")) {
    throw MalformedData(where + ".status", row.status, "'measured' exactly where there is a time_ms");
  }
  if (reader.has("time_ms")) {
    ObjectReader time = reader.object("time_ms");
    row.milliseconds = Spread{time.get<double>("median"), time.get<double>("p95"),
                              time.get<double>("smallest"), time.get<double>("largest")};
    row.repetitions = time.get<int>("repetitions");
    time.finish();
    if (!plausible(*row.milliseconds) || row.repetitions < 1) {
      throw MalformedData(where + ".time_ms", reader.object("time_ms").json().dump(),
                          "0 < smallest <= median <= p95 <= largest, repetitions >= 1");
    }
  }
  reader.finish();
  return row;
}

std::string problem_text(const kernels::AttentionProblem& p) {
  return "b" + std::to_string(p.batch) + " h" + std::to_string(p.heads) + "/" + std::to_string(p.heads_kv) +
         " s" + std::to_string(p.tokens) + " d" + std::to_string(p.head_dim) + " " +
         kernels::to_string(p.dtype) + (p.causal ? " causal" : " full");
}

}  // namespace

const std::vector<std::string>& sdpa_backends() {
  static const std::vector<std::string> names = {"auto", "flash", "cudnn", "efficient", "math"};
  return names;
}

SdpaRecording parse_sdpa_recording(std::string_view json, const std::string& where) {
  const Json root = parse_object(json, where);
  ObjectReader reader(root, where);
  if (const auto schema = reader.get<std::string>("schema"); schema != kSchema) {
    throw MalformedData(where + ".schema", schema, kSchema);
  }
  SdpaRecording recording;
  recording.device = parse_device(reader.object("device"));
  recording.driver = reader.get<std::string>("driver");
  recording.framework = reader.get<std::string>("framework");
  recording.cudnn = reader.get<std::string>("cudnn");
  recording.clocks_policy = reader.get<std::string>("clocks_policy");
  recording.cache_control = reader.get<std::string>("cache_control");
  if (reader.has("clocks_before")) recording.before = parse_clocks(reader.object("clocks_before"));
  if (reader.has("clocks_after")) recording.after = parse_clocks(reader.object("clocks_after"));
  std::set<std::string> keys;
  for (const Json& row : reader.array("rows")) {
    const std::string place = where + ".rows[" + std::to_string(recording.rows.size()) + "]";
    recording.rows.push_back(parse_row(row, place));
    const std::string key = problem_text(recording.rows.back().problem) + " " + recording.rows.back().backend;
    if (!keys.insert(key).second) throw MalformedData(place, key, "each problem and backend once");
  }
  reader.finish();
  return recording;
}

std::vector<SdpaRecording> read_sdpa_recordings(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  if (error) {
    throw InvalidParameter("recorded", folder, "a folder that can be read (" + error.message() + ")");
  }
  std::sort(paths.begin(), paths.end());
  std::vector<SdpaRecording> recordings;
  for (const fs::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw InvalidParameter("recording", path.string(), "a readable file");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const Json root = parse_object(text, path.string());
    const auto schema = root.find("schema");
    if (schema == root.end() || *schema != kSchema) continue;
    recordings.push_back(parse_sdpa_recording(text, path.string()));
  }
  return recordings;
}

}  // namespace natten_sim::validate
