#include "commands/rows/reuse_flags.hpp"

#include <fmt/format.h>

#include "cli/described.hpp"
#include "cli/estimates.hpp"

namespace natten_sim::cli {

using study::ReuseParts;

Options<ReuseFlags> reuse_rows() {
  Options<ReuseFlags> rows;
  rows.include(options_of<ReuseParts>(), &ReuseFlags::parts);
  rows.include(device_file_rows(), &ReuseFlags::files);
  rows.include(reuse_picture_rows(), &ReuseFlags::output);
  RuledOut others{{"csv"}};
  for (const auto& row : rows.rows()) {
    if (row.spec.flags.empty()) continue;
    const std::string name = row.spec.name();
    if (name != "device" && name != "device-file" && name != "l2-bytes" && name != "jitter")
      others.options.push_back(name);
  }
  rows.add("--predictions", &ReuseFlags::predictions,
           {.help = fmt::format(
                "Print the table of predictions for fa2 and cudnn on --device [{}] as a JSON array",
                kPredictedDevice),
            .echo = Echo::kNever,
            .rules_out = others});
  rows.group("Pictures and tables");
  rows.include(conclusion_rows(), &ReuseFlags::output);
  rows.include(estimate_rows(), &ReuseFlags::output);
  return rows.include(output_rows(), &ReuseFlags::output);
}

Json reuse_input(const study::ReuseQuestion& question) {
  const ReuseParts parts = study::parts_of(question);
  OptionMembers<ReuseParts> members;
  study::describe_answered(members, parts);
  return std::move(members).options().echo(parts);
}

}  // namespace natten_sim::cli
