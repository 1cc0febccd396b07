
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/report/catalog_report.hpp>

#include "cli/context.hpp"
#include "cli/output.hpp"

namespace natten_sim::cli {
namespace {

struct ListFlags {
  std::optional<std::string> what;  ///< none: the names in all tables
  CatalogFiles files;
  OutputFlags output;
};

/// Of everything: the names alone.
void list_all(const ListFlags& flags, const Catalog& catalog) {
  if (flags.output.json) {
    write_output(flags.output, report::envelope("list", {{"what", nullptr}}, report::catalog_names_json(catalog)));
  } else if (flags.output.csv) {
    write_output(flags.output, report::catalog_names_csv(catalog));
  } else {
    write_output(flags.output, report::catalog_names_text(catalog));
  }
}

std::string choices() {
  std::vector<std::string> names;
  for (const report::CatalogTable* table : report::catalog_tables()) names.push_back(table->name);
  return joined(names, " ");
}

/// What people look for here and another subcommand lists.
void refuse_elsewhere(const std::string& what) {
  for (const auto& [asked, command] :
       {std::pair{"papers", "natten-sim reproduce"}, std::pair{"works", "natten-sim reproduce"},
        std::pair{"figures", "natten-sim reproduce"}, std::pair{"suites", "natten-sim validate"},
        std::pair{"algorithms", "natten-sim schedule --help"}, std::pair{"schemas", "natten-sim schema"}}) {
    if (what == asked) throw UnknownName("list", what, command, report::catalog_table_names());
  }
}

int run_list(const ListFlags& flags) {
  if (flags.what) refuse_elsewhere(*flags.what);
  const Catalog catalog = make_context(flags.files).catalog;
  if (!flags.what) {
    list_all(flags, catalog);
    return kExitDone;
  }
  const report::CatalogTable& table = report::catalog_table(*flags.what);
  if (flags.output.json) {
    write_output(flags.output,
                 report::envelope("list", {{"what", *flags.what}}, report::catalog_json(catalog, table)));
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
                  .group = kHelpCommands,
                  .summary = "List the " + report::catalog_table_names() +
                             " that options take by name, with their sources",
                  .examples = {"natten-sim list", "natten-sim list presets", "natten-sim list devices --json"},
                  .exit_codes = "0 done, 1 internal error, 2 bad input."};
  Options<ListFlags> options;
  options.positional("what", &ListFlags::what, {.help = report::catalog_table_names() + " [the names of all]"});
  options.include(catalog_rows(), &ListFlags::files);
  options.include(output_rows(), &ListFlags::output);
  bind(command, options.essentials({"json", "csv"}), run_list);
  command.positional_choices = choices();
  return command;
}

}  // namespace natten_sim::cli
