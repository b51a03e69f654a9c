/* SPDX-License-Identifier: Apache-2.0 */
/* The module tulle._core: what the Python package in ../tulle is made of. */
#include "handles.h"

namespace
{

/* Python's exception for each status; those that it has none for are the package's. */
nb::object exception_of(tulle_status status)
{
    nb::object errors = nb::module_::import_("tulle._errors");
    return errors.attr("of_status")(tulle_status_name(status));
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
                PyErr_SetString(exception_of(failure.status).ptr(), failure.what());
            }
        },
        nullptr);
    bind_team(m);
    bind_array(m);
    bind_mat(m);
    bind_product(m);
    bind_krylov(m);
    bind_trisolve(m);
    bind_stream(m);
    bind_blocks(m);
    bind_matfun(m);
    m.def("version", [] { return TULLE_VERSION; });
}
