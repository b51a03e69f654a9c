/* SPDX-License-Identifier: Apache-2.0 */
/* The module tulle._core: what the Python package in ../tulle is made of. */
#include <dlfcn.h>

#include <new>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "handles.h"

#ifndef TULLE_COMMIT /* of the sources; empty: not known */
#define TULLE_COMMIT ""
#endif

namespace
{

/* Python's exception for a failure; where it has none it is the package's. */
nb::object exception_of(const Failure &failure)
{
    nb::object errors = nb::module_::import_("tulle._errors");
    return errors.attr("of_status")(tulle_status_name(failure.status), failure.what());
}

/* Sets Python's exception; one with the library's words where Python has no memory for its own. */
void raise(const Failure &failure)
{
    try {
        const nb::object exception = exception_of(failure);
        PyErr_SetObject(exception.type().ptr(), exception.ptr());
    } catch (const nb::python_error &other) {
        PyErr_SetString(other.matches(PyExc_MemoryError) ? PyExc_MemoryError : PyExc_RuntimeError, failure.what());
    }
}

std::vector<std::string> build_facts()
{
    std::vector<std::string> facts;
    for (int i = 0; const char *fact = tulle_build_fact(i); i++) facts.emplace_back(fact);
    return facts;
}

/* The file of the library that this module calls. */
std::string library()
{
    Dl_info found;
    const int known = dladdr(reinterpret_cast<void *>(&tulle_version), &found);
    return known && found.dli_fname ? found.dli_fname : "";
}

} // namespace

NB_MODULE(_core, m)
{
    nb::set_leak_warnings(false); /* objects may live until Python ends, as the team of its calls does */
    nb::register_exception_translator(
        [](const std::exception_ptr &p, void *) {
            try {
                std::rethrow_exception(p);
            } catch (const Failure &failure) {
                raise(failure);
            } catch (const std::bad_alloc &) {
                PyErr_SetString(PyExc_MemoryError, "out of memory: arrays of the Python module, beside the library's");
            }
        },
        nullptr);
    bind_team(m);
    bind_array(m);
    bind_mat(m);
    bind_product(m);
    bind_krylov(m);
    bind_spectrum(m);
    bind_least_squares(m);
    bind_trisolve(m);
    bind_stream(m);
    bind_blocks(m);
    bind_matfun(m);
    bind_rows(m);
    m.def("version", [] { return tulle_version(); });
    m.def("commit", [] { return TULLE_COMMIT; });
    m.def("build_facts", &build_facts);
    m.def("library", &library);
}
