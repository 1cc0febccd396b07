#include <algorithm>
#include <cmath>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/remedies.hpp>

namespace natten_sim {
namespace {

constexpr std::int64_t kCopies = 8;
constexpr double kWarpGroup = 32, kBlockGroup = 256;

Remedy predicted(std::string name, const ScatterLoad& load, const ContentionProfile& profile, double extra_ns,
                 std::int64_t extra_bytes) {
  const ContentionPrediction prediction = predict_contention(load, profile);
  return {std::move(name), prediction.time_ns + extra_ns, extra_bytes, prediction.bound};
}

/// Updates that are left of `multiplicity` out of `updates` when each group of `group` updates writes a row
/// once: groups that hold the row at all.
std::int64_t reduced(std::int64_t multiplicity, std::int64_t updates, double group) {
  if (updates == 0) return 0;
  const double share = static_cast<double>(multiplicity) / static_cast<double>(updates);
  const double groups = std::max(1.0, static_cast<double>(updates) / group);
  const double left = groups * (1 - std::pow(1 - share, group));
  return std::clamp<std::int64_t>(std::llround(left), 1, multiplicity);
}

ScatterLoad pre_reduced(ScatterLoad load, double group) {
  load.max_multiplicity = reduced(load.max_multiplicity, load.updates, group);
  load.serial_multiplicity =
      std::max(load.max_multiplicity, reduced(load.serial_multiplicity, load.updates, group));
  load.close_updates = std::min(load.close_updates, kCloseBlock / group - 1);  // once a group at most
  return load;
}

ScatterLoad sorted(ScatterLoad load) {
  load.updates = load.rows_touched;
  load.max_multiplicity = load.serial_multiplicity = load.updates > 0 ? 1 : 0;
  load.hottest_rows = std::max<std::int64_t>(load.rows_touched, 1);
  load.close_updates = 0;
  return load;
}

ScatterLoad privatised(ScatterLoad load, std::int64_t copies) {
  load.rows_touched = std::min(load.updates, checked_multiply(load.rows_touched, copies, "rows_touched"));
  load.max_multiplicity = ceil_divide(load.max_multiplicity, copies);
  load.serial_multiplicity = std::max(load.max_multiplicity, ceil_divide(load.serial_multiplicity, copies));
  load.hottest_rows = std::clamp<std::int64_t>(checked_multiply(load.hottest_rows, copies, "hottest_rows"), 1,
                                               std::max<std::int64_t>(load.rows_touched, 1));
  load.close_updates /= static_cast<double>(copies);
  return load;
}

/// The lowering of the remedy's construct, if the table has one for this architecture and type.
const Lowering* lowering_of(const std::vector<Lowering>& table, std::string_view construct,
                            std::string_view architecture, ElementType type) {
  for (const Lowering& row : table) {
    if (row.construct == construct && row.architecture == architecture && row.type == type) return &row;
  }
  return nullptr;
}

}  // namespace

std::vector<Remedy> compare_remedies(const ScatterLoad& load, std::int64_t table_rows,
                                     const ContentionProfile& profile, const std::vector<Lowering>& table,
                                     std::string_view architecture, const PreReductionCosts& costs) {
  const std::int64_t elements = checked_multiply(table_rows, load.width, "table elements");
  const std::int64_t destination = checked_multiply(elements, element_bytes(load.type), "extra_bytes");
  const double updated = static_cast<double>(load.updates) * static_cast<double>(load.width);
  std::vector<Remedy> remedies = {predicted("as-is", load, profile, 0, 0)};
  const auto with = [&](const Lowering& row) {
    ScatterLoad changed = load;
    changed.path = row.path;
    changed.vector_width = row.vector_width;
    return changed;
  };

  if (load.type != ElementType::kFp32) {
    ScatterLoad wide = load;
    wide.type = ElementType::kFp32;
    wide.path = InstructionPath::kRed;
    wide.vector_width = 1;
    // Zeroed, read back, and written in the narrow type; one more launch each.
    const double conversion =
        static_cast<double>(elements) * (4 + 4 + 2) / profile.dram_bytes_per_ns + 2 * profile.launch_ns;
    remedies.push_back(predicted("fp32-accumulator", wide, profile, conversion,
                                 checked_multiply(elements, 4, "extra_bytes")));
  }
  const bool half = load.type == ElementType::kFp16;
  const char* packed = half ? "ptx-red-relaxed-f16x2" : "cuda-atomicadd-bfloat162";
  const char* vector = load.type == ElementType::kFp32 ? "ptx-red-relaxed-v4-f32"
                       : half                          ? "ptx-red-relaxed-v8-f16"
                                                       : "ptx-red-relaxed-v8-bf16";
  const Lowering* row =
      load.type == ElementType::kFp32 ? nullptr : lowering_of(table, packed, architecture, load.type);
  if (row != nullptr && load.width % 2 == 0)
    remedies.push_back(predicted("packed-x2", with(*row), profile, 0, 0));
  row = lowering_of(table, vector, architecture, load.type);
  if (row != nullptr && load.width % row->vector_width == 0)
    remedies.push_back(predicted("vector", with(*row), profile, 0, 0));
  row = lowering_of(table, "triton-atomic-relaxed", architecture, load.type);
  if (row != nullptr && load.width % row->vector_width == 0)
    remedies.push_back(predicted("relaxed-ordering", with(*row), profile, 0, 0));

  remedies.push_back(
      predicted("warp-pre-reduction", pre_reduced(load, kWarpGroup), profile, updated * costs.warp_ns, 0));
  remedies.push_back(
      predicted("block-pre-reduction", pre_reduced(load, kBlockGroup), profile, updated * costs.block_ns, 0));
  const std::int64_t sorted_bytes =
      checked_add(checked_multiply(load.updates, 16, "extra_bytes"),
                  checked_multiply(checked_multiply(load.updates, load.width, "extra_bytes"),
                                   element_bytes(load.type), "extra_bytes"),
                  "extra_bytes");
  remedies.push_back(
      predicted("sort-pre-reduction", sorted(load), profile, updated * costs.sort_ns, sorted_bytes));
  const double adding_up = static_cast<double>(destination) * (2 * kCopies + 1) / profile.dram_bytes_per_ns +
                           2 * profile.launch_ns;
  remedies.push_back(predicted("private-copies-8", privatised(load, kCopies), profile, adding_up,
                               checked_multiply(destination, kCopies, "extra_bytes")));
  std::sort(remedies.begin(), remedies.end());
  return remedies;
}

}  // namespace natten_sim
