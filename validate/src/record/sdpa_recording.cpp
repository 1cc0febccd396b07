#include <algorithm>
#include <set>

#include <natten_sim/validate/record/sdpa_recording.hpp>

#include "record/recording_folder.hpp"
#include "registry/point_json.hpp"

namespace natten_sim::validate {
namespace {

constexpr const char* kSchema = "natten-sim.sdpa-recording/1";

std::string known_backends() {
  std::string text;
  for (const std::string& name : sdpa_backends()) text += (text.empty() ? "" : ", ") + name;
  return text;
}

constexpr IntegerRange kPositive{1, std::int64_t{1} << 53};

std::optional<Clocks> parse_clocks(const StrictObject& head, const char* key) {
  if (!head.has(key)) return std::nullopt;
  constexpr IntegerRange kMhz{0, 1000000};
  const StrictObject fields = head.object(key, {"sm_mhz", "memory_mhz"});
  return Clocks{static_cast<int>(fields.integer("sm_mhz", kMhz)),
                static_cast<int>(fields.integer("memory_mhz", kMhz))};
}

RecordedDevice parse_device(const StrictObject& fields) {
  RecordedDevice device;
  device.name = fields.text("name");
  device.sms = static_cast<std::int32_t>(fields.integer("sms", {1, 1 << 20}));
  device.l2_bytes = fields.integer("l2_bytes", kPositive);
  device.memory_bytes = fields.integer("memory_bytes", kPositive);
  device.compute_capability = fields.text("compute_capability");
  return device;
}

kernels::AttentionProblem parse_problem(const StrictObject& fields) {
  kernels::AttentionProblem problem;
  problem.batch = fields.integer("batch");
  problem.heads = fields.integer("heads");
  problem.heads_kv = fields.integer("heads_kv");
  problem.tokens = fields.integer("tokens");
  problem.head_dim = fields.integer("head_dim");
  problem.causal = fields.boolean("causal");
  try {
    problem.dtype = parse_name<Dtype>(fields.text("dtype"));
    kernels::require_valid_sizes(problem, kernels::AttentionVariant{});
  } catch (const MalformedData&) {
    throw;
  } catch (const Error& error) {
    throw MalformedData(fields.where(), error.what(), "a problem that a kernel can have");
  }
  return problem;
}

/// Times that a clock can have shown.
Spread parse_milliseconds(const StrictObject& fields) {
  constexpr double kMaxMilliseconds = 1e12;
  const Spread spread{fields.number("median"), fields.number("p95"), fields.number("smallest"),
                      fields.number("largest")};
  const bool ordered = spread.smallest > 0 && spread.smallest <= spread.median &&
                       spread.median <= spread.p95 && spread.p95 <= spread.largest &&
                       spread.largest <= kMaxMilliseconds;
  if (!ordered) fields.fail("median", "0 < smallest <= median <= p95 <= largest <= 1e12");
  return spread;
}

SdpaRow parse_sdpa_row(const Json& json, const std::string& where) {
  const StrictObject fields(json, where, {"problem", "backend", "status", "time_ms"});
  SdpaRow row;
  row.problem = parse_problem(
      fields.object("problem", {"batch", "heads", "heads_kv", "tokens", "head_dim", "dtype", "causal"}));
  row.backend = fields.text("backend");
  const std::vector<std::string>& known = sdpa_backends();
  if (std::find(known.begin(), known.end(), row.backend) == known.end()) {
    fields.fail("backend", known_backends());
  }
  row.status = fields.text("status");
  if (row.status.empty() || (row.status == kMeasured) != fields.has("time_ms")) {
    fields.fail("status", "'measured' exactly where there is a time_ms");
  }
  if (fields.has("time_ms")) {
    const StrictObject time =
        fields.object("time_ms", {"median", "p95", "smallest", "largest", "repetitions"});
    row.milliseconds = parse_milliseconds(time);
    row.repetitions = static_cast<int>(time.integer("repetitions", {1, 1000000}));
  }
  return row;
}

std::string problem_text(const kernels::AttentionProblem& p) {
  return "b" + std::to_string(p.batch) + " h" + std::to_string(p.heads) + "/" + std::to_string(p.heads_kv) +
         " s" + std::to_string(p.tokens) + " d" + std::to_string(p.head_dim) + " " +
         to_string(p.dtype) + (p.causal ? " causal" : " full");
}

}  // namespace

const std::vector<std::string>& sdpa_backends() {
  static const std::vector<std::string> names = {"auto", "flash", "cudnn", "efficient", "math"};
  return names;
}

SdpaRecording parse_sdpa_recording(std::string_view json, const std::string& where) {
  const Json root = parse_strict(json, where, kSchema);
  const StrictObject fields(root, where,
                            {"schema", "device", "driver", "framework", "cudnn", "clocks_policy",
                             "cache_control", "clocks_before", "clocks_after", "rows"});
  SdpaRecording recording;
  recording.device = parse_device(
      fields.object("device", {"name", "sms", "l2_bytes", "memory_bytes", "compute_capability"}));
  recording.driver = fields.text("driver");
  recording.framework = fields.text("framework");
  recording.cudnn = fields.text("cudnn");
  recording.clocks_policy = fields.text("clocks_policy");
  recording.cache_control = fields.text("cache_control");
  recording.before = parse_clocks(fields, "clocks_before");
  recording.after = parse_clocks(fields, "clocks_after");
  std::set<std::string> keys;
  for (const Json& row : fields.array("rows")) {
    const std::string place = where + ".rows[" + std::to_string(recording.rows.size()) + "]";
    recording.rows.push_back(parse_sdpa_row(row, place));
    const std::string key = problem_text(recording.rows.back().problem) + " " + recording.rows.back().backend;
    if (!keys.insert(key).second) throw MalformedData(place, key, "each problem and backend once");
  }
  return recording;
}

std::vector<SdpaRecording> read_sdpa_recordings(const std::string& folder) {
  std::vector<SdpaRecording> recordings;
  for (const FolderText& file : files_of_schema(folder, kSchema)) {
    recordings.push_back(parse_sdpa_recording(file.text, file.path));
  }
  return recordings;
}

}  // namespace natten_sim::validate
