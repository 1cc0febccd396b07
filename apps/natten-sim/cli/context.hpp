#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/study/context.hpp>

#include "cli/options.hpp"

namespace natten_sim::cli {

/// The user's own additions to the catalog.
struct CatalogFiles {
  std::optional<std::string> preset_file;
  std::optional<std::string> device_file;
  std::optional<std::string> costs;  ///< of kernels, as `calibrate` writes them
  bool measured_only = false;        ///< no times that are transferred or physical
};

/// --preset-file, --device-file, --costs and --measured-only, for every subcommand that looks a name up.
[[nodiscard]] Options<CatalogFiles> catalog_rows();
/// --device-file alone, for subcommands without presets.
[[nodiscard]] Options<CatalogFiles> device_file_rows();

// Names of the catalog that ships, for completion.
[[nodiscard]] std::vector<std::string> preset_names();
[[nodiscard]] std::vector<std::string> device_names();
[[nodiscard]] std::vector<std::string> backend_names();
[[nodiscard]] std::vector<std::string> attention_kernel_names();
[[nodiscard]] std::vector<std::string> natten_versions();

/// What ships with the program and what the files add. @throws MalformedData, InvalidParameter
[[nodiscard]] study::Context make_context(const CatalogFiles& files);

/// The same for one answer of many, as of `serve`: without files it is what the thread has kept, which saves
/// copying the catalog. Progress and threads of one answer are not those of the next. One at a time in a
/// thread.
class AnswerContext {
 public:
  explicit AnswerContext(const CatalogFiles& files);
  ~AnswerContext();
  AnswerContext(const AnswerContext&) = delete;
  AnswerContext& operator=(const AnswerContext&) = delete;

  [[nodiscard]] study::Context& get() { return own_ ? *own_ : kept(); }

 private:
  [[nodiscard]] static study::Context& kept();

  std::optional<study::Context> own_;
};

}  // namespace natten_sim::cli
