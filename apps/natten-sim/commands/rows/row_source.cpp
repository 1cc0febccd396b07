#include "commands/rows/row_source.hpp"

namespace natten_sim::cli {

study::RowSource OptionValue<study::RowSource>::from_words(const std::string& name,
                                                           const std::vector<std::string>& words,
                                                           const About&) {
  return study::parse_row_source(name, words.front());
}

bool OptionValue<study::RowSource>::to_json(const study::RowSource& value, Json& out) {
  put_text(study::name_of(value), out);
  return true;
}

}  // namespace natten_sim::cli
