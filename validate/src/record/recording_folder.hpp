#pragma once

#include <string>
#include <vector>

namespace natten_sim::validate {

struct FolderText {
  std::string path;
  std::string text;
};

/// Every *.json of a folder whose `schema` is that, by file name; pipes and folders are left out, whatever
/// their name. @throws InvalidParameter when the folder cannot be read, MalformedData for a file that is no
/// JSON object.
[[nodiscard]] std::vector<FolderText> files_of_schema(const std::string& folder, const char* schema);

}  // namespace natten_sim::validate
