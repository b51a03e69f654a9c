/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who takes part in a job that this command has started on this machine. Each process signs when it starts and hands
 * over its exit status when it is done; the launcher reads that, and watches the processes themselves: the first one
 * that ends unsigned is the one that was lost, whatever the MPI's launcher says (MPICH's names the wrong process).
 */
#ifndef TULLE_TOOL_ROSTER_H
#define TULLE_TOOL_ROSTER_H

enum { ROSTER_PES = 1024, ROSTER_TEXT = 4096 };

struct roster {
    char folder[200], path[224];
    int pipe;   /* what processes write to */
    int deaths; /* an epoll of their pidfds: it reports in the order in which they end */
    char text[ROSTER_TEXT];
    int length;
    int started, done, worst;
    int lost;   /* rank, -1: none */
    int signal; /* that ended it; 0: not known, as its parent was faster to reap it */
    struct {
        long process;
        char host[64];
        int watch, done;
    } pe[ROSTER_PES];
};

/* In the launcher. 0, or -1 with errno. */
int roster_open(struct roster *roster);
void roster_close(struct roster *roster);
/* Takes in what has been written, and who has ended. */
void roster_update(struct roster *roster);
/* Kills all that have not handed over their status. */
void roster_kill(struct roster *roster);

/* In a process of the job; nothing if this command did not start it. */
void roster_sign(void);
/* The status to exit with: handed over, it need not alarm the MPI's launcher. */
int roster_leave(int exit_status);

#endif
