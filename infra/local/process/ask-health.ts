/** One health check over HTTP, on a connection of its own. It never rejects. */
import http from "node:http";
import type { HealthAnswer } from "./liveness.ts";

/** Errors of this process or machine, which say nothing of the process that was asked. */
const OWN_ERRORS = new Set(["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM", "EADDRNOTAVAIL"]);

/**
 * Asks `url` with a deadline of `withinMs` milliseconds. An answer of any status counts: what answers is not hung, and
 * starting it again would mend nothing else.
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
