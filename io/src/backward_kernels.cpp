#include "backward_kernels.hpp"

#include <algorithm>
#include <tuple>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/strict_object.hpp>

#include "embedded_data.hpp"

namespace natten_sim {
namespace {

using Json = StrictObject::Json;

constexpr std::int64_t kMostKernelHeadDim = 65536;
constexpr std::int64_t kMostKernelBytes = std::int64_t{1} << 40;

template <typename Enum>
std::vector<Enum> names_of_enum(const StrictObject& fields, const char* key) {
  std::vector<Enum> names;
  for (const std::string& name : fields.texts(key)) names.push_back(parse_name<Enum>(name));
  if (names.empty()) fields.fail(key, "one name or more");
  return names;
}

/// [least, most]; all, where the file does not say.
HeadDims head_dim_range(const StrictObject& fields) {
  constexpr const char* kKey = "head_dims";
  if (!fields.has(kKey)) return {1, kMostKernelHeadDim};
  const Json& ends = fields.array(kKey);
  if (ends.size() != 2) fields.fail(kKey, "the least and the largest");
  HeadDims range;
  range.least = fields.integer_in(ends.front(), kKey, {1, kMostKernelHeadDim});
  range.most = fields.integer_in(ends.back(), kKey, {range.least, kMostKernelHeadDim});
  return range;
}

KernelTiles read_kernel_tiles(const Json& entry, const std::string& where) {
  const StrictObject fields(entry, where, {"head_dims", "masks", "q_tile", "kv_tile", "ctas"});
  KernelTiles tiles;
  tiles.head_dims = head_dim_range(fields);
  tiles.masks = names_of_enum<MaskClass>(fields, "masks");
  tiles.tokens = {fields.integer("q_tile", {1, 1 << 20}), fields.integer("kv_tile", {1, 1 << 20})};
  tiles.ctas = static_cast<std::int32_t>(fields.integer_or("ctas", 1, {1, 2}));
  return tiles;
}

KernelLaunch read_kernel_launch(const Json& entry, const std::string& where) {
  const StrictObject fields(
      entry, where,
      {"mode", "masks", "head_dims", "algorithm", "dispatch", "walk", "memory", "memory_limit_bytes",
       "section_bytes", "heads_per_section", "heads_within_l2", "launch_order", "dq_order"});
  KernelLaunch launch;
  launch.mode = parse_name<ReductionMode>(fields.text("mode"));
  launch.masks = names_of_enum<MaskClass>(fields, "masks");
  launch.head_dims = head_dim_range(fields);
  launch.algorithm = fields.text("algorithm");
  launch.dispatch = parse_name<Dispatch>(fields.text_or("dispatch", "dynamic"));
  launch.walk = parse_name<TileWalk>(fields.text_or("walk", "in-order"));
  launch.memory = parse_name<KernelMemory>(fields.text_or("memory", "one-dq"));
  if (fields.has("memory_limit_bytes"))
    launch.memory_limit_bytes = fields.integer("memory_limit_bytes", {1, kMostKernelBytes});
  if (fields.has("section_bytes")) launch.section_bytes = fields.integer("section_bytes", {1, kMostKernelBytes});
  if (fields.has("heads_per_section")) launch.heads_per_section = fields.integer32("heads_per_section");
  launch.heads_within_l2 = fields.boolean_or("heads_within_l2", false);
  launch.launch_order = fields.text("launch_order");
  launch.dq_order = fields.text("dq_order");
  return launch;
}

BackwardKernel read_backward_kernel(const StrictObject& fields) {
  BackwardKernel kernel;
  kernel.name = fields.text("name");
  kernel.title = fields.text("title");
  kernel.release = fields.text("release");
  kernel.architectures = fields.texts("architectures");
  kernel.position = fields.integer32("position");
  kernel.dtypes = names_of_enum<Dtype>(fields, "dtypes");
  kernel.turn_release = parse_name<TurnRelease>(fields.text_or("turn_release", "at-once"));
  kernel.dkv_order = fields.text("dkv_order");
  kernel.clearing = parse_name<DqClearing>(fields.text_or("clearing", "always"));
  for (const Json& entry : fields.array("tiles")) kernel.tiles.push_back(read_kernel_tiles(entry, fields.where()));
  for (const Json& entry : fields.array("launches"))
    kernel.launches.push_back(read_kernel_launch(entry, fields.where()));
  kernel.source = fields.text("source");
  return kernel;
}

}  // namespace

void add_backward_kernels(Catalog& catalog) {
  for (const embedded::File& file : embedded::backward_kernels) {
    const std::string where(file.path);
    const Json document = parse_strict(file.text, where, "natten-sim.backward-kernel/1");
    const StrictObject fields(
        document, where,
        {"schema", "name", "title", "release", "architectures", "position", "dtypes", "turn_release",
         "dkv_order", "clearing", "tiles", "launches", "source"});
    try {
      catalog.backward_kernels.push_back(read_backward_kernel(fields));
    } catch (const UnknownName& error) {
      throw MalformedData(where, error.what(), "names of masks, modes and orders");
    }
  }
  std::sort(catalog.backward_kernels.begin(), catalog.backward_kernels.end(),
            [](const BackwardKernel& a, const BackwardKernel& b) {
              return std::tie(a.position, b.release) < std::tie(b.position, a.release);
            });
}

}  // namespace natten_sim
