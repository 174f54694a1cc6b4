/** One health check over HTTP, on a new connection. It never rejects. */
import http from "node:http";
import type { HealthAnswer } from "./liveness.ts";

/** Errors of this process or this machine, which say nothing about the checked process. */
const OWN_ERRORS = new Set(["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM", "EADDRNOTAVAIL"]);

/**
 * Requests `url` with a deadline of `withinMs` milliseconds. An answer of any status counts: a process that answers does
 * not hang, and a restart would not help against anything else.
 */
export async function askHealth(url: string, withinMs: number): Promise<HealthAnswer> {
  const { promise, resolve } = Promise.withResolvers<HealthAnswer>();
  const request = http.get(url, { agent: false }, (response) => {
    resolve("answered");
    response.resume();
  });
  const deadline = setTimeout(() => resolve("silent"), withinMs);
  request.on("error", (error: NodeJS.ErrnoException) =>
    resolve(OWN_ERRORS.has(error.code ?? "") ? "unknown" : "silent"),
  );
  try {
    return await promise;
  } finally {
    clearTimeout(deadline);
    request.destroy();
  }
}
