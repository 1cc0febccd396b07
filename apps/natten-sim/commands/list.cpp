#include <algorithm>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/io/attention_kernels.hpp>
#include <natten_sim/report/catalog_report.hpp>

#include "cli/context.hpp"
#include "cli/output.hpp"
#include "cli/reply.hpp"
#include "cli/table_file.hpp"

namespace natten_sim::cli {
namespace {

struct ListFlags {
  std::optional<std::string> what;  ///< none: the names in all tables
  bool file = false;                ///< kernels as a kernel file
  CatalogFiles files;
  OutputFlags output;
};

/// Lists the names of everything.
void list_all(const ListFlags& flags, Reply& reply, const Catalog& catalog) {
  const auto rows = [&] { return report::catalog_names_rows(catalog); };
  AnswerBody body;
  if (flags.output.json) {
    body = JsonAnswer("list", {{"what", nullptr}}, report::catalog_names_json(catalog));
  } else {
    body = flags.output.csv ? AnswerBody(rows()) : report::catalog_names_text(catalog);
  }
  put_answer(flags.output, reply, std::move(body), {.table = tabled(flags.output, rows)});
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

struct FoundEntry {
  const report::CatalogTable* table = nullptr;
  Catalog catalog;  ///< with this entry alone in the table
};

/// The tables that have an entry of this name. @throws UnknownName where none has, with all names.
std::vector<FoundEntry> entries_named(const std::string& name, const Catalog& catalog) {
  std::vector<FoundEntry> found;
  std::vector<std::string> names;
  for (const report::CatalogTable* table : report::catalog_tables()) {
    names.push_back(table->name);
    if (table->keep == nullptr) continue;
    for (const Json& entry : table->entries(catalog)) names.push_back(entry.at("name").get<std::string>());
    FoundEntry one{table, catalog};
    try {
      table->keep(one.catalog, name);
      found.push_back(std::move(one));
    } catch (const UnknownName&) {
      continue;
    }
  }
  if (found.empty())
    throw UnknownName("list", name, closest_name(name, names),
                      report::catalog_table_names() + ", or a name in one");
  return found;
}

/// What `--kernel` takes, to be changed.
void write_kernel_file(const ListFlags& flags, const std::vector<FoundEntry>& found) {
  for (const FoundEntry& entry : found) {
    if (std::string_view(entry.table->name) != "kernels") continue;
    write_output(flags.output, kernel_file_text(entry.catalog.kernels));
    return;
  }
  throw InvalidParameter("file", "beside " + *flags.what, "kernels, or the name of one");
}

/// Whole tables, or one entry of each.
void list_tables(const ListFlags& flags, Reply& reply, const std::vector<FoundEntry>& found) {
  if (flags.output.csv || flags.output.table) {
    if (found.size() > 1) {
      throw InvalidParameter(
          flags.output.csv ? "--csv" : "--table", *flags.what + ", which stands in several lists",
          "--json, or the list: " + found.front().table->name + " or " + found.back().table->name);
    }
    const report::Rows rows = report::catalog_rows(found.front().catalog, *found.front().table);
    if (flags.output.table) write_table(flags.output, rows);
    if (flags.output.csv) return write_output(flags.output, report::csv_text(rows));
  }
  Json result = Json::object();
  std::string text;
  for (const FoundEntry& entry : found) {
    result.update(report::catalog_json(entry.catalog, *entry.table));
    text += (text.empty() || text.ends_with("\n\n") ? "" : "\n") + entry.table->text(entry.catalog);
  }
  if (flags.output.json) {
    put_answer(flags.output, reply, JsonAnswer("list", {{"what", *flags.what}}, std::move(result)));
  } else {
    write_output(flags.output, text);
  }
}

int run_list(const ListFlags& flags, Reply& reply) {
  if (flags.what) refuse_elsewhere(*flags.what);
  const Catalog catalog = make_context(flags.files).catalog;
  if (!flags.what) {
    if (flags.file) throw InvalidParameter("file", "without a list", "kernels, or the name of one");
    list_all(flags, reply, catalog);
    return kExitDone;
  }
  const auto& tables = report::catalog_tables();
  const auto whole = std::find_if(tables.begin(), tables.end(), [&](const report::CatalogTable* table) {
    return table->name == *flags.what;
  });
  const std::vector<FoundEntry> found = whole != tables.end() ? std::vector<FoundEntry>{{*whole, catalog}}
                                                              : entries_named(*flags.what, catalog);
  flags.file ? write_kernel_file(flags, found) : list_tables(flags, reply, found);
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
                  .examples = {"natten-sim list", "natten-sim list presets", "natten-sim list hunyuan-video",
                               "natten-sim list devices --json",
                               "natten-sim list kernels --file"},
                  .exit_codes = "0 done, 1 internal error, 2 bad input."};
  Options<ListFlags> options;
  options.positional("what", &ListFlags::what,
                     {.help = report::catalog_table_names() + ", or a name in one [the names of all]"});
  options.add("--file", &ListFlags::file,
              {.help = "Of kernels: the kernel file that describes them, as --kernel takes it",
               .echo = Echo::kNever,
               .excludes = {"json", "csv", "table"}});
  options.include(catalog_rows(), &ListFlags::files);
  options.include(table_rows(), &ListFlags::output);
  options.include(output_rows(), &ListFlags::output);
  command.result_schema = report::catalog_schema;
  bind(command, options.essentials({"json", "csv"}), run_list);
  command.positional_choices = choices();
  return command;
}

}  // namespace natten_sim::cli
