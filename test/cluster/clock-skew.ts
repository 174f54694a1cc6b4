/**
 * A wall clock that is wrong, for one instance and its processes: a library of a few lines, loaded before the C library, that
 * adds seconds to what the kernel says. Monotonic clocks stay right, as on a machine whose clock was set wrongly at its start.
 * It needs a C compiler (`cc`), because no package of npm brings one that works without an install script.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const SOURCE = `
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static time_t skew;
__attribute__((constructor)) static void begin(void) {
  const char *text = getenv("CLOCK_SKEW_SECS");
  skew = text ? atol(text) : 0;
}
int clock_gettime(clockid_t clock, struct timespec *now) {
  int failed = (int)syscall(SYS_clock_gettime, clock, now);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += skew;
  return failed;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec precise;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *to) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (to) *to = precise.tv_sec;
  return precise.tv_sec;
}
`;

/** The variables with which a process has a clock that is `secs` ahead. Builds the library in `folder`. */
export function skewedClock(folder: string, secs: number): Readonly<Record<string, string>> {
  const [source, library] = [join(folder, "clock.c"), join(folder, "clock.so")];
  writeFileSync(source, SOURCE);
  try {
    execFileSync("cc", ["-shared", "-fPIC", "-O1", "-o", library, source], { stdio: ["ignore", "ignore", "pipe"] });
  } catch (error) {
    throw new Error("a clock that is wrong needs a C compiler: apt-get install gcc libc6-dev", { cause: error });
  }
  return { LD_PRELOAD: library, CLOCK_SKEW_SECS: String(secs) };
}
