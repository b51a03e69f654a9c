/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of a job that this command has started on this machine. Each process signs in when
 * it starts and delivers its exit status when it is done. The launcher reads these and watches the
 * processes: the first one that ends without signing off is the lost one, whatever the MPI's
 * launcher says (MPICH's names the wrong process).
 */
#ifndef TULLE_TOOL_ROSTER_H
#define TULLE_TOOL_ROSTER_H

enum { ROSTER_PES = 1024, ROSTER_TEXT = 256 };

struct roster {
    int socket; /* that processes send lines to */
    int deaths; /* an epoll of their pidfds, which reports in the order of their ends */
    int started, done, worst;
    int lost;   /* rank, -1: none */
    int signal; /* that ended it; 0: unknown, as its parent reaped it first */
    struct {
        long process;
        char host[64];
        int watch, done;
    } pe[ROSTER_PES];
};

/* In the launcher. 0, or -1 with errno. */
int roster_open(struct roster *roster);
void roster_close(struct roster *roster);
/* Reads new lines, and which processes have ended. */
void roster_update(struct roster *roster);
/* Kills all processes that have not delivered their status. */
void roster_kill(struct roster *roster);

/* In a process of the job; does nothing if this command did not start it. */
void roster_sign(void);
/*
 * Delivers the exit status; returns the status to exit with, which must not alarm the MPI's
 * launcher.
 */
int roster_leave(int exit_status);

#endif
