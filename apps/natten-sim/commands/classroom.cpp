#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <natten_sim/core/conflict.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/report/described.hpp>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/reply.hpp"

namespace natten_sim::cli {
namespace {

namespace fs = std::filesystem;

struct ClassroomFlags {
  std::optional<std::string> out;
  std::optional<std::string> pages;
  OutputFlags output;
};

/// What was written.
struct Classroom {
  std::string first;
  std::vector<std::string> files;
};

template <typename Members>
void describe(Members& m, report::Of<Classroom>) {
  m.put("first", &Classroom::first, "The page to open");
  m.put("files", &Classroom::files, "Files that were written, by name");
}

constexpr const char* kFirstPage = "index.html";

/// Where the pages were installed beside this program: bin/natten-sim, share/natten-sim/classroom.
fs::path installed_pages() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  return failed ? fs::path() : program.parent_path().parent_path() / "share" / "natten-sim" / "classroom";
}

fs::path pages_of(const ClassroomFlags& flags) {
  const fs::path folder = flags.pages ? fs::path(*flags.pages) : installed_pages();
  std::error_code unreadable;
  if (fs::exists(folder / kFirstPage, unreadable)) return folder;
  if (!flags.pages)
    throw Missing("classroom", mention("pages") + " DIR, a folder that scripts/build_web.sh has written: no pages came with this program");
  throw InvalidParameter("pages", *flags.pages, "a folder that scripts/build_web.sh has written");
}

/// The names of the files, sorted. @throws InvalidParameter when the folder cannot be written.
std::vector<std::string> copy_pages(const fs::path& from, const std::string& to) {
  std::vector<std::string> names;
  std::error_code failed;
  make_folder("out", to);
  for (fs::directory_iterator entry(from, failed), none; !failed && entry != none; entry.increment(failed)) {
    std::error_code unknown;
    if (!entry->is_regular_file(unknown)) continue;
    names.push_back(entry->path().filename().string());
    write_file((fs::path(to) / names.back()).string(), read_text("pages", entry->path().string()));
  }
  if (failed) throw InvalidParameter("pages", from.string(), "a folder that can be read");
  std::sort(names.begin(), names.end());
  return names;
}

int run_classroom(const ClassroomFlags& flags, Reply& reply) {
  if (!flags.out) throw InvalidParameter("out", "not given", "a folder for the pages");
  const std::vector<std::string> names = copy_pages(pages_of(flags), *flags.out);
  const std::string first = (fs::path(*flags.out) / kFirstPage).string();
  if (flags.output.json) {
    put_answer(flags.output, reply,
               JsonAnswer("classroom", {{"out", *flags.out}}, report::json_of(Classroom{first, names})));
  } else if (flags.output.csv) {
    std::string rows = "file\n";
    for (const std::string& name : names) rows += name + "\n";
    write_output(flags.output, rows);
  } else {
    write_output(flags.output, first + "\n");
  }
  return kExitDone;
}

}  // namespace

Command classroom_command();
Command classroom_command() {
  Options<ClassroomFlags> rows;
  rows.add("--out", &ClassroomFlags::out, {.value = "DIR", .help = "Folder for the pages, made where it is missing"});
  rows.add("--pages", &ClassroomFlags::pages,
           {.value = "DIR", .help = "Folder to copy them from [where they were installed with the program]"});
  rows.include(output_rows(), &ClassroomFlags::output);
  Command command{
      .name = "classroom", .position = 85, .summary = "Write the pages to play with, for any browser"};
  command.group = kHelpCommands;
  command.examples = {"natten-sim classroom --out lecture"};
  command.notes = "Open DIR/index.html: no server is needed, and nothing leaves the browser.";
  command.exit_codes = "0 done; 1 internal error, 2 bad input.";
  command.result_schema = report::schema_of<Classroom>;
  bind(command, rows.essentials({"out", "json"}), run_classroom);
  return command;
}

}  // namespace natten_sim::cli
