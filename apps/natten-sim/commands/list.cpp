
#include <natten_sim/core/error.hpp>
#include <natten_sim/report/catalog_report.hpp>

#include "cli/context.hpp"
#include "cli/output.hpp"

namespace natten_sim::cli {
namespace {

struct ListFlags {
  std::string what;
  CatalogFiles files;
  OutputFlags output;
};

report::CatalogTable table_of(const std::string& what) {
  if (what.empty()) throw InvalidParameter("list", "nothing named", "presets, backends, devices or kernels");
  return parse_name<report::CatalogTable>(what);
}

int run_list(const ListFlags& flags) {
  const report::CatalogTable table = table_of(flags.what);
  const Catalog catalog = make_context(flags.files).catalog;
  if (flags.output.json) {
    const report::Json entries = report::catalog_json(catalog, table);
    report::Json result = {{to_string(table), entries}};
    if (table == report::CatalogTable::kKernels) result["times"] = report::kernel_times_json(catalog);
    write_output(flags.output, report::envelope("list", {{"what", flags.what}}, result));
  } else if (flags.output.csv) {
    write_output(flags.output, report::catalog_csv(catalog, table));
  } else {
    write_output(flags.output, report::catalog_text(catalog, table));
  }
  return kExitDone;
}

}  // namespace

Command list_command();
Command list_command() {
  Command command{.name = "list",
                  .position = 70,
                  .summary =
                      "List the presets, backends, devices or kernels that options take by name, with "
                      "their sources",
                  .footer = "Example: natten-sim list presets"};
  Options<ListFlags> options;
  options.positional("what", &ListFlags::what, {.help = "presets, backends, devices or kernels"});
  options.include(catalog_rows(), &ListFlags::files);
  options.include(output_rows(), &ListFlags::output);
  bind(command, options, run_list);
  command.positional_choices = joined(names_of<report::CatalogTable>(), " ");
  return command;
}

}  // namespace natten_sim::cli
