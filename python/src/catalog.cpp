#include <algorithm>
#include <cctype>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/kernel_times.hpp>
#include <natten_sim/report/catalog_report.hpp>

#include "study.hpp"
#include "text_file.hpp"

namespace natten_sim::python {
namespace {

using report::CatalogTable;

struct CatalogObject {
  SharedContext context;
};

CatalogObject make_catalog(nb::handle preset_file, nb::handle device_file, nb::handle costs, bool measured_only) {
  auto context = std::make_shared<study::Context>(*shipped_context());
  if (measured_only) context->catalog.physics = {};
  const auto add = [&](const char* name, nb::handle given, const char* what, auto read) {
    if (given.is_none()) return;
    if (nb::isinstance<nb::dict>(given)) {
      read(context->catalog, json_text(to_json_value(name, given)), name);
      return;
    }
    const std::string file = text_of(name, given, "a path, or the file's JSON as a dict");
    read(context->catalog, read_text_file(name, file), std::string(what) + file);
  };
  add("preset_file", preset_file, "preset file ", add_presets);
  add("device_file", device_file, "device file ", add_devices);
  add("costs", costs, "costs file ", add_kernel_times);
  return {context};
}

nb::object entries(const study::Context& context, const CatalogTable& table) {
  return frozen(table.entries(context.catalog));
}

/// `devices` has entries of natten_sim._members.DeviceEntry.
std::string entry_type(std::string table) {
  table.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(table.front())));
  return "natten_sim._members." + table.substr(0, table.size() - 1) + "Entry";
}

/// What a callback raised in another thread waits for the one that may raise it.
struct Interruption {
  explicit Interruption(nb::object reported_to) : callback(std::move(reported_to)) {}
  ~Interruption() {
    nb::gil_scoped_acquire gil;
    callback.reset();
    raised.reset();
  }

  void report(double fraction) {
    const bool asker = std::this_thread::get_id() == thread;
    if (callback.is_none() && !asker) return;
    nb::gil_scoped_acquire gil;
    if (asker) raise();
    if (asker && PyErr_CheckSignals() != 0) throw nb::python_error();
    if (callback.is_none() || raised) return;
    try {
      callback(fraction);
    } catch (const nb::python_error& error) {
      if (asker) throw;
      raised = std::make_unique<nb::python_error>(error);
    }
  }

  /// With the GIL: what a callback raised in another thread.
  void raise() {
    if (raised) throw nb::python_error(*std::exchange(raised, nullptr));
  }

  nb::object callback;
  std::thread::id thread = std::this_thread::get_id();
  std::unique_ptr<nb::python_error> raised;
};

}  // namespace

const SharedContext& shipped_context() {
  static const SharedContext context = std::make_shared<const study::Context>(study::default_context());
  return context;
}

SharedContext context_of(nb::handle catalog) {
  if (!nb::isinstance<CatalogObject>(catalog)) throw nb::type_error("catalog is not a natten_sim.Catalog");
  return nb::cast<const CatalogObject&>(catalog).context;
}

Interruptible interruptible(const study::Context& context, nb::object callback) {
  const auto state = std::make_shared<Interruption>(std::move(callback));
  Interruptible copy{.context = context, .finish = [state] { state->raise(); }};
  copy.context.progress = [state](double fraction) { state->report(fraction); };
  return copy;
}

std::size_t picture_number(const std::vector<std::string>& names, const std::optional<std::string>& name,
                           const char* type) {
  if (names.empty())
    throw InvalidParameter("picture", type,
                           "an answer that has a picture: of schedule() one algorithm, as best, or a kernel with "
                           "deterministic times");
  if (!name) return 0;
  const auto place = std::find(names.begin(), names.end(), *name);
  if (place == names.end()) throw UnknownName("picture", *name, closest_name(*name, names), joined(names));
  return static_cast<std::size_t>(place - names.begin());
}

void bind_catalog(nb::module_& module) {
  nb::class_<CatalogObject> catalog(
      module, "Catalog",
      "Presets, backends, devices and kernels by name: those that ship, and those of your files.\n\n"
      "Args:\n"
      "    preset_file: More presets, as JSON: a file or a dict [none].\n"
      "    device_file: More devices, likewise [none].\n"
      "    costs: More times of kernels: what calibrate().costs() returns, or the file that `natten-sim "
      "calibrate --save`\n"
      "        writes [none].\n"
      "    measured_only: No times but of kernels that were measured on the device [False].\n\n"
      "Raises:\n"
      "    Error: A file is absent, or is not of that kind; `accepted` says what it should hold.");
  catalog.def(
      "__init__",
      [](CatalogObject* self, nb::object preset_file, nb::object device_file, nb::object costs, bool measured_only) {
        new (self) CatalogObject(make_catalog(preset_file, device_file, costs, measured_only));
      },
      nb::kw_only(), nb::arg("preset_file") = nb::none(), nb::arg("device_file") = nb::none(),
      nb::arg("costs") = nb::none(), nb::arg("measured_only") = false,
      nb::sig(
          "def __init__(self, *, preset_file: str | os.PathLike[str] | dict[str, typing.Any] | None = None, "
          "device_file: str | os.PathLike[str] | dict[str, typing.Any] | None = None, "
          "costs: str | os.PathLike[str] | dict[str, typing.Any] | None = None, measured_only: bool = False) -> None"));
  for (const CatalogTable* table : report::catalog_tables()) {
    if (table->keep == nullptr) continue;  // about the catalog, not of it
    std::string name = table->name;
    std::replace(name.begin(), name.end(), '-', '_');
    const std::string doc = "The " + table->name +
                            " that keywords take by name.\n\nReturns:\n    A record each, with its name, its "
                            "source and its numbers; units are in their names.";
    const std::string entry = entry_type(name);
    catalog.def(
        name.c_str(), [table](const CatalogObject& self) { return entries(*self.context, *table); },
        nb::sig(("def " + name + "(self) -> tuple[" + entry + ", ...]").c_str()), doc.c_str());
    module.def(
        name.c_str(), [table] { return entries(*shipped_context(), *table); },
        nb::sig(("def " + name + "() -> tuple[" + entry + ", ...]").c_str()), doc.c_str());
  }
}

}  // namespace natten_sim::python
