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

/// Tiles and launches, and what may be left out of them.
void read_launches(const StrictObject& fields, BackwardKernel& kernel) {
  kernel.turn_release = parse_name<TurnRelease>(fields.text_or("turn_release", "at-once"));
  kernel.clearing = parse_name<DqClearing>(fields.text_or("clearing", "always"));
  for (const Json& entry : fields.array("tiles")) kernel.tiles.push_back(read_kernel_tiles(entry, fields.where()));
  for (const Json& entry : fields.array("launches"))
    kernel.launches.push_back(read_kernel_launch(entry, fields.where()));
}

BackwardKernel read_backward_kernel(const StrictObject& fields) {
  BackwardKernel kernel;
  kernel.name = fields.text("name");
  kernel.title = fields.text("title");
  kernel.release = fields.text("release");
  kernel.architectures = fields.texts("architectures");
  kernel.position = fields.integer32("position");
  kernel.dtypes = names_of_enum<Dtype>(fields, "dtypes");
  kernel.dkv_order = fields.text("dkv_order");
  read_launches(fields, kernel);
  kernel.source = fields.text("source");
  return kernel;
}

/// Any error of a name is one of the file.
template <typename Read>
BackwardKernel named_well(const std::string& where, const Read& read) {
  try {
    return read();
  } catch (const UnknownName& error) {
    throw MalformedData(where, error.what(), "names of masks, modes and orders");
  }
}

Json ends_of(const HeadDims& dims) { return {dims.least, dims.most}; }

template <typename Enum>
Json name_list(const std::vector<Enum>& values) {
  Json names = Json::array();
  for (const Enum value : values) names.push_back(to_string(value));
  return names;
}

}  // namespace

BackwardKernel read_backward_member(const StrictObject& kernel_fields, const AttentionKernel& kernel) {
  const StrictObject fields = kernel_fields.object(
      "backward", {"release", "architectures", "dtypes", "turn_release", "dkv_order", "clearing", "tiles", "launches"});
  return named_well(fields.where(), [&] {
    BackwardKernel backward;
    backward.name = kernel.name;
    backward.title = kernel.title;
    backward.source = kernel.source;
    backward.release = fields.text_or("release", "own");
    backward.dkv_order = fields.text_or("dkv_order", "not known");
    backward.architectures = fields.has("architectures") ? fields.texts("architectures") : kernel.architectures;
    backward.dtypes = fields.has("dtypes") ? names_of_enum<Dtype>(fields, "dtypes")
                      : kernel.dtype       ? std::vector<Dtype>{*kernel.dtype}
                                           : std::vector<Dtype>{Dtype::kFp16, Dtype::kBf16};
    read_launches(fields, backward);
    return backward;
  });
}

Json backward_member(const BackwardKernel& backward) {
  Json tiles = Json::array(), launches = Json::array();
  for (const KernelTiles& each : backward.tiles)
    tiles.push_back({{"head_dims", ends_of(each.head_dims)},
                     {"masks", name_list(each.masks)},
                     {"q_tile", each.tokens.q},
                     {"kv_tile", each.tokens.kv},
                     {"ctas", each.ctas}});
  for (const KernelLaunch& each : backward.launches) {
    Json launch = {{"mode", to_string(each.mode)},
                   {"masks", name_list(each.masks)},
                   {"head_dims", ends_of(each.head_dims)},
                   {"algorithm", each.algorithm},
                   {"dispatch", to_string(each.dispatch)},
                   {"walk", to_string(each.walk)},
                   {"memory", to_string(each.memory)},
                   {"heads_within_l2", each.heads_within_l2},
                   {"launch_order", each.launch_order},
                   {"dq_order", each.dq_order}};
    if (each.memory_limit_bytes) launch["memory_limit_bytes"] = *each.memory_limit_bytes;
    if (each.section_bytes) launch["section_bytes"] = *each.section_bytes;
    if (each.heads_per_section) launch["heads_per_section"] = *each.heads_per_section;
    launches.push_back(std::move(launch));
  }
  Json fields = {{"release", backward.release},
                 {"dtypes", name_list(backward.dtypes)},
                 {"turn_release", to_string(backward.turn_release)},
                 {"dkv_order", backward.dkv_order},
                 {"clearing", to_string(backward.clearing)},
                 {"tiles", tiles},
                 {"launches", launches}};
  if (!backward.architectures.empty()) fields["architectures"] = backward.architectures;
  return fields;
}

void add_backward_kernels(Catalog& catalog) {
  for (const embedded::File& file : embedded::backward_kernels) {
    const std::string where(file.path);
    const Json document = parse_strict(file.text, where, "natten-sim.backward-kernel/1");
    const StrictObject fields(
        document, where,
        {"schema", "name", "title", "release", "architectures", "position", "dtypes", "turn_release",
         "dkv_order", "clearing", "tiles", "launches", "source"});
    catalog.backward_kernels.push_back(named_well(where, [&] { return read_backward_kernel(fields); }));
  }
  std::sort(catalog.backward_kernels.begin(), catalog.backward_kernels.end(),
            [](const BackwardKernel& a, const BackwardKernel& b) {
              return std::tie(a.position, b.release) < std::tie(b.position, a.release);
            });
}

}  // namespace natten_sim
