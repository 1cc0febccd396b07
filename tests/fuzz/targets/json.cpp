// JSON: what is accepted is written and read again as the same, and is JSON to another reader.
#include <nlohmann/json.hpp>

#include <natten_sim/io/json_text.hpp>

#include "fuzz/target.hpp"

namespace natten_sim::fuzz::json {

void read(std::string_view input) {
  const Json value = parse_json(input);
  const std::string written = json_text(value);
  require(json_text(parse_json(written)) == written, "written JSON reads as itself");
  require(nlohmann::json::accept(input), "nlohmann-json accepts what is accepted");
}

const Target kTarget("json", read);

}  // namespace natten_sim::fuzz::json
