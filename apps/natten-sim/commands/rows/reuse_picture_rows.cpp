#include <natten_sim/core/names.hpp>
#include <natten_sim/report/reuse_picture.hpp>

#include "commands/rows/reuse_flags.hpp"

namespace natten_sim::cli {

Options<ReuseFlags> reuse_picture_rows() {
  std::vector<std::string> names, descriptions;
  for (const report::ReusePicture* picture : report::reuse_pictures()) {
    names.push_back(picture->name);
    descriptions.push_back(picture->name + " " + picture->what);
  }
  Options<ReuseFlags> rows;
  rows.add("--svg", &ReuseFlags::svg, {.value = "FILE", .help = "Draw the --picture", .echo = Echo::kNever});
  rows.add("--picture", &ReuseFlags::picture,
           {.value = "KIND",
            .help = "What --svg draws and --csv prints: " + joined(descriptions) + " [" +
                    report::default_reuse_picture(true).name + " with --sweep, else " +
                    report::default_reuse_picture(false).name + "]",
            .choices = joined(names, " "),
            .echo = Echo::kNever});
  return rows;
}

}  // namespace natten_sim::cli
