#include "cli/context.hpp"

#include <algorithm>
#include <thread>

#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/kernel_times.hpp>

#include "cli/output.hpp"

namespace natten_sim::cli {
namespace {

template <typename T>
std::vector<std::string> names_in(const std::vector<T>& entries) {
  std::vector<std::string> names;
  for (const T& entry : entries) names.push_back(entry.name);
  return names;
}

}  // namespace

Options<CatalogFiles> catalog_rows() {
  Options<CatalogFiles> rows;
  rows.add("--preset-file", &CatalogFiles::preset_file,
           {.value = "FILE", .help = "More presets, as JSON", .echo = Echo::kNever});
  rows.include(device_file_rows(), [](CatalogFiles& files) -> CatalogFiles& { return files; });
  rows.add("--costs", &CatalogFiles::costs,
           {.value = "FILE",
            .help = "More times of kernels, as `calibrate --save` writes them",
            .echo = Echo::kNever});
  rows.add("--measured-only", &CatalogFiles::measured_only,
           {.help = "No times but of kernels that were measured on the device", .echo = Echo::kNever});
  return rows.group(kFilesGroup);
}

Options<CatalogFiles> device_file_rows() {
  Options<CatalogFiles> rows;
  rows.add("--device-file", &CatalogFiles::device_file,
           {.value = "FILE", .help = "More devices, as JSON", .echo = Echo::kNever});
  return rows.group(kFilesGroup);
}

std::vector<std::string> preset_names() { return names_in(study::default_context().catalog.presets); }
std::vector<std::string> device_names() { return names_in(study::default_context().catalog.devices); }
std::vector<std::string> backend_names() { return names_in(study::default_context().catalog.backends); }
std::vector<std::string> attention_kernel_names() { return names_in(study::default_context().catalog.kernels); }

std::vector<std::string> natten_versions() {
  std::vector<std::string> versions;
  for (const NattenRules& release : study::default_context().catalog.natten)
    versions.push_back(release.version);
  return versions;
}

study::Context make_context(const CatalogFiles& files) {
  study::Context context = study::default_context();
  context.threads = std::max(1u, std::thread::hardware_concurrency());
  if (files.preset_file) {
    add_presets(context.catalog, read_text("preset-file", *files.preset_file, kMaxCatalogBytes),
                "preset file " + *files.preset_file);
  }
  if (files.device_file) {
    add_devices(context.catalog, read_text("device-file", *files.device_file, kMaxCatalogBytes),
                "device file " + *files.device_file);
  }
  if (files.measured_only) context.catalog.physics = {};
  if (files.costs)
    add_kernel_times(context.catalog, read_text("costs", *files.costs, kMaxCatalogBytes),
                     "costs file " + *files.costs);
  return context;
}

AnswerContext::AnswerContext(const CatalogFiles& files) {
  if (files.preset_file || files.device_file || files.costs || files.measured_only) own_ = make_context(files);
}

AnswerContext::~AnswerContext() {
  if (own_) return;
  kept().progress = {};
  kept().threads = 1;
}

study::Context& AnswerContext::kept() {
  thread_local study::Context context = study::default_context();
  return context;
}

}  // namespace natten_sim::cli
