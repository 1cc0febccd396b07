#include "cli/answer_schema.hpp"

#include <algorithm>

#include <natten_sim/report/closing.hpp>

namespace natten_sim::cli {

bool has_answer_schema(const Command& command) { return command.result_schema != nullptr; }

Json answer_schema(const Command& command) {
  if (command.result_schema == nullptr) return Json::object();
  Json schema = command.result_schema();
  const bool concludes =
      std::any_of(command.options.begin(), command.options.end(),
                  [](const OptionSpec& option) { return option.is_called("no-conclusion"); });
  if (concludes) {
    schema["properties"]["conclusion"] = {
        {"description", "What the answer comes down to; left out with --no-conclusion"}};
    schema["properties"]["conclusion"].update(report::closing_schema());
  }
  return schema;
}

}  // namespace natten_sim::cli
