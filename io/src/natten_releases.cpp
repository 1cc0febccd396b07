#include "natten_releases.hpp"

#include <algorithm>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/strict_object.hpp>

#include "embedded_data.hpp"

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

std::vector<GemmRule> gemms(const StrictObject& fields) {
  std::vector<GemmRule> rules;
  if (!fields.has("forward_gemms")) return rules;
  for (const Json& entry : fields.array("forward_gemms")) {
    const StrictObject gemm(entry, "'forward_gemms'",
                            {"gemm", "compute_capabilities", "without_compute_capabilities"});
    GemmRule& rule = rules.emplace_back();
    rule.gemm = gemm.text("gemm");
    for (const auto& [key, values] : {std::pair{"compute_capabilities", &rule.compute_capabilities},
                                      {"without_compute_capabilities", &rule.without_compute_capabilities}})
      if (gemm.has(key)) *values = rule_integers(gemm, key);
  }
  return rules;
}

NattenBackendRules read_backend(const Json& entry, const std::string& where) {
  const StrictObject fields(
      entry, where,
      {"backend", "compute_capabilities", "lowest_compute_capability", "dtypes", "forward_dtypes",
       "compiled_dtypes", "head_dims", "fp8_head_dims", "backward_head_dims", "compiled_head_dims",
       "value_head_dim_may_differ", "backward_config_required", "deterministic_backward",
       "deterministic_dense_backward", "default_tiles", "forward_gemms"});
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
  rules.forward_gemms = gemms(fields);
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

/// `entry` with the tiles of `catalog`.
NattenBackendRules with_tiles(const Json& entry, const Catalog& catalog, const std::string& where) {
  NattenBackendRules rules = read_backend(entry, where);
  const Backend& tables = catalog.backend(to_string(rules.backend));
  rules.forward = tables.forward;
  rules.backward = tables.backward;
  return rules;
}

NattenRules read_release(const Catalog& catalog, std::string_view json, const std::string& where) {
  const Json document = parse_strict(json, where, "natten-sim.natten-release/1");
  const StrictObject fields(document, where,
                            {"schema", "version", "source", "copies", "changes", "backends"});
  NattenRules rules;
  rules.version = fields.text("version");
  rules.source = fields.text("source");
  rules.copies = fields.text("copies");
  rules.changes = fields.texts("changes");
  for (const Json& entry : fields.array("backends"))
    rules.backends.push_back(with_tiles(entry, catalog, where));
  std::sort(rules.backends.begin(), rules.backends.end(),
            [](const NattenBackendRules& a, const NattenBackendRules& b) {
              return preference(a.backend) < preference(b.backend);
            });
  return rules;
}

/// 0.21.10 is newer than 0.21.9.
std::vector<std::int64_t> numbers_of(const std::string& version) {
  std::vector<std::int64_t> numbers(1);
  for (const char c : version) {
    if (c == '.') numbers.push_back(0);
    if (c >= '0' && c <= '9') numbers.back() = 10 * numbers.back() + (c - '0');
  }
  return numbers;
}

/// A call without tiles takes these.
void set_default_tiles(const NattenRules& newest, Catalog& catalog) {
  for (const NattenBackendRules& rules : newest.backends) {
    for (Backend& backend : catalog.backends) {
      if (backend.name == to_string(rules.backend)) backend.default_tiles = rules.default_tiles;
    }
  }
}

}  // namespace

void add_natten_releases(Catalog& catalog) {
  for (const embedded::File& file : embedded::natten_releases)
    catalog.natten.push_back(read_release(catalog, file.text, std::string(file.path)));
  std::sort(catalog.natten.begin(), catalog.natten.end(), [](const NattenRules& a, const NattenRules& b) {
    return numbers_of(a.version) > numbers_of(b.version);
  });
  set_default_tiles(catalog.natten.front(), catalog);
}

}  // namespace natten_sim
