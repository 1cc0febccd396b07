
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

const report::CatalogTable& table_of(const std::string& what) {
  if (what.empty()) throw InvalidParameter("list", "nothing named", report::catalog_table_names());
  return report::catalog_table(what);
}

std::string choices() {
  std::vector<std::string> names;
  for (const report::CatalogTable* table : report::catalog_tables()) names.push_back(table->name);
  return joined(names, " ");
}

int run_list(const ListFlags& flags) {
  const report::CatalogTable& table = table_of(flags.what);
  const Catalog catalog = make_context(flags.files).catalog;
  if (flags.output.json) {
    write_output(flags.output,
                 report::envelope("list", {{"what", flags.what}}, report::catalog_json(catalog, table)));
  } else if (flags.output.csv) {
    write_output(flags.output, report::catalog_csv(catalog, table));
  } else {
    write_output(flags.output, table.text(catalog));
  }
  return kExitDone;
}

}  // namespace

Command list_command();
Command list_command() {
  Command command{.name = "list",
                  .position = 70,
                  .summary = "List the " + report::catalog_table_names() +
                             " that options take by name, with their sources",
                  .footer = "Example: natten-sim list presets"};
  Options<ListFlags> options;
  options.positional("what", &ListFlags::what, {.help = report::catalog_table_names()});
  options.include(catalog_rows(), &ListFlags::files);
  options.include(output_rows(), &ListFlags::output);
  bind(command, options, run_list);
  command.positional_choices = choices();
  return command;
}

}  // namespace natten_sim::cli
