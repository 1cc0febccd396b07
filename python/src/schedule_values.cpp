#include "schedule_values.hpp"

#include <nanobind/ndarray.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/mask_file.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>

#include "text_file.hpp"

namespace natten_sim::python {
namespace {

constexpr const char* kMasks =
    "a rule as text, a file, or an array (Q tiles, KV tiles) of at most 65,536 an edge, with 0 skipped, 1 "
    "partial, 2 "
    "full, or booleans";
constexpr std::size_t kMaxEdge = study::kMaxScheduleTiles;
constexpr std::size_t kMaxCells = std::size_t{1} << 28;

template <typename T>
void copy_tiles(const std::string& name, nb::handle value, const T* tiles, bool booleans, BlockMask& mask) {
  for (std::size_t cell = 0; cell < mask.work.size(); ++cell) {
    const auto tile = static_cast<std::int64_t>(tiles[cell]);
    if (tile < 0 || tile > 2) refuse(name, value, kMasks);
    mask.work[cell] = booleans && tile == 1 ? TileWork::kFull : static_cast<TileWork>(tile);
  }
}

using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

/// The last two axes are (Q tiles, KV tiles); those before them stand one below the other.
BlockMask tiles_of(const std::string& name, nb::handle value, const Array& array) {
  const std::size_t rows = array.size() / array.shape(array.ndim() - 1);
  BlockMask mask{static_cast<std::int32_t>(rows), static_cast<std::int32_t>(array.shape(array.ndim() - 1)), {}};
  mask.work.resize(array.size());
  const nb::dlpack::dtype type = array.dtype();
  const void* data = array.data();
  if (type == nb::dtype<bool>() || type == nb::dtype<std::uint8_t>() || type == nb::dtype<std::int8_t>()) {
    copy_tiles(name, value, static_cast<const std::int8_t*>(data), type == nb::dtype<bool>(), mask);
  } else if (type == nb::dtype<std::int32_t>()) {
    copy_tiles(name, value, static_cast<const std::int32_t*>(data), false, mask);
  } else if (type == nb::dtype<std::int64_t>()) {
    copy_tiles(name, value, static_cast<const std::int64_t*>(data), false, mask);
  } else {
    refuse(name, value, kMasks);
  }
  return mask;
}

Array array_of(const std::string& name, nb::handle value, std::size_t most_axes) {
  Array array;
  const bool taken = nb::try_cast(value, array) && array.size() > 0 && array.size() <= kMaxCells && array.ndim() >= 2 &&
                     array.ndim() <= most_axes;
  if (!taken || array.shape(array.ndim() - 2) > kMaxEdge || array.shape(array.ndim() - 1) > kMaxEdge)
    refuse(name, value, kMasks);
  return array;
}

BlockMask matrix_of(const std::string& name, nb::handle value) {
  return tiles_of(name, value, array_of(name, value, 2));
}

/// The lists of a BlockMask as its file has them.
Json block_mask_json(const std::string& name, nb::handle mask) {
  Json lists;
  for (const char* key : {"kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices"}) {
    const nb::object tensor = nb::getattr(mask, key, nb::none());
    lists[key] = tensor.is_none() ? Json() : to_json_value(name, nb::object(tensor.attr("tolist")()));
  }
  for (const char* key : {"BLOCK_SIZE", "seq_lengths"}) {
    const nb::object sizes = nb::getattr(mask, key, nb::none());
    if (!sizes.is_none()) lists[key] = to_json_value(name, nb::list(sizes));
  }
  return lists;
}

}  // namespace

GivenMask PythonValue<GivenMask>::read(const std::string& name, nb::handle value, const Accepts&) {
  const auto parsed = [&](const Json& json) {
    GivenMask given = parse_mask_file(json_text(json), name);
    given.mask.origin = "blocks";
    return given;
  };
  if (nb::hasattr(value, "kv_num_blocks")) return parsed(block_mask_json(name, value));
  if (nb::isinstance<nb::dict>(value)) return parsed(to_json_value(name, value));
  GivenMask given;
  if (!PyUnicode_Check(value.ptr()) && !nb::hasattr(value, "__fspath__")) {
    const Array array = array_of(name, value, 4);
    given.mask = {tiles_of(name, value, array), "array"};
    for (std::size_t axis = 0; axis + 2 < array.ndim(); ++axis) given.masks *= static_cast<std::int64_t>(array.shape(axis));
    if (array.ndim() == 4) given.batches = static_cast<std::int64_t>(array.shape(0));
    return given;
  }
  std::variant<ScheduleMask, MaskFile> mask = parse_schedule_mask(text_of(name, value, kMasks));
  if (const auto* file = std::get_if<MaskFile>(&mask)) {
    given = parse_mask_file(read_text_file(name, file->path), "mask file " + file->path);
    given.mask.origin = file->path;
  } else {
    given.mask = std::get<ScheduleMask>(std::move(mask));
  }
  return given;
}

ScheduleMask PythonValue<ScheduleMask>::read(const std::string& name, nb::handle value, const Accepts&) {
  if (PyBool_Check(value.ptr()))  // of causal=True, another spelling
    return std::get<ScheduleMask>(parse_schedule_mask(boolean_of(name, value) ? "causal" : "full"));
  if (!PyUnicode_Check(value.ptr()) && !nb::hasattr(value, "__fspath__"))
    return {matrix_of(name, value), "array"};
  std::variant<ScheduleMask, MaskFile> mask = parse_schedule_mask(text_of(name, value, kMasks));
  if (const auto* file = std::get_if<MaskFile>(&mask))
    return {parse_block_mask(read_text_file(name, file->path), "mask file " + file->path), file->path};
  return std::get<ScheduleMask>(std::move(mask));
}

study::Handoff PythonValue<study::Handoff>::read(const std::string& name, nb::handle value,
                                                 const Accepts& accepts) {
  std::vector<double> latencies;
  const bool several = for_each_element(
      value, [&](nb::handle element) { latencies.push_back(number_of(name, element, accepts)); });
  if (!several) return {number_of(name, value, accepts), std::nullopt};
  if (latencies.size() != 2) refuse(name, value, "a latency, or (near, far)");
  return {latencies[0], latencies[1]};
}

ScheduleTable PythonValue<ScheduleTable>::read(const std::string& name, nb::handle value, const Accepts&) {
  if (!PyUnicode_Check(value.ptr()) && !nb::hasattr(value, "__fspath__"))
    return parse_schedule_table(json_text(to_json_value(name, value)), name);
  const std::string text = text_of(name, value, "JSON or a path");
  if (text.find('{') != std::string::npos) return parse_schedule_table(text, name);
  return parse_schedule_table(read_text_file(name, text), "table " + text);
}

}  // namespace natten_sim::python
