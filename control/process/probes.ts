/**
 * What every listener of a process tells supervisors and load balancers: `/livez` that it runs, `/ready` and `/readyz`
 * whether it can work (docs/rules/routes.md#probes).
 */
import { SharedReads } from "../kernel/shared-reads.ts";

/** Orchestrators give up on a probe after a second or a few. */
const WITHIN_MS = 1000;

type Serve = (request: Request, platform?: object) => Response | Promise<Response>;

/** What a process needs in order to work. */
export interface Needs {
  /** Rejects when the database does not answer. */
  readonly database: () => Promise<unknown>;
  /** Where the runtime of this machine says whether it serves; `""`: there is none to ask. */
  readonly runtimeReadyUrl: string;
}

/** A listener that answers its probes, and everything else with `serve`. */
export function withProbes(serve: Serve, needs: Needs): Serve {
  // Anybody who reaches the listener may ask: who asks meanwhile waits for the same answer.
  const shared = new SharedReads<readonly string[]>(() => false);
  return async (request, platform) => {
    if (request.method === "GET" || request.method === "HEAD")
      switch (new URL(request.url).pathname) {
        case "/livez":
          return new Response("ok");
        case "/ready":
        case "/readyz":
          return readiness(await shared.get("", 0, async () => await awayOf(needs)));
      }
    return await serve(request, platform);
  };
}

/** What does not answer. */
async function awayOf({ database, runtimeReadyUrl }: Needs): Promise<readonly string[]> {
  const [stores, runtime] = await Promise.all([
    inTime(database()),
    runtimeReadyUrl === "" || inTime(serves(runtimeReadyUrl)),
  ]);
  return [...(stores ? [] : ["the database"]), ...(runtime ? [] : ["the Worker's runtime"])];
}

function readiness(away: readonly string[]): Response {
  if (away.length === 0) return new Response("ready");
  return new Response(`${away.join(" and ")} ${away.length === 1 ? "does" : "do"} not answer`, { status: 503 });
}

/** Rejects unless the runtime says that it serves. */
async function serves(url: string): Promise<void> {
  const response = await fetch(url, { signal: AbortSignal.timeout(WITHIN_MS) });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`the runtime answers ${response.status}`);
}

/** Whether some work succeeds before the caller of `/ready` gives up. */
async function inTime(work: Promise<unknown>): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), WITHIN_MS);
  try {
    return await Promise.race([
      work.then(
        () => true,
        () => false,
      ),
      late.promise,
    ]);
  } finally {
    clearTimeout(timer);
  }
}
