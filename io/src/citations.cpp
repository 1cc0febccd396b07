#include <natten_sim/io/citations.hpp>
#include <natten_sim/io/strict_object.hpp>

#include "embedded_data.hpp"

namespace natten_sim {

std::vector<Citation> builtin_citations() {
  const std::string where = "data/citations.json";
  const Json document = parse_strict(embedded::citations, where, "natten-sim.citations/1");
  std::vector<Citation> works;
  for (const Json& entry : StrictObject(document, where, {"schema", "works"}).array("works")) {
    const StrictObject work(entry, where, {"key", "type", "title", "authors", "fields", "subcommands"});
    Citation& citation = works.emplace_back(Citation{work.text("key"), work.text("type"), work.text("title"),
                                                     work.texts("authors"), {}, work.texts("subcommands")});
    for (const auto& [name, value] : work.at("fields").items())
      citation.fields.emplace_back(name, value.get<std::string>());
  }
  return works;
}

}  // namespace natten_sim
