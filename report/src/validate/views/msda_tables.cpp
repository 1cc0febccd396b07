#include <algorithm>
#include <string_view>

#include <natten_sim/io/json_text.hpp>
#include <natten_sim/report/described.hpp>
#include <natten_sim/report/validation_views.hpp>
#include <natten_sim/validate/cases/msda.hpp>

#include "validate/view_tables.hpp"

namespace natten_sim::report::views {
namespace {

using kernels::scatter_add::Path;
using validate::MsdaCase;

/// A cell of a table: which table of the paper it redraws, which line it stands in, and its column.
struct TableCell {
  std::string_view table;
  std::string config, phase, dtype, column;
  double value = 0;
};

struct TableHead {
  std::string_view table;
  const char* title;
  const char* unit;
  int decimals;
};

constexpr TableHead kHeads[] = {
    {"1, 4", "Tables 1 and 4: tilings", "ms", 3},
    {"2, 3", "Tables 2 and 3: accumulators, backward, block tiling", "ms", 3},
    {"5", "Table 5: peak memory from the shapes of the tensors", "MiB", 1},
    {"6", "Table 6: dispatch orders, block tiling, time over that of the linear order", "ratio", 3},
    {"13", "Table 13: techniques, block tiling", "ms", 3},
};

/// A measured launch of a recording.
struct Measured {
  const MsdaCase* point;
  double ms;
};

bool has_wide_parameters(const MsdaCase& point) { return point.parameters_dtype == Dtype::kFp32; }
bool is_block(const MsdaCase& point) { return point.tiling == MsdaTiling::kBlock; }
bool is_forward(const MsdaCase& point) { return point.phase == MsdaPhase::kForward; }
bool is_plain_order(const MsdaCase& point) { return point.order == QueryOrder::kLinear; }
bool adds_vectors(const MsdaCase& point) { return is_forward(point) || point.path == Path::kRed16; }

TableCell cell_of(std::string_view table, const MsdaCase& point, std::string column, double value) {
  return {table, point.config.name, to_string(point.phase), to_string(point.dtype), std::move(column), value};
}

void add_tilings(const Measured& run, std::vector<TableCell>& cells) {
  const MsdaCase& point = *run.point;
  if (has_wide_parameters(point) && is_plain_order(point) && adds_vectors(point))
    cells.push_back(cell_of("1, 4", point, to_string(point.tiling), run.ms));
}

void add_accumulators(const Measured& run, std::vector<TableCell>& cells) {
  const MsdaCase& point = *run.point;
  if (!is_forward(point) && has_wide_parameters(point) && is_plain_order(point) && is_block(point))
    cells.push_back(cell_of("2, 3", point, to_string(point.path), run.ms));
}

/// All tensors of a pass and its scratch: what must be there at once.
std::size_t peak_bytes(const kernels::msda::Problem& problem, MsdaPhase phase) {
  const kernels::msda::TensorBytes bytes = tensor_bytes(problem);
  const std::size_t gradients = bytes.values + bytes.locations + bytes.weights;
  return bytes.values + bytes.locations + bytes.weights + bytes.output +
         (phase == MsdaPhase::kBackward ? gradients : 0) + scratch_bytes(problem, phase);
}

void add_memory(const Measured& run, std::vector<TableCell>& cells) {
  const MsdaCase& point = *run.point;
  const bool shown = is_forward(point) || point.path == Path::kRed16 || point.path == Path::kAccumulator ||
                     point.path == Path::kPrivate;
  if (!shown || !is_plain_order(point) || !has_wide_parameters(point) || (!is_forward(point) && !is_block(point)))
    return;
  const double mib = static_cast<double>(peak_bytes(point.problem(), point.phase)) / (1 << 20);
  const std::string column =
      is_forward(point) ? std::string(to_string(point.phase)) + " " + to_string(point.tiling)
                        : std::string(to_string(point.phase)) + " " + to_string(point.path);
  TableCell cell = cell_of("5", point, column, mib);
  cell.phase = "";
  cells.push_back(cell);
}

const Measured* linear_partner(const MsdaCase& point, const std::vector<Measured>& runs) {
  const auto at = std::find_if(runs.begin(), runs.end(), [&](const Measured& other) {
    MsdaCase linear = point;
    linear.order = QueryOrder::kLinear;
    return other.point->key() == linear.key();
  });
  return at == runs.end() ? nullptr : &*at;
}

void add_orders(const Measured& run, const std::vector<Measured>& runs, std::vector<TableCell>& cells) {
  const MsdaCase& point = *run.point;
  if (is_plain_order(point)) return;
  if (const Measured* linear = linear_partner(point, runs))
    cells.push_back(cell_of("6", point, to_string(point.order), run.ms / linear->ms));
}

/// Vector reductions instead of scalar ones, and 16-bit locations and weights instead of fp32.
void add_techniques(const Measured& run, std::vector<TableCell>& cells) {
  const MsdaCase& point = *run.point;
  if (!is_block(point) || !is_plain_order(point) || point.dtype == Dtype::kFp32) return;
  if (!has_wide_parameters(point)) {
    cells.push_back(cell_of("13", point, "16-bit locations and weights", run.ms));
  } else if (adds_vectors(point)) {
    cells.push_back(cell_of("13", point, "plain", run.ms));
  } else if (point.path == Path::kScalar) {
    cells.push_back(cell_of("13", point, "scalar atomics", run.ms));
  }
}

/// A line of one cell compares nothing.
void drop_single_cells(std::string_view table, std::vector<TableCell>& cells) {
  const auto same_line = [](const TableCell& a, const TableCell& b) {
    return a.table == b.table && a.config == b.config && a.phase == b.phase && a.dtype == b.dtype;
  };
  const std::vector<TableCell> all = cells;
  cells.erase(std::remove_if(cells.begin(), cells.end(),
                             [&](const TableCell& cell) {
                               return cell.table == table &&
                                      std::count_if(all.begin(), all.end(), [&](const TableCell& other) {
                                        return same_line(cell, other);
                                      }) == 1;
                             }),
              cells.end());
}

std::vector<TableCell> cells_of(const std::vector<Measured>& runs) {
  std::vector<TableCell> cells;
  for (const Measured& run : runs) {
    add_tilings(run, cells);
    add_accumulators(run, cells);
    add_memory(run, cells);
    add_orders(run, runs, cells);
    add_techniques(run, cells);
  }
  return cells;
}

std::vector<Measured> measured_of(const validate::Recording& recording) {
  std::vector<Measured> runs;
  for (const validate::RecordedRow& row : recording.rows) {
    const auto* const point = row.point.as<MsdaCase>();
    if (point != nullptr && row.timing) runs.push_back({point, row.timing->milliseconds.median});
  }
  return runs;
}

/// One table: a line a configuration, pass and type, a column a variant, both in the order of the recording.
void append_cells(const TableHead& head, const std::vector<TableCell>& cells, const std::string& device,
                  std::string& text) {
  std::vector<std::string> lines, columns;
  const auto place = [](std::vector<std::string>& names, const std::string& name) {
    const auto at = std::find(names.begin(), names.end(), name);
    const auto index = static_cast<std::size_t>(at - names.begin());
    if (at == names.end()) names.push_back(name);
    return index;
  };
  Cells table = {{head.unit}};
  for (const TableCell& cell : cells) {
    if (cell.table != head.table) continue;
    const std::string line = cell.config + " " + cell.dtype + (cell.phase.empty() ? "" : " " + cell.phase);
    const std::size_t row = place(lines, line) + 1, column = place(columns, cell.column) + 1;
    if (table.size() <= row) table.push_back({line});
    if (table.front().size() <= column) table.front().push_back(cell.column);
    table[row].resize(std::max(table[row].size(), column + 1), "-");
    table[row][column] = fmt::format("{:.{}f}", cell.value, head.decimals);
  }
  for (auto& row : table) row.resize(table.front().size(), "-");
  if (table.size() > 1) append_table(table, text, std::string(head.title) + ", " + device);
}

struct MsdaTableRow {
  const validate::Recording* recording;
  const TableHead* head;
  const TableCell* cell;
};

template <typename Members>
void describe(Members& m, Of<MsdaTableRow>) {
  const auto of = [](auto member) { return path(&MsdaTableRow::cell, member); };
  m.put("device", path(&MsdaTableRow::recording, &device_name), kDeviceMeaning);
  m.put("table", of(&TableCell::table), "Numbers of the paper's tables");
  m.put("config", of(&TableCell::config), "Configuration of the paper");
  m.put("phase", of(&TableCell::phase), "Pass; empty: column says it");
  m.put("dtype", of(&TableCell::dtype), "Element type");
  m.put("column", of(&TableCell::column), "Variant");
  m.put("value", of(&TableCell::value), "Its value");
  m.put("unit", path(&MsdaTableRow::head, &TableHead::unit), "Unit of the value");
}

/// Tables of the deformable-attention paper for this project's kernels on the recorded GPU. Three lines of it:
///
///     ms                                   red-16   red-4    atom     cas
///     B2_1536x2048_d256_L4_enc bf16 bwd     1.681   4.212   8.203  17.112
///     B4_800x1333_d256_L4 bf16 bwd          0.048   0.072   0.160   0.283
std::optional<ValidationView> make_msda_tables(const RecordedData& data) {
  ValidationView view;
  for (const auto& recording : data.recordings) {
    if (recording.head.suite != "msda") continue;
    const std::string& device = recording.head.device.name;
    std::vector<TableCell> cells = cells_of(measured_of(recording));
    for (const std::string_view table : {"2, 3", "13"}) drop_single_cells(table, cells);
    for (const TableHead& head : kHeads) {
      append_cells(head, cells, device, view.text);
      for (const TableCell& cell : cells) {
        if (cell.table == head.table) view.rows.push_back(json_of(MsdaTableRow{&recording, &head, &cell}));
      }
    }
  }
  if (view.rows.empty()) return std::nullopt;
  return view;
}

}  // namespace

ViewKind msda_tables_view();
ViewKind msda_tables_view() {
  return {.name = "msda-tables",
          .position = 89,
          .drawn = false,
          .needs = "recordings of the suite msda",
          .row_schema = schema_of<MsdaTableRow>,
          .make = make_msda_tables};
}

}  // namespace natten_sim::report::views
