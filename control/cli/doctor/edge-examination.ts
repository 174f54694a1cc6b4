/** A Worker's address as applications reach it, from here. */

import { fetchLimited } from "./answers.ts";
import { clockFromDate } from "./clocks.ts";
import type { Examination } from "./examination.ts";
import { findingsOf } from "./finding.ts";
import { unreachable } from "./unreachable.ts";

/** The part that an address of the data plane is. */
export const partOfEdge = (url: string): string => `data plane ${new URL(url).host}`;

/** `GET /health` of a Worker; `url` without a path. */
export function edgeExamination(url: string): Examination {
  const part = partOfEdge(url);
  const { ok, failure } = findingsOf(part);
  return {
    part,
    run: async (signal) => {
      const sentMs = Date.now();
      try {
        const response = await fetchLimited(new URL("/health", url), { signal });
        await response.body?.cancel();
        const gotMs = Date.now();
        const clocks = clockFromDate(part, response.headers.get("date"), sentMs, gotMs);
        if (response.status === 200 && response.headers.has("x-gateway-request-id"))
          return { findings: [ok("reachable", `answers in ${gotMs - sentMs} ms`)], clocks };
        const fix =
          response.status === 200
            ? "another program answers there: check the address, and the proxy in front of the Worker"
            : "read the log of the Worker: a malformed variable makes it refuse everything";
        return { findings: [failure("reachable", `GET /health answered ${response.status}`, fix)], clocks };
      } catch (error) {
        const { detail, fix } = unreachable(error);
        return { findings: [failure("reachable", detail, fix)] };
      }
    },
  };
}
