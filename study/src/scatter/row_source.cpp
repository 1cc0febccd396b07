#include <natten_sim/io/index_file.hpp>
#include <natten_sim/study/scatter.hpp>

namespace natten_sim::study {

RowSource parse_row_source(const std::string& parameter, const std::string& text, const char* accepted) {
  constexpr std::string_view kFile = "file:";
  if (!text.starts_with(kFile) || text == kFile) return parse_index_distribution(text, parameter, accepted);
  const std::string path = text.substr(kFile.size());
  return GivenRows{text,
                   [parameter, path](std::int64_t rows) { return open_index_file(parameter, path, rows); }};
}

std::string name_of(const RowSource& source) {
  if (const auto* given = std::get_if<GivenRows>(&source)) return given->name;
  return to_string(std::get<IndexDistribution>(source));
}

}  // namespace natten_sim::study
