#pragma once

#include <string>
#include <utility>
#include <vector>

namespace natten_sim {

/// This software, or a work whose model it uses, as BibTeX has it.
struct Citation {
  std::string key;
  std::string type;                                          ///< "phdthesis"
  std::string title;
  std::vector<std::string> authors;                          ///< "Hassani, Ali"; in braces: one name as it stands
  std::vector<std::pair<std::string, std::string>> fields;   ///< further ones, by name
  std::vector<std::string> subcommands;                      ///< that use its model; empty: all of them
};

/// data/citations.json, this software first.
[[nodiscard]] std::vector<Citation> builtin_citations();

}  // namespace natten_sim
