#include "commands/rows/mask_values.hpp"

#include <utility>

#include <natten_sim/io/files.hpp>
#include <natten_sim/io/mask_file.hpp>
#include <natten_sim/io/schedule_table.hpp>

namespace natten_sim::cli {

GivenMask parse_given_mask(const std::string& name, const std::string& text) {
  std::variant<ScheduleMask, MaskFile> mask = parse_schedule_mask(text);
  if (const auto* file = std::get_if<MaskFile>(&mask)) {
    GivenMask given = parse_mask_file(read_text(name, file->path, kMaxMaskBytes), "mask file " + file->path);
    given.mask.origin = file->path;
    return given;
  }
  GivenMask given;
  given.mask = std::get<ScheduleMask>(std::move(mask));
  return given;
}

std::string given_mask_text(const GivenMask& mask) { return mask_text(mask.mask); }

}  // namespace natten_sim::cli
