#include <string>

#include "point_json.hpp"

namespace natten_sim::validate {
namespace {

using kernels::to_string;

struct KeyText {
  std::string operator()(const StreamPoint& point) const {
    return "stream " + std::to_string(point.buffer_mib) + " MiB x" + std::to_string(point.passes) + " " +
           (point.ctas == 0 ? "all SMs" : std::to_string(point.ctas) + " CTAs") + " " +
           to_string(point.order) +
           (point.step_cycles == 0 ? " full speed" : " paced " + std::to_string(point.step_cycles));
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
           to_string(point.order) + (point.ctas == 0 ? "" : ", some SMs");
  }
  std::string operator()(const AttentionPoint& point) const {
    return std::string("attention ") + (point.problem.causal ? "causal " : "full ") +
           to_string(point.variant.schedule) + " " + to_string(point.variant.walk) +
           (point.variant.ctas == 0 ? "" : ", some SMs");
  }
};

struct JsonOf {
  Json operator()(const StreamPoint& point) const {
    return {{"kernel", "stream"}, {"buffer_mib", point.buffer_mib},  {"passes", point.passes},
            {"ctas", point.ctas}, {"order", to_string(point.order)}, {"step_cycles", point.step_cycles}};
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

Point parse_stream(ObjectReader& reader) {
  StreamPoint point;
  point.buffer_mib = reader.get<std::int64_t>("buffer_mib");
  point.passes = reader.get<int>("passes", point.passes);
  point.ctas = reader.get<int>("ctas", point.ctas);
  point.order = kernels::stream_order_of(reader.get<std::string>("order"));
  point.step_cycles = reader.get<std::int64_t>("step_cycles", point.step_cycles);
  reader.finish();
  if (point.buffer_mib < 1 || point.buffer_mib > 1 << 20) {
    throw InvalidParameter("buffer_mib", std::to_string(point.buffer_mib), "1..1048576");
  }
  kernels::require_valid(kernels::StreamProblem{point.buffer_mib << 20, point.passes,
                                                point.ctas == 0 ? 1 : point.ctas, point.order,
                                                point.step_cycles});
  return point;
}

Point parse_attention(ObjectReader& reader) {
  AttentionPoint point;
  kernels::AttentionProblem& p = point.problem;
  p.batch = reader.get<std::int64_t>("batch", 1);
  p.heads = reader.get<std::int64_t>("heads", 1);
  p.heads_kv = reader.get<std::int64_t>("heads_kv", p.heads);
  p.tokens = reader.get<std::int64_t>("tokens");
  p.head_dim = reader.get<std::int64_t>("head_dim");
  p.dtype = kernels::dtype_of(reader.get<std::string>("dtype", "bf16"));
  p.causal = reader.get<bool>("causal", false);
  kernels::AttentionVariant& v = point.variant;
  v.q_tile = reader.get<int>("q_tile");
  v.kv_tile = reader.get<int>("kv_tile");
  v.stages = reader.get<int>("stages", 1);
  v.ctas_per_sm = reader.get<int>("ctas_per_sm");
  v.schedule = kernels::cta_schedule_of(reader.get<std::string>("schedule"));
  v.walk = kernels::kv_walk_of(reader.get<std::string>("order"));
  v.last_q_tile_first = reader.get<bool>("last_q_tile_first", false);
  v.ctas = reader.get<int>("ctas", 0);
  reader.finish();
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
  ObjectReader reader(json, where);
  const auto kernel = reader.get<std::string>("kernel");
  if (kernel == "stream") return parse_stream(reader);
  if (kernel == "attention") return parse_attention(reader);
  throw MalformedData(where + ".kernel", kernel, "stream, attention");
}

}  // namespace natten_sim::validate
