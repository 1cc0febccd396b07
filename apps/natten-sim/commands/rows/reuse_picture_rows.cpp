#include <natten_sim/report/reuse_picture.hpp>

#include "cli/picture_file.hpp"
#include "commands/rows/reuse_flags.hpp"

namespace natten_sim::cli {

Options<OutputFlags> reuse_picture_rows() {
  std::vector<std::pair<std::string, std::string>> kinds;
  for (const report::ReusePicture* picture : report::reuse_pictures()) kinds.emplace_back(picture->name, picture->what);
  return picture_rows(kinds, "What --picture draws and --csv prints. ");
}

}  // namespace natten_sim::cli
