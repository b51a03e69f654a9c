/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/predict_devices.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tulle/tulle.h>

#include "report/json_write.h"
#include "verbs/device_fit.h"

/* Refuses keys of a spec that are not modelled. */
static tulle_status check_keys(const char *spec)
{
    static const char *const known[] = {"mem", "link", "peer", "flops"};
    enum { KNOWN = sizeof known / sizeof *known };
    const char *at = strchr(spec, ':');
    for (int k = 0; at && *at && *at != '+'; k = 0) {
        const size_t length = strcspn(++at, "=,+");
        while (k < KNOWN && !(strlen(known[k]) == length && strncmp(at, known[k], length) == 0)) k++;
        if (k == KNOWN)
            return tulle_fail(TULLE_ERR_ARG,
                "predict does not model '%.*s' of a device: there are mem, link, peer and flops", (int)length, at);
        at += strcspn(at, ",+");
    }
    return TULLE_OK;
}

tulle_status predict_devices_read(const struct options *options, tulle_device_model *devices)
{
    const char *spec = options_word(options, "device", NULL);
    *devices = (tulle_device_model){.flops = options_size(options, "device-rate", 0)};
    if (!spec) return TULLE_OK;
    devices->devices = (int)options_int(options, "devices", 1);
    tulle_status status = check_keys(spec);
    if (status == TULLE_OK) status = device_fit_word(spec, "mem", &devices->memory);
    if (status == TULLE_OK) status = device_fit_word(spec, "link", &devices->link);
    if (status == TULLE_OK) status = device_fit_word(spec, "peer", &devices->peer);
    if (status == TULLE_OK && devices->flops <= 0) status = device_fit_word(spec, "flops", &devices->flops);
    if (status == TULLE_OK && devices->memory <= 0)
        status = tulle_fail(TULLE_ERR_ARG,
            "predict takes devices as limit: or model:mem=SIZE[,link=RATE][,peer=RATE][,flops=RATE], which need not "
            "exist, not '%s'",
            spec);
    return status;
}

void predict_devices_text(const char *alg, const tulle_device_prediction *p)
{
    if (!p->suits) return;
    printf("%-14s devices: %.4g s; %s%.4g MB up in %.3g s, %.4g MB down in %.3g s, %.4g MB between them in %.3g s; "
           "at most %.4g MB of a device\n",
        alg, p->seconds, p->exact ? "" : "about ", (double)p->bytes[0] * 1e-6, p->copy_seconds[0],
        (double)p->bytes[1] * 1e-6, p->copy_seconds[1], (double)p->bytes[2] * 1e-6, p->copy_seconds[2],
        (double)p->memory * 1e-6);
}

void predict_devices_json(const tulle_device_model *devices, const tulle_device_prediction *p)
{
    if (!devices->devices) return;
    json_printf(stdout,
        ",\"device\":{\"devices\":%d,\"modelled\":%s,\"exact\":%s,\"seconds\":%.6g,\"upload_bytes\":%" PRId64
        ",\"download_bytes\":%" PRId64 ",\"peer_bytes\":%" PRId64 ",\"memory\":%" PRId64
        ",\"upload_seconds\":%.6g,\"download_seconds\":%.6g,\"peer_seconds\":%.6g}",
        devices->devices, p->suits ? "true" : "false", p->exact ? "true" : "false", p->seconds, p->bytes[0],
        p->bytes[1], p->bytes[2], p->memory, p->copy_seconds[0], p->copy_seconds[1], p->copy_seconds[2]);
}
