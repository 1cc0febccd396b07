#include <natten_sim/core/error.hpp>
#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/io/tile_physics.hpp>

namespace natten_sim {
namespace {

constexpr const char* kPhysicsSchema = "natten-sim.tile-physics/1";
constexpr IntegerRange kSizes = {1, 1 << 16}, kCtas = {1, 64}, kPoints = {0, 1'000'000};

double positive(const StrictObject& fields, const char* key) {
  const double value = fields.number(key);
  if (!(value > 0)) fields.fail(key, "a positive number");
  return value;
}

PhysicalTiles read_tiles(const Json& entry, const std::string& where) {
  const StrictObject fields(
      entry, where,
      {"head_dim", "computed_head_dim", "q_tile_tokens", "kv_tile_tokens", "ctas_per_sm", "uneven", "variant"});
  return {.head_dim = fields.integer("head_dim", kSizes),
          .computed_head_dim = fields.integer_or("computed_head_dim", 0, kSizes),
          .q_tile_tokens = fields.integer("q_tile_tokens", kSizes),
          .kv_tile_tokens = fields.integer("kv_tile_tokens", kSizes),
          .ctas_per_sm = fields.integer_or("ctas_per_sm", 1, kCtas),
          .uneven = fields.has("uneven") ? positive(fields, "uneven") : 1,
          .variant = fields.text_or("variant", "")};
}

PhysicalPass read_pass(const StrictObject& kernel, Walk walk) {
  const StrictObject fields = kernel.object(walk == Walk::kForward ? "forward" : "backward",
                                            {"products", "exponentials", "dtypes", "warps_per_sm", "tiles"});
  PhysicalPass pass{.pass = walk,
                    .products = positive(fields, "products"),
                    .exponentials = positive(fields, "exponentials"),
                    .warps_per_sm = fields.integer_or("warps_per_sm", 0, {0, 64})};
  for (const std::string& name : fields.texts("dtypes")) pass.dtypes.push_back(parse_name<Dtype>(name));
  for (const Json& entry : fields.array("tiles")) pass.tiles.push_back(read_tiles(entry, kernel.where()));
  return pass;
}

KernelPhysics read_kernel_physics(const Json& entry, const std::string& where) {
  const StrictObject fields(entry, where,
                            {"kernel", "architectures", "issue", "head_dims", "forward", "backward", "source"});
  KernelPhysics kernel{.kernel = fields.text("kernel"),
                       .architectures = fields.texts("architectures"),
                       .issue = parse_name<TensorIssue>(fields.text("issue"))};
  if (fields.has("head_dims")) {
    for (const Json& size : fields.array("head_dims"))
      kernel.head_dims.push_back(fields.integer_in(size, "head_dims", kSizes));
  }
  for (const Walk walk : {Walk::kForward, Walk::kBackward}) {
    if (fields.has(walk == Walk::kForward ? "forward" : "backward")) kernel.passes.push_back(read_pass(fields, walk));
  }
  kernel.source = fields.text("source");
  return kernel;
}

Walk walk_of(const StrictObject& fields) {
  const std::string pass = fields.text("pass");
  if (pass != "forward" && pass != "backward") fields.fail("pass", "forward or backward");
  return pass == "forward" ? Walk::kForward : Walk::kBackward;
}

void read_fit(const StrictObject& fields, const std::string& where, TilePhysics& physics) {
  for (const Json& entry : fields.array("constants")) {
    const StrictObject of(entry, where, {"issue", "pass", "tensor", "element"});
    physics.constants.push_back(
        {parse_name<TensorIssue>(of.text("issue")), walk_of(of), positive(of, "tensor"), positive(of, "element")});
  }
  for (const Json& entry : fields.array("factors")) {
    const StrictObject of(entry, where, {"kernel", "issue", "pass", "factor"});
    physics.factors.push_back(
        {of.text("kernel"), parse_name<TensorIssue>(of.text("issue")), walk_of(of), positive(of, "factor")});
  }
  for (const Json& entry : fields.array("transfers")) {
    const StrictObject of(entry, where, {"kind", "points", "mean", "worst", "interval", "inside"});
    physics.transfers.push_back({parse_name<TransferKind>(of.text("kind")), of.integer("points", kPoints),
                                 of.number("mean"), of.number("worst"), positive(of, "interval"),
                                 of.number("inside")});
  }
}

}  // namespace

TilePhysics parse_tile_physics(std::string_view json, const std::string& where) {
  const Json document = parse_strict(json, where, kPhysicsSchema);
  const StrictObject fields(document, where, {"schema", "kernels", "priors", "constants", "factors", "transfers"});
  TilePhysics physics;
  try {
    for (const Json& entry : fields.array("kernels")) physics.kernels.push_back(read_kernel_physics(entry, where));
    for (const Json& entry : fields.array("priors")) {
      const StrictObject of(entry, where, {"name", "value", "spread", "reason"});
      physics.priors.push_back({of.text("name"), positive(of, "value"), positive(of, "spread"), of.text("reason")});
    }
    read_fit(fields, where, physics);
  } catch (const UnknownName& error) {
    throw MalformedData(where, error.what(), "known names of issues, element types and transfers");
  }
  return physics;
}

}  // namespace natten_sim
