#include <algorithm>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/natten_rules.hpp>
#include <natten_sim/io/strict_object.hpp>

#include "embedded_data.hpp"
#include "natten_defaults.hpp"

namespace natten_sim {
namespace {

using Json = StrictObject::Json;

std::vector<std::int64_t> rule_integers(const StrictObject& fields, const char* key) {
  std::vector<std::int64_t> values;
  for (const Json& value : fields.array(key))
    values.push_back(fields.integer_in(value, key, {1, kMaxAxisLength}));
  return values;
}

HeadDimRule head_dims(const StrictObject& parent, const char* key) {
  const StrictObject fields = parent.object(key, {"only", "lowest", "highest", "multiple", "power_of_two"});
  HeadDimRule rule;
  if (fields.has("only")) {
    rule.only = rule_integers(fields, "only");
    if (rule.only.empty()) fields.fail("only", "one head dim or more");
    return rule;
  }
  rule.lowest = fields.integer("lowest", {1, kMaxAxisLength});
  rule.highest = fields.integer("highest", {rule.lowest, kMaxAxisLength});
  rule.multiple = fields.integer_or("multiple", 1, {1, rule.highest});
  rule.power_of_two = fields.boolean_or("power_of_two", false);
  return rule;
}

std::optional<HeadDimRule> optional_head_dims(const StrictObject& fields, const char* key) {
  if (!fields.has(key)) return std::nullopt;
  return head_dims(fields, key);
}

std::vector<Dtype> dtypes(const StrictObject& fields, const char* key) {
  std::vector<Dtype> values;
  if (!fields.has(key)) return values;
  for (const std::string& name : fields.texts(key)) values.push_back(parse_name<Dtype>(name));
  return values;
}

std::optional<TilePair> tiles(const StrictObject& parent, const char* key) {
  if (!parent.has(key)) return std::nullopt;
  const StrictObject fields = parent.object(key, {"q_tile", "kv_tile"});
  TilePair pair;
  for (const std::int64_t size : rule_integers(fields, "q_tile")) pair.q_tile.push_back(size);
  for (const std::int64_t size : rule_integers(fields, "kv_tile")) pair.kv_tile.push_back(size);
  return pair;
}

NattenBackendRules read_backend(const Json& entry, const std::string& where) {
  const StrictObject fields(
      entry, where,
      {"backend", "compute_capabilities", "lowest_compute_capability", "dtypes", "forward_dtypes",
       "compiled_dtypes", "head_dims", "fp8_head_dims", "backward_head_dims", "compiled_head_dims",
       "value_head_dim_may_differ", "backward_config_required", "deterministic_backward",
       "deterministic_dense_backward", "default_tiles"});
  NattenBackendRules rules;
  rules.backend = parse_name<NattenBackend>(fields.text("backend"));
  if (fields.has("compute_capabilities"))
    rules.compute_capabilities = rule_integers(fields, "compute_capabilities");
  rules.lowest_compute_capability = fields.integer_or("lowest_compute_capability", 0);
  rules.dtypes = dtypes(fields, "dtypes");
  if (rules.dtypes.empty()) fields.fail("dtypes", "one dtype or more");
  rules.forward_dtypes = dtypes(fields, "forward_dtypes");
  rules.compiled_dtypes = dtypes(fields, "compiled_dtypes");
  rules.head_dims = head_dims(fields, "head_dims");
  rules.fp8_head_dims = optional_head_dims(fields, "fp8_head_dims");
  rules.backward_head_dims = optional_head_dims(fields, "backward_head_dims");
  rules.compiled_head_dims = optional_head_dims(fields, "compiled_head_dims");
  rules.value_head_dim_may_differ = fields.boolean_or("value_head_dim_may_differ", false);
  rules.backward_config_required = fields.boolean_or("backward_config_required", false);
  rules.deterministic_backward = fields.boolean_or("deterministic_backward", true);
  rules.deterministic_dense_backward = fields.boolean_or("deterministic_dense_backward", true);
  if (fields.has("default_tiles")) {
    for (const Json& pair : fields.array("default_tiles")) {
      const StrictObject of_rank(pair, where + ": 'default_tiles'", {"forward", "backward"});
      rules.default_tiles.push_back({tiles(of_rank, "forward"), tiles(of_rank, "backward")});
    }
  }
  return rules;
}

/// The order in which NATTEN tries its backends when none is given (`choose_backend`).
int preference(NattenBackend backend) {
  switch (backend) {
    case NattenBackend::kBlackwellFna:
      return 0;
    case NattenBackend::kHopperFna:
      return 1;
    case NattenBackend::kCutlassFna:
      return 2;
    case NattenBackend::kFlexFna:
      return 3;
  }
  return 4;
}

std::vector<NattenBackendRules> read_backends() {
  const std::string where = "data/natten-calls.json";
  const Json document = parse_strict(embedded::natten_calls, where, "natten-sim.natten-calls/1");
  const StrictObject fields(document, where, {"schema", "source", "backends"});
  std::vector<NattenBackendRules> backends;
  for (const Json& entry : fields.array("backends")) backends.push_back(read_backend(entry, where));
  return backends;
}

}  // namespace

void add_default_tiles(Catalog& catalog) {
  for (const NattenBackendRules& rules : read_backends()) {
    for (Backend& backend : catalog.backends) {
      if (backend.name == to_string(rules.backend)) backend.default_tiles = rules.default_tiles;
    }
  }
}

NattenRules natten_rules(const Catalog& catalog) {
  NattenRules rules;
  for (NattenBackendRules& backend : read_backends()) {
    const Backend& tables = catalog.backend(to_string(backend.backend));
    backend.forward = tables.forward;
    backend.backward = tables.backward;
    rules.backends.push_back(std::move(backend));
  }
  std::sort(rules.backends.begin(), rules.backends.end(),
            [](const NattenBackendRules& a, const NattenBackendRules& b) {
              return preference(a.backend) < preference(b.backend);
            });
  return rules;
}

}  // namespace natten_sim
