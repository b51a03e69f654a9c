/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that tulle predict is asked about, and what it says of them. */
#ifndef TULLE_TOOL_PREDICT_DEVICES_H
#define TULLE_TOOL_PREDICT_DEVICES_H

#include <tulle/model.h>

#include "option.h"

/* --device, --devices and --device-rate; devices->devices = 0: there are none. */
tulle_status predict_devices_read(const struct options *options, tulle_device_model *devices);

/* A line of an algorithm that is modelled, and (with a comma before) "device":{...}. */
void predict_devices_text(const char *alg, const tulle_device_prediction *p);
void predict_devices_json(const tulle_device_model *devices, const tulle_device_prediction *p);

#endif
