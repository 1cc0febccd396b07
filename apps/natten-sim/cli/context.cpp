#include "cli/context.hpp"

#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/kernel_times.hpp>

#include "cli/output.hpp"

namespace natten_sim::cli {
namespace {

constexpr std::int64_t kMaxCatalogBytes = std::int64_t{1} << 26;

}  // namespace

Options<CatalogFiles> catalog_rows() {
  Options<CatalogFiles> rows;
  rows.add("--preset-file", &CatalogFiles::preset_file,
           {.value = "FILE", .help = "More presets, as JSON", .echo = Echo::kNever});
  rows.include(device_file_rows(), [](CatalogFiles& files) -> CatalogFiles& { return files; });
  return rows.add("--costs", &CatalogFiles::costs,
                  {.value = "FILE",
                   .help = "More times of kernels, as `calibrate --save` writes them",
                   .echo = Echo::kNever});
}

Options<CatalogFiles> device_file_rows() {
  Options<CatalogFiles> rows;
  rows.add("--device-file", &CatalogFiles::device_file,
           {.value = "FILE", .help = "More devices, as JSON", .echo = Echo::kNever});
  return rows;
}

study::Context make_context(const CatalogFiles& files) {
  study::Context context = study::default_context();
  if (files.preset_file) {
    add_presets(context.catalog, read_text("preset-file", *files.preset_file, kMaxCatalogBytes),
                "preset file " + *files.preset_file);
  }
  if (files.device_file) {
    add_devices(context.catalog, read_text("device-file", *files.device_file, kMaxCatalogBytes),
                "device file " + *files.device_file);
  }
  if (files.costs)
    add_kernel_times(context.catalog, read_text("costs", *files.costs, kMaxCatalogBytes),
                     "costs file " + *files.costs);
  return context;
}

}  // namespace natten_sim::cli
