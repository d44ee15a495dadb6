/*
 * fault.h - crash points, in test builds (-DQO_FAULTS) alone.
 *
 * The process kills itself at the n-th point it comes to, as kill -9 would:
 * n is what QO_KILL_AT says, or fault_arm.  Every S3 request passes three:
 * before it is sent, when it was applied and its answer has not been looked
 * at, and after the answer was read.
 */
#ifndef FAULT_H
#define FAULT_H

#ifdef QO_FAULTS
void fault_point(void);
/* Counts from here on; 0: never. */
void fault_arm(long n);
#else
#define fault_point() ((void)0)
#endif

#endif
