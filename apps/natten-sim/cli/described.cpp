#include "cli/described.hpp"

#include <algorithm>

#include "cli/context.hpp"

namespace natten_sim::cli {
namespace {

std::string dashed(std::string member) {
  std::replace(member.begin(), member.end(), '_', '-');
  return member;
}

std::string flag_of(const std::string& member) { return "--" + dashed(member); }

struct CatalogTable {
  const char* listed;  ///< by help; empty: nowhere
  std::vector<std::string> (*names)();
};

CatalogTable table_of(study::NamesOfCatalog names) {
  switch (names) {
    case study::NamesOfCatalog::kNone:
      break;
    case study::NamesOfCatalog::kPresets:
      return {" (see list presets)", preset_names};
    case study::NamesOfCatalog::kDevices:
      return {" (see list devices)", device_names};
    case study::NamesOfCatalog::kBackends:
      return {" (see list backends)", backend_names};
    case study::NamesOfCatalog::kKernels:
      return {" (see list kernels)", attention_kernel_names};
    case study::NamesOfCatalog::kNatten:
      return {"", natten_versions};
  }
  return {"", nullptr};
}

}  // namespace

std::string flags_of(const std::string& member, const About& about) {
  return about.flags.empty() ? flag_of(member) : about.flags;
}

About option_about(const std::string& member, About about) {
  const CatalogTable table = table_of(about.names);
  if (about.key.empty()) about.key = member;
  about.help = study::with_members(study::before_default(about.help, table.listed), flag_of);
  if (about.bare != nullptr) about.help = study::before_default(about.help, "; without a value, all");
  if (about.suggestions == nullptr) about.suggestions = table.names;
  about.rules_out.accepted = study::with_members(about.rules_out.accepted, flag_of);
  return about;
}

}  // namespace natten_sim::cli
