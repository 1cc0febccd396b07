#include <string>

#include "point_json.hpp"

namespace natten_sim::validate {
namespace {

using kernels::to_string;

const char* words_of(StreamGroups groups) {
  return groups == StreamGroups::kByPartition ? "by partition" : to_string(groups);
}

struct KeyText {
  std::string operator()(const StreamPoint& point) const {
    return "stream " + std::to_string(point.buffer_mib) + " MiB x" + std::to_string(point.passes) + " " +
           (point.ctas == 0 ? "all SMs" : std::to_string(point.ctas) + " CTAs") + " " +
           to_string(point.order) +
           (point.step_cycles == 0 ? " full speed" : " paced " + std::to_string(point.step_cycles)) +
           (point.readers == StreamReaderSet::kAll ? "" : ", one partition") +
           (point.groups == StreamGroups::kTogether ? ""
                                                    : std::string(", groups ") + words_of(point.groups) +
                                                          " " + std::to_string(point.lag_mib) + " MiB apart");
  }
  std::string operator()(const AttentionPoint& point) const {
    const kernels::AttentionProblem& p = point.problem;
    const kernels::AttentionVariant& v = point.variant;
    return "attention b" + std::to_string(p.batch) + " h" + std::to_string(p.heads) + "/" +
           std::to_string(p.heads_kv) + " s" + std::to_string(p.tokens) + " d" + std::to_string(p.head_dim) +
           " " + to_string(p.dtype) + " " + (p.causal ? "causal" : "full") + " " + std::to_string(v.q_tile) +
           "x" + std::to_string(v.kv_tile) + "x" + std::to_string(v.stages) + " " +
           std::to_string(v.ctas_per_sm) + " CTAs " + to_string(v.schedule) + " " + to_string(v.walk) +
           (v.last_q_tile_first ? " last first" : "") +
           (v.ctas == 0 ? "" : " " + std::to_string(v.ctas) + " in all");
  }
};

struct GroupText {
  std::string operator()(const StreamPoint& point) const {
    return std::string("stream ") + (point.step_cycles == 0 ? "full speed" : "paced") + " " +
           to_string(point.order) + (point.ctas == 0 ? "" : ", some SMs") +
           (point.readers == StreamReaderSet::kAll ? "" : ", one partition") +
           (point.groups == StreamGroups::kTogether ? "" : std::string(", groups ") + words_of(point.groups));
  }
  std::string operator()(const AttentionPoint& point) const {
    return std::string("attention ") + (point.problem.causal ? "causal " : "full ") +
           to_string(point.variant.schedule) + " " + to_string(point.variant.walk) +
           (point.variant.ctas == 0 ? "" : ", some SMs");
  }
};

struct JsonOf {
  Json operator()(const StreamPoint& point) const {
    Json json = {{"kernel", "stream"}, {"buffer_mib", point.buffer_mib},  {"passes", point.passes},
                 {"ctas", point.ctas}, {"order", to_string(point.order)}, {"step_cycles", point.step_cycles}};
    if (point.readers != StreamReaderSet::kAll) json["readers"] = to_string(point.readers);
    if (point.groups != StreamGroups::kTogether) {
      json["groups"] = to_string(point.groups);
      json["lag_mib"] = point.lag_mib;
    }
    return json;
  }
  Json operator()(const AttentionPoint& point) const {
    const kernels::AttentionProblem& p = point.problem;
    const kernels::AttentionVariant& v = point.variant;
    Json json = {{"kernel", "attention"},
                 {"batch", p.batch},
                 {"heads", p.heads},
                 {"heads_kv", p.heads_kv},
                 {"tokens", p.tokens},
                 {"head_dim", p.head_dim},
                 {"dtype", to_string(p.dtype)},
                 {"causal", p.causal},
                 {"q_tile", v.q_tile},
                 {"kv_tile", v.kv_tile},
                 {"stages", v.stages},
                 {"ctas_per_sm", v.ctas_per_sm},
                 {"schedule", to_string(v.schedule)},
                 {"order", to_string(v.walk)},
                 {"last_q_tile_first", v.last_q_tile_first}};
    if (v.ctas != 0) json["ctas"] = v.ctas;
    return json;
  }
};

Point parse_stream(const Json& json, const std::string& where) {
  const StrictObject fields(
      json, where,
      {"kernel", "buffer_mib", "passes", "ctas", "order", "step_cycles", "readers", "groups", "lag_mib"});
  StreamPoint point;
  point.buffer_mib = fields.integer("buffer_mib", {1, 1 << 20});
  point.passes = fields.integer32_or("passes", point.passes);
  point.ctas = fields.integer32_or("ctas", point.ctas);
  point.order = kernels::stream_order_of(fields.text("order"));
  point.step_cycles = fields.integer_or("step_cycles", point.step_cycles);
  point.readers = stream_readers_of(fields.text_or("readers", to_string(point.readers)));
  point.groups = stream_groups_of(fields.text_or("groups", to_string(point.groups)));
  point.lag_mib = fields.integer_or("lag_mib", point.lag_mib);
  require_valid(point);
  return point;
}

Point parse_attention(const Json& json, const std::string& where) {
  const StrictObject fields(
      json, where,
      {"kernel", "batch", "heads", "heads_kv", "tokens", "head_dim", "dtype", "causal", "q_tile", "kv_tile",
       "stages", "ctas_per_sm", "schedule", "order", "last_q_tile_first", "ctas"});
  AttentionPoint point;
  kernels::AttentionProblem& p = point.problem;
  p.batch = fields.integer_or("batch", 1);
  p.heads = fields.integer_or("heads", 1);
  p.heads_kv = fields.integer_or("heads_kv", p.heads);
  p.tokens = fields.integer("tokens");
  p.head_dim = fields.integer("head_dim");
  p.dtype = kernels::dtype_of(fields.text_or("dtype", "bf16"));
  p.causal = fields.boolean_or("causal", false);
  kernels::AttentionVariant& v = point.variant;
  v.q_tile = fields.integer32("q_tile");
  v.kv_tile = fields.integer32("kv_tile");
  v.stages = fields.integer32_or("stages", 1);
  v.ctas_per_sm = fields.integer32("ctas_per_sm");
  v.schedule = kernels::cta_schedule_of(fields.text("schedule"));
  v.walk = kernels::kv_walk_of(fields.text("order"));
  v.last_q_tile_first = fields.boolean_or("last_q_tile_first", false);
  v.ctas = fields.integer32_or("ctas", 0);
  kernels::require_valid_sizes(p, v);
  return point;
}

}  // namespace

std::string key_of(const Point& point) { return std::visit(KeyText{}, point); }
std::string group_of(const Point& point) { return std::visit(GroupText{}, point); }
Json point_json(const Point& point) { return std::visit(JsonOf{}, point); }

Point parse_point_words(const std::vector<std::string>& words) {
  Json json = Json::object();
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw InvalidParameter("point", word, "name=value, as tokens=65536 or order=sawtooth");
    }
    const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    if (json.contains(name)) throw InvalidParameter("point", word, "each name once");
    const bool digits =
        !value.empty() && value.size() < 16 && value.find_first_not_of("0123456789") == std::string::npos;
    if (digits) {
      json[name] = std::stoll(value);
    } else if (value == "true" || value == "false") {
      json[name] = value == "true";
    } else {
      json[name] = value;
    }
  }
  if (!json.contains("kernel")) json["kernel"] = "attention";
  return parse_point(json, "point");
}

Point parse_point(const Json& json, const std::string& where) {
  const StrictObject fields(json, where);
  const std::string kernel = fields.text("kernel");
  if (kernel == "stream") return parse_stream(json, where);
  if (kernel == "attention") return parse_attention(json, where);
  fields.fail("kernel", "stream, attention");
}

Point parse_recorded_point(const Json& json, const std::string& where) {
  try {
    return parse_point(json, where);
  } catch (const MalformedData&) {
    throw;
  } catch (const Error& error) {
    throw MalformedData(where, error.what(), "a point that a kernel can have");
  }
}

}  // namespace natten_sim::validate
