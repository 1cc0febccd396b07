#include "commands/rows/row_source.hpp"

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/json_text.hpp>

namespace natten_sim::cli {

study::RowSource OptionValue<study::RowSource>::from_words(const std::string& name,
                                                           const std::vector<std::string>& words,
                                                           const About&) {
  return study::parse_row_source(name, words.front());
}

study::RowSource OptionValue<study::RowSource>::from_json(const std::string& key, const Json& value,
                                                          const About& about) {
  if (!value.is_string()) throw InvalidParameter(key, json_text(value), study::kRowSources);
  return from_words(key, {value.get<std::string>()}, about);
}

bool OptionValue<study::RowSource>::to_json(const study::RowSource& value, Json& out) {
  put_text(study::name_of(value), out);
  return true;
}

}  // namespace natten_sim::cli
