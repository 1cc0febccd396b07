#include "schedule_values.hpp"

#include <nanobind/ndarray.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>

#include "text_file.hpp"

namespace natten_sim::python {
namespace {

constexpr const char* kMasks =
    "a rule as text, a file, or a matrix (Q tiles, KV tiles) of at most 65,536 an edge, with 0 skipped, 1 "
    "partial, 2 "
    "full, or booleans";
constexpr std::size_t kMaxEdge = study::kMaxScheduleTiles;

template <typename T>
void copy_tiles(const std::string& name, nb::handle value, const T* tiles, bool booleans, BlockMask& mask) {
  for (std::size_t cell = 0; cell < mask.work.size(); ++cell) {
    const auto tile = static_cast<std::int64_t>(tiles[cell]);
    if (tile < 0 || tile > 2) refuse(name, value, kMasks);
    mask.work[cell] = booleans && tile == 1 ? TileWork::kFull : static_cast<TileWork>(tile);
  }
}

BlockMask matrix_of(const std::string& name, nb::handle value) {
  nb::ndarray<nb::ro, nb::c_contig, nb::ndim<2>, nb::device::cpu> array;
  if (!nb::try_cast(value, array) || array.size() == 0 || array.shape(0) > kMaxEdge ||
      array.shape(1) > kMaxEdge)
    refuse(name, value, kMasks);
  BlockMask mask{static_cast<std::int32_t>(array.shape(0)), static_cast<std::int32_t>(array.shape(1)), {}};
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

}  // namespace

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
