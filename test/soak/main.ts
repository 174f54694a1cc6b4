/**
 * `npm run test:area -- soak [--minutes 10 --streams 200]`: one stack with calls of both dialects, translated and not, that
 * come, end, break and are left at random.
 * Prints a report; the exit code is 1 when a slot or a row is missing, when a row is written twice, when a session with the
 * Cell is lost, or when the Worker's runtime keeps something of each call.
 */

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs, promisify } from "node:util";
import type { Stack } from "../../infra/local/stack.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { keptBytes } from "../harness/inspector.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { waitFor } from "../harness/wait-for.ts";
import { type Dialect, randomCall } from "./calls.ts";
import { type SoakUpstream, startSoakUpstream } from "./upstream.ts";

/** How a request ended. A client sends its next one then, and leaves at a random moment: before the answer, in the stream, or never. */
type Fate = "finished" | "left in the stream" | "left before the answer" | "cut off";

interface Asked {
  readonly tenantId: string;
  readonly kind: string;
  readonly fate: Fate;
  /** The id in the answer's header; null when the client got no answer. */
  readonly requestId: string | null;
  readonly status: number | null;
}

/** When a client leaves: after so many milliseconds without an answer, or after so many chunks. */
interface Departure {
  readonly afterMs: number | null;
  readonly afterChunks: number | null;
}

function departure(): Departure {
  const chance = Math.random();
  if (chance < 0.15) return { afterMs: Math.floor(200 * Math.random() ** 2), afterChunks: null };
  if (chance < 0.45) return { afterMs: null, afterChunks: Math.floor(30 * Math.random()) };
  return { afterMs: null, afterChunks: null };
}

async function sendRequest(gateway: Gateway, { minted, dialect }: Caller, mark: string): Promise<Asked> {
  const { afterMs, afterChunks } = departure();
  const leaving = new AbortController();
  const answered = new AbortController();
  if (afterMs !== null)
    void pause(afterMs, undefined, { signal: answered.signal }).then(
      () => leaving.abort(),
      () => undefined,
    );
  let requestId: string | null = null;
  let status: number | null = null;
  const { path, kind, body } = randomCall(dialect, minted.model.model_name, mark);
  const asked = (fate: Fate): Asked => ({ tenantId: minted.tenant.id, kind, fate, requestId, status });
  try {
    const response = await fetch(`${gateway.proxyUrl}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${minted.secret}`,
        "content-type": "application/json",
        "x-session-id": mark,
      },
      body: JSON.stringify(body),
      signal: leaving.signal,
    });
    answered.abort();
    requestId = response.headers.get("x-gateway-request-id");
    status = response.status;
    let chunks = 0;
    for await (const _chunk of response.body ?? []) {
      chunks += 1;
      if (afterChunks !== null && chunks > afterChunks) {
        leaving.abort();
        return asked("left in the stream");
      }
    }
    return asked("finished");
  } catch {
    if (!leaving.signal.aborted) return asked("cut off");
    return asked(requestId === null ? "left before the answer" : "left in the stream");
  } finally {
    answered.abort();
  }
}

interface Caller {
  readonly minted: Minted;
  readonly dialect: Dialect;
}

/** Keeps `count` clients busy until the deadline, spread over the tenants; returns every request by its mark. */
async function load(
  gateway: Gateway,
  callers: readonly Caller[],
  count: number,
  untilMs: number,
): Promise<ReadonlyMap<string, Asked>> {
  const all = new Map<string, Asked>();
  const client = async (at: number): Promise<void> => {
    const caller = callers[at % callers.length];
    if (caller === undefined) throw new Error("no tenants");
    while (Date.now() < untilMs) {
      const mark = `soak-${randomUUID()}`;
      all.set(mark, await sendRequest(gateway, caller, mark));
    }
  };
  await Promise.all(Array.from({ length: count }, async (_, at) => await client(at)));
  return all;
}

const run = promisify(execFile);

async function residentMb(pid: number): Promise<number> {
  const { stdout } = await run("ps", ["-o", "rss=", "-p", String(pid)]);
  return Number(stdout) / 1024;
}

const TENANTS = 6;
/** Fewer slots than clients, so that some clients always wait. */
const SLOTS_PER_STREAM = 0.75;
/**
 * What the runtime may keep of a call, in bytes, between two rests: after the first part of the time, in which what is bounded fills
 * up, and at the end. Garbage is collected before: the engine lets its heap grow for some ten thousand calls first. The process has
 * more than its heap, because its allocator returns little of what is free again.
 */
const KEPT_MAX_BYTES = { heap: 512, process: 4096 } as const;
const FIRST_PART = 0.5;
/** What is bounded is not full after fewer calls. */
const FILL_CALLS = 3000;
const SETTLE_MS = 60_000;

interface Kept {
  readonly requestIds: readonly string[];
  readonly marks: ReadonlySet<string>;
}

async function rowsOf(gateway: Gateway, callers: readonly Caller[]): Promise<Kept> {
  const requestIds: string[] = [];
  const marks = new Set<string>();
  for (const { minted } of callers)
    for (const row of await gateway.allRows(minted.tenant.id)) {
      requestIds.push(row.request_id);
      marks.add(row.session_id);
    }
  return { requestIds, marks };
}

async function counted(stack: Stack): Promise<number> {
  const text = await (await fetch(`${stack.metricsUrl}/metrics`)).text();
  const samples = [...text.matchAll(/^gateway_requests_total\{[^}]*\} (\d+)/gm)];
  return samples.reduce((sum, [, value]) => sum + Number(value), 0);
}

function countsOf(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names.toSorted()) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => `${count} ${name}`).join("; ");
}

interface Soaked {
  readonly stack: Stack;
  readonly upstream: SoakUpstream;
  /** The sessions with the Cell that the log reports as lost. */
  readonly lostSessions: () => number;
}

async function soak({ stack, upstream, lostSessions }: Soaked, minutes: number, streams: number): Promise<string[]> {
  const gateway = new Gateway(stack);
  const callers: Caller[] = [];
  for (let at = 0; at < TENANTS; at += 1) {
    const dialect: Dialect = at % 2 === 0 ? "openai" : "anthropic";
    callers.push({ minted: await gateway.mint(upstream.url, "plain", { api_dialect: dialect }), dialect });
  }
  const pid = stack.parts.get("workerd")?.pid;
  if (pid === undefined || pid === null) throw new Error("the runtime has no process");
  const problems: string[] = [];
  const asked = new Map<string, Asked>();
  const part = async (share: number) => {
    const sent = await load(gateway, callers, streams, Date.now() + 60_000 * minutes * share);
    for (const [mark, one] of sent) asked.set(mark, one);
    const idle = await waitFor(
      async () => ({ ...(await gateway.stats()), upstream: upstream.underWay() }),
      ({ in_flight, queued, upstream: underWay }) => in_flight + queued + underWay === 0,
      SETTLE_MS,
    ).catch((error: unknown) => {
      problems.push(`slots: ${String(error)}`);
    });
    const heap = await keptBytes(stack.inspectorUrl());
    return { idle, heap, process: (await residentMb(pid)) * 2 ** 20, calls: asked.size };
  };
  const first = await part(FIRST_PART);
  const last = await part(1 - FIRST_PART);
  const { idle } = last;
  // Rows are inserted in batches, each within seconds; a request whose client left is counted after its slot is free.
  const read = async () => ({ kept: await rowsOf(gateway, callers), completed: await counted(stack) });
  const { kept, completed } = await waitFor(
    read,
    (now) => now.completed > 0 && now.kept.requestIds.length === now.completed,
    SETTLE_MS,
  ).catch(read);
  const ids = new Set(kept.requestIds);
  const missing = [...asked].filter(
    ([mark, { requestId }]) => !kept.marks.has(mark) && (requestId !== null || upstream.seen.has(mark)),
  );
  const unseen = [...asked].filter(([mark]) => !kept.marks.has(mark)).length - missing.length;
  if (missing.length > 0)
    problems.push(
      `${missing.length} requests were answered or sent upstream and have no row: ${JSON.stringify(missing.slice(0, 5))}`,
    );
  if (ids.size !== kept.requestIds.length) problems.push(`${kept.requestIds.length - ids.size} rows are there twice`);
  if (ids.size !== completed) problems.push(`the Cell counted ${completed} requests, the ledger has ${ids.size}`);
  const failed = [...asked.values()].filter(({ status }) => status !== null && status !== 200 && status !== 429);
  if (failed.length > 0) problems.push(`${failed.length} answers were neither 200 nor the upstream's 429`);
  if (lostSessions() > 0) problems.push(`${lostSessions()} sessions with the Cell were lost`);
  if (first.calls < FILL_CALLS)
    problems.push(`${first.calls} calls before the first rest are too few to measure the memory: run it for longer`);
  const keptOf = (what: keyof typeof KEPT_MAX_BYTES): number =>
    (last[what] - first[what]) / Math.max(1, last.calls - first.calls);
  const ofCall = { heap: keptOf("heap"), process: keptOf("process") };
  for (const what of ["heap", "process"] as const)
    if (ofCall[what] > KEPT_MAX_BYTES[what])
      problems.push(`the runtime's ${what} keeps ${ofCall[what].toFixed(0)} bytes of each call`);
  console.log(
    [
      `${asked.size} requests in ${minutes} min at ${streams} streams: ${countsOf([...asked.values()].map(({ fate }) => fate))}`,
      `by client and model: ${countsOf([...asked.values()].map(({ kind }) => kind))}`,
      `${upstream.seen.size} reached the upstream; ${completed} counted by the Cell; ${kept.requestIds.length} rows, ${ids.size} of them different`,
      `${unseen} left before anything was seen of them, and have no row`,
      `in flight at the end: ${idle?.in_flight ?? "?"}, queued: ${idle?.queued ?? "?"}`,
      `kept of each of ${last.calls - first.calls} calls: ${ofCall.heap.toFixed(0)} bytes of the heap, ${ofCall.process.toFixed(0)} of the process`,
    ].join("\n"),
  );
  return problems;
}

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: process.env["SOAK_MINUTES"] ?? "10" },
    streams: { type: "string", default: "200" },
  },
});
const [minutes, streams] = [Number(values.minutes), Number(values.streams)];
if (!(minutes > 0) || !Number.isInteger(streams) || streams < 1) {
  console.error("usage: npm run test:area -- soak [--minutes 10] [--streams 200]");
  process.exit(2);
}
const upstream = await startSoakUpstream();
const slots = String(Math.max(1, Math.floor(SLOTS_PER_STREAM * streams)));
let lost = 0;
const stack = await startTestStack(
  { GATEWAY_GLOBAL_MAX_IN_FLIGHT: slots },
  {
    inspect: true,
    log: (line) => {
      if (line.includes('"event":"exchange_lost"')) lost += 1;
    },
  },
);
try {
  const problems = await soak({ stack, upstream, lostSessions: () => lost }, minutes, streams);
  for (const problem of problems) console.error(`FAILED: ${problem}`);
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  await stack.stop();
  await upstream.close();
}
