#include "ncu_table.hpp"

#include <algorithm>
#include <cctype>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/csv_text.hpp>
#include <natten_sim/io/files.hpp>

namespace natten_sim::validate {
namespace {

/// The next line without its end, "\n" or "\r\n".
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::optional<std::size_t> column_of(const NcuCells& header, std::string_view name) {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

std::optional<NcuHeader> as_header(const NcuCells& cells, char separator) {
  const auto id = column_of(cells, "ID"), kernel = column_of(cells, "Kernel Name");
  if (!id || !kernel) return std::nullopt;
  return NcuHeader{cells,
                   separator,
                   *id,
                   *kernel,
                   column_of(cells, "Process ID"),
                   column_of(cells, "Grid Size"),
                   column_of(cells, "Block Size"),
                   column_of(cells, "Metric Name"),
                   column_of(cells, "Metric Unit"),
                   column_of(cells, "Metric Value"),
                   std::nullopt};
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

/// Whether a line whose quotes do not close was a row.
bool begins_as_row(std::string_view line) {
  if (line.starts_with('"')) line.remove_prefix(1);
  return !line.empty() && (std::isdigit(static_cast<unsigned char>(line.front())) != 0);
}

}  // namespace

NcuTable::NcuTable(std::string_view text, const std::string& where) : rest_(text), where_(&where) {
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
}

std::string NcuTable::place() const { return *where_ + ":" + std::to_string(line_); }

bool NcuTable::next() {
  while (!rest_.empty()) {
    const std::string_view line = take_line(rest_);
    ++line_;
    if (line.empty() || line.starts_with("==") || take_header(line)) continue;
    if (header_ && take_row(line)) return true;
  }
  return false;
}

bool NcuTable::take_header(std::string_view line) {
  if (line.find("Kernel Name") == std::string_view::npos) return false;
  for (const char separator : {',', ';', '\t'}) {
    const std::optional<NcuCells> cells = csv_cells(line, separator);
    std::optional<NcuHeader> found = cells ? as_header(*cells, separator) : std::nullopt;
    if (!found) continue;
    header_ = std::move(found);
    return true;
  }
  return false;
}

bool NcuTable::take_row(std::string_view line) {
  std::optional<NcuCells> cells = csv_cells(line, header_->separator);
  if (!cells) {
    if (!begins_as_row(line)) return false;
    throw MalformedData(place(), "a quote that does not close", "CSV as ncu --csv writes it");
  }
  if (cells->size() == 1 || cells->size() <= header_->id) return false;
  const std::string& id = (*cells)[header_->id];
  const bool units_open = !header_->details() && !header_->units;
  if (!is_number(id) && !(units_open && id.empty())) return false;
  cells_ = *std::move(cells);
  require_length();
  if (!units_open) return true;
  if (!id.empty() && is_number(cells_[header_->id]))
    throw MalformedData(place(), "a launch", "the row of units below the header");
  header_->units = std::move(cells_);
  return false;
}

void NcuTable::require_length() {
  const std::size_t count = cells_.size(), full = header_->cells.size();
  while (cells_.size() > full && cells_.back().empty()) cells_.pop_back();
  if (cells_.size() == full) return;
  const bool details = header_->details();
  const std::size_t least =
      details
          ? std::max({header_->id, header_->kernel, *header_->metric, *header_->unit, *header_->value}) + 1
          : full;
  if (cells_.size() > full || cells_.size() < least) {
    throw MalformedData(place(), std::to_string(count) + " cells",
                        std::to_string(full) + " cells, as the header has" +
                            (details ? ", or fewer, up to the metric's value" : ""));
  }
  cells_.resize(full);
}

std::string NcuTable::without_instances(const std::string& value) {
  const std::size_t at = value.find(" (");
  return at == std::string::npos || !value.ends_with(')') ? value : value.substr(0, at);
}

}  // namespace natten_sim::validate
