#include <natten_sim/study/describe/about.hpp>

namespace natten_sim::study {

std::string before_default(const std::string& help, const std::string& more) {
  const std::size_t brackets = help.ends_with("]") ? help.rfind(" [") : std::string::npos;
  if (brackets == std::string::npos) return help + more;
  return help.substr(0, brackets) + more + help.substr(brackets);
}

std::string with_members(const std::string& help, std::string (*spell)(const std::string& member)) {
  std::string text;
  std::size_t begin = 0;
  for (std::size_t open; (open = help.find('{', begin)) != std::string::npos;) {
    const std::size_t close = help.find('}', open);
    if (close == std::string::npos) break;
    text += help.substr(begin, open - begin) + spell(help.substr(open + 1, close - open - 1));
    begin = close + 1;
  }
  return text + help.substr(begin);
}

}  // namespace natten_sim::study
