#include <natten_sim/report/device_profile_report.hpp>
#include <natten_sim/report/object_schema.hpp>
#include <natten_sim/report/validation_report.hpp>
#include <natten_sim/report/validation_views.hpp>

namespace natten_sim::report {

Json validate_schema() {
  return one_of({validation_schema(), suites_schema(), frozen_schema(), view_schema(), checks_schema(),
                 lowering_checks_schema(), profile_schema()});
}

}  // namespace natten_sim::report
