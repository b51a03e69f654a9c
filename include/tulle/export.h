/* SPDX-License-Identifier: Apache-2.0 */
/* Visibility of public symbols. Everything else is hidden. */
#ifndef TULLE_EXPORT_H
#define TULLE_EXPORT_H

#define TULLE_API __attribute__((visibility("default")))

#endif
