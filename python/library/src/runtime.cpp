#include "arraybridge/python/runtime.hpp"

#include "arraybridge/python/gil.hpp"
#include "arraybridge/registry.hpp"
#include "interpreter.hpp"

namespace arraybridge::python {

void provide_runtime() {
    watch_interpreter();
    Registry::instance().provide({"python", ARRAYBRIDGE_PYTHON_RUNTIME, &release_gil, &restore_gil});
}

}  // namespace arraybridge::python
