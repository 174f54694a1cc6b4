/** How much memory the runtimes use that the test runner's process has started, for tests that run inside one of them. */
import { execFileSync } from "node:child_process";
import { MEMORY } from "../objects/store-sink.ts";

/** Answers {@link MEMORY} with a number of bytes, and passes everything else to `next`. */
export function withRuntimeMemory(next: (request: Request) => Promise<Response>) {
  return async (request: Request): Promise<Response> =>
    request.url === MEMORY ? Response.json(residentBytes()) : await next(request);
}

function residentBytes(): number {
  const listing = execFileSync("ps", ["-eo", "ppid=,rss=,args="], { encoding: "utf8" });
  return listing
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([parent, , program]) => Number(parent) === process.pid && program?.includes("workerd"))
    .reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0);
}
