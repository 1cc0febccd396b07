#pragma once

#include <initializer_list>
#include <memory>
#include <string>

#include <dlfcn.h>

namespace natten_sim::validate {

/// A library that is loaded at run time. Empty when none of the names can be loaded.
class SharedLibrary {
 public:
  SharedLibrary() = default;
  explicit SharedLibrary(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (name == nullptr || *name == '\0') continue;
      if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
        // Never closed: profiling libraries leave threads and hooks behind.
        handle_ = handle;
        return;
      }
    }
  }

  [[nodiscard]] explicit operator bool() const noexcept { return handle_ != nullptr; }
  /// Sets `function` to the symbol; false, and unchanged, when there is none.
  template <typename Function>
  [[nodiscard]] bool find(const char* symbol, Function*& function) const {
    void* address = handle_ == nullptr ? nullptr : dlsym(handle_, symbol);
    if (address != nullptr) function = reinterpret_cast<Function*>(address);
    return address != nullptr;
  }

 private:
  void* handle_ = nullptr;
};

}  // namespace natten_sim::validate
