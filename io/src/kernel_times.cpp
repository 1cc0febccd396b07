#include <natten_sim/core/error.hpp>
#include <natten_sim/io/kernel_times.hpp>
#include <natten_sim/io/strict_object.hpp>

namespace natten_sim {
namespace {

constexpr const char* kTimesSchema = "natten-sim.kernel-times/1";

constexpr NumberField<PassCosts> kCosts[] = {{"unmasked_tile_us", &PassCosts::unmasked_tile_us},
                                             {"bounds_masked_tile_us", &PassCosts::bounds_masked_tile_us},
                                             {"cta_us", &PassCosts::cta_us},
                                             {"launch_us", &PassCosts::launch_us},
                                             {"slowdown", &PassCosts::slowdown},
                                             {"slowdown_ms", &PassCosts::slowdown_ms}};

/// Those that few kernels have; 0 where they are absent.
constexpr NumberField<PassCosts> kOfFew[] = {{"step_jitter", &PassCosts::step_jitter},
                                             {"lock_share", &PassCosts::lock_share},
                                             {"clipped_share", &PassCosts::clipped_share},
                                             {"spared_slowdown", &PassCosts::spared_slowdown},
                                             {"prepared_bytes_per_s", &PassCosts::prepared_bytes_per_s}};

/// Of one tile pair, and longest run that is half slowed down: what calibrate can fit to the longest times that runs
/// may have.
constexpr double kMostMicroseconds = 1e18;

/// A fit may be off by more than its own time: then it says so, and the interval reaches down to nothing.
double read_interval(const StrictObject& fields) {
  const double interval = fields.number("interval");
  if (!(interval >= 0 && interval < kMostMicroseconds)) fields.fail("interval", "a fraction, 0 or more");
  return interval;
}

CostEvidence read_evidence(const StrictObject& fields) {
  CostEvidence evidence;
  evidence.runs = fields.integer("runs", {0, 1'000'000});
  evidence.kinds = fields.texts("kinds");
  evidence.interval = read_interval(fields);
  evidence.source = fields.text("source");
  if (fields.has("left_out")) {
    const StrictObject errors = fields.object("left_out", {"mean", "worst"});
    evidence.left_out = FitErrors{errors.number("mean"), errors.number("worst")};
  }
  if (fields.has("fitted")) evidence.fitted = fields.texts("fitted");
  return evidence;
}

constexpr IntegerRange kCtasPerSm = {1, 64};

/// What few kernels have besides.
void read_rare(const StrictObject& fields, PassCosts& costs) {
  if (fields.has("lone_share")) costs.lone_share = fields.number("lone_share");
  if (!(costs.lone_share >= 0 && costs.lone_share <= 1)) fields.fail("lone_share", "a share of an SM's rate, 0 to 1");
  for (const NumberField<PassCosts>& field : kOfFew) {
    if (!fields.has(field.key)) continue;
    const double value = costs.*field.member = fields.number(field.key);
    if (!(value >= 0 && value < kMostMicroseconds)) fields.fail(field.key, "0 or more");
  }
  if (!(costs.spared_slowdown <= 1)) fields.fail("spared_slowdown", "a share of the slow-down, 0 to 1");
  if (fields.has("causal_ctas_per_sm")) costs.causal_ctas_per_sm = fields.integer("causal_ctas_per_sm", kCtasPerSm);
  if (fields.has("causal_two_axes")) costs.causal_two_axes = fields.number("causal_two_axes");
  if (!(costs.causal_two_axes > 0 && costs.causal_two_axes <= 100)) fields.fail("causal_two_axes", "over 0, at most 100");
  if (!fields.has("axes_tile_us")) return;
  const Json& axes = fields.array("axes_tile_us");
  if (axes.size() != costs.axes_tile_us.size()) fields.fail("axes_tile_us", "three times: on 1, 2 and 3 axes");
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (!axes[axis].is_number()) fields.fail("axes_tile_us", "numbers");
    costs.axes_tile_us[axis] = axes[axis].get<double>();
    if (!(costs.axes_tile_us[axis] > -costs.unmasked_tile_us && costs.axes_tile_us[axis] < kMostMicroseconds))
      fields.fail("axes_tile_us", "times that leave a pair one");
  }
}

constexpr IntegerRange kHeadDims = {1, 1 << 16};

/// `ctas_per_sm` of the kernel holds for a pass that states none.
PassCosts read_pass(const Json& entry, const std::string& where, Walk pass, std::int64_t ctas_per_sm) {
  const StrictObject fields(
      entry, where,
      keys_of(kCosts, {"q_tile_tokens", "kv_tile_tokens", "ctas_per_sm", "lone_share", "step_jitter",
                       "lock_share", "clipped_share", "spared_slowdown", "prepared_bytes_per_s", "causal_ctas_per_sm",
                       "causal_two_axes", "axes_tile_us", "masked_tile_us", "runs", "kinds", "left_out", "interval", "source", "fitted"}));
  PassCosts costs;
  costs.pass = pass;
  costs.q_tile_tokens = fields.integer("q_tile_tokens", {1, 1 << 20});
  costs.kv_tile_tokens = fields.integer("kv_tile_tokens", {1, 1 << 20});
  costs.ctas_per_sm = fields.integer_or("ctas_per_sm", ctas_per_sm, kCtasPerSm);
  fields.numbers(kCosts, costs);
  const Json& masked = fields.array("masked_tile_us");
  if (masked.size() != costs.masked_tile_us.size())
    fields.fail("masked_tile_us", "three times: for layouts of 1, 2 and 3 axes");
  for (std::size_t axes = 0; axes < masked.size(); ++axes) {
    if (!masked[axes].is_number()) fields.fail("masked_tile_us", "numbers");
    costs.masked_tile_us[axes] = masked[axes].get<double>();
    if (!(costs.masked_tile_us[axes] > 0 && costs.masked_tile_us[axes] < kMostMicroseconds))
      fields.fail("masked_tile_us", "positive times");
  }
  for (const NumberField<PassCosts>& field : kCosts) {
    const double value = costs.*field.member;
    if (!(value >= 0 && value < kMostMicroseconds)) fields.fail(field.key, "0 or more");
  }
  if (!(costs.unmasked_tile_us > 0)) fields.fail("unmasked_tile_us", "a positive time");
  if (!(costs.slowdown_ms > 0)) fields.fail("slowdown_ms", "a positive time");
  read_rare(fields, costs);
  costs.evidence = read_evidence(fields);
  return costs;
}

double positive_rate(const StrictObject& numbers, const char* key) {
  const double rate = numbers.number(key);
  if (!(rate > 0)) numbers.fail(key, "a positive rate");
  return rate;
}

PermutationRate read_copy_rate(const Json& entry, const std::string& where) {
  const StrictObject fields(entry, where,
                            {"axes", "natten", "into_bytes_per_s", "out_bytes_per_s", "lse_bytes_per_s",
                             "interval", "origin", "source"});
  PermutationRate rate;
  rate.axes = fields.integer("axes", {1, 3});
  rate.natten = fields.text_or("natten", "");
  rate.into_bytes_per_s = positive_rate(fields, "into_bytes_per_s");
  rate.out_bytes_per_s = positive_rate(fields, "out_bytes_per_s");
  if (fields.has("lse_bytes_per_s")) rate.lse_bytes_per_s = positive_rate(fields, "lse_bytes_per_s");
  if (fields.has("interval")) rate.interval = read_interval(fields);
  if (fields.has("origin")) rate.origin = parse_name<CopyOrigin>(fields.text("origin"));
  rate.source = fields.text("source");
  return rate;
}

KernelCosts read_costs(const Json& entry, const std::string& where) {
  const StrictObject fields(
      entry, where,
      {"kernel", "device", "head_dim", "dtypes", "ctas_per_sm", "forward", "backward", "permutation"});
  KernelCosts costs;
  costs.kernel = fields.text("kernel");
  costs.device = fields.text("device");
  costs.head_dim = fields.integer("head_dim", kHeadDims);
  for (const std::string& name : fields.texts("dtypes")) costs.dtypes.push_back(parse_name<Dtype>(name));
  const std::int64_t ctas = fields.integer("ctas_per_sm", kCtasPerSm);
  if (fields.has("forward"))
    costs.passes.push_back(read_pass(fields.at("forward"), where, Walk::kForward, ctas));
  if (fields.has("backward"))
    costs.passes.push_back(read_pass(fields.at("backward"), where, Walk::kBackward, ctas));
  if (costs.passes.empty()) fields.fail("forward", "costs of one pass or both");
  if (!fields.has("permutation")) return costs;
  for (const Json& rate : fields.array("permutation"))
    costs.permutation.push_back(read_copy_rate(rate, where));
  return costs;
}

std::vector<std::int64_t> read_head_dims(const StrictObject& fields) {
  std::vector<std::int64_t> head_dims;
  if (!fields.has("head_dims")) return head_dims;
  for (const Json& entry : fields.array("head_dims"))
    head_dims.push_back(fields.integer_in(entry, "head_dims", kHeadDims));
  return head_dims;
}

std::vector<CostPrior> read_priors(const Json& list, const std::string& where) {
  std::vector<CostPrior> priors;
  for (const Json& entry : list) {
    const StrictObject fields(entry, where, {"name", "value", "spread", "reason"});
    priors.push_back(
        {fields.text("name"), fields.number("value"), fields.number("spread"), fields.text("reason")});
    if (!(priors.back().value > 0)) fields.fail("value", "a positive number");
    if (!(priors.back().spread > 0)) fields.fail("spread", "a positive number");
  }
  return priors;
}

}  // namespace

void add_kernel_times(Catalog& catalog, std::string_view json, const std::string& where) {
  const Json document = parse_strict(json, where, kTimesSchema);
  const StrictObject fields(document, where, {"schema", "kernels", "priors"});
  std::vector<KernelCosts> added;
  for (const Json& entry : fields.array("kernels")) {
    try {
      added.push_back(read_costs(entry, where));
    } catch (const UnknownName& error) {
      throw MalformedData(where, error.what(), "names of element types and of origins of copies");
    }
  }
  catalog.kernel_costs.insert(catalog.kernel_costs.begin(), added.begin(), added.end());
  if (!fields.has("priors")) return;
  const StrictObject priors = fields.object("priors", {"forward", "backward", "kernels"});
  catalog.cost_priors = {read_priors(priors.array("forward"), where),
                         read_priors(priors.array("backward"), where),
                         {}};
  if (!priors.has("kernels")) return;
  for (const Json& entry : priors.array("kernels")) {
    const StrictObject own(entry, where, {"kernel", "head_dims", "forward", "backward"});
    catalog.cost_priors.kernels.push_back({own.text("kernel"), read_head_dims(own),
                                           read_priors(own.array("forward"), where),
                                           read_priors(own.array("backward"), where)});
  }
}

}  // namespace natten_sim
