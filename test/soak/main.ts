/**
 * `npm run test:area -- soak [--minutes 10 --streams 200]`: one stack with streams that come, end, break and are left at random.
 * Prints a report; the exit code is 1 when a slot or a row is missing, when a row is written twice, when a session with the
 * Cell is lost, or when the memory of the Worker's runtime keeps growing.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { waitFor } from "../harness/wait-for.ts";
import { type Asked, load } from "./clients.ts";
import { median, watchMemory } from "./memory.ts";
import { type SoakUpstream, startSoakUpstream } from "./upstream.ts";

const TENANTS = 5;
/** Fewer slots than clients, so that some clients always wait. */
const SLOTS_PER_STREAM = 0.75;
/**
 * The memory of the second half / that of the first half, after the engine's heap has had a quarter of the time to find its
 * size.
 */
const GROWTH_MAX = 1.15;
const SETTLE_MS = 60_000;

interface Kept {
  readonly requestIds: readonly string[];
  readonly marks: ReadonlySet<string>;
}

/** Every row of these tenants. */
async function rowsOf(gateway: Gateway, tenants: readonly Minted[]): Promise<Kept> {
  const requestIds: string[] = [];
  const marks = new Set<string>();
  for (const { tenant } of tenants)
    for (const row of await gateway.allRows(tenant.id)) {
      requestIds.push(row.request_id);
      marks.add(row.session_id);
    }
  return { requestIds, marks };
}

/** The number of requests that the Cell has counted. */
async function counted(stack: Stack): Promise<number> {
  const text = await (await fetch(`${stack.metricsUrl}/metrics`)).text();
  const samples = [...text.matchAll(/^gateway_requests_total\{[^}]*\} (\d+)/gm)];
  return samples.reduce((sum, [, value]) => sum + Number(value), 0);
}

function byFate(asked: ReadonlyMap<string, Asked>): string {
  const counts = new Map<string, number>();
  for (const { fate } of asked.values()) counts.set(fate, (counts.get(fate) ?? 0) + 1);
  return [...counts].map(([fate, count]) => `${count} ${fate}`).join(", ");
}

interface Soaked {
  readonly stack: Stack;
  readonly upstream: SoakUpstream;
  /** The sessions with the Cell that the log reports as lost. */
  readonly lostSessions: () => number;
}

async function soak({ stack, upstream, lostSessions }: Soaked, minutes: number, streams: number): Promise<string[]> {
  const gateway = new Gateway(stack);
  const tenants: Minted[] = [];
  for (let at = 0; at < TENANTS; at += 1) tenants.push(await gateway.mint(upstream.url));
  const pid = stack.parts.get("workerd")?.pid;
  if (pid === undefined || pid === null) throw new Error("the runtime has no process");
  const memory = watchMemory(pid);
  const asked = await load(gateway, tenants, streams, Date.now() + 60_000 * minutes);
  await memory.stop();

  const problems: string[] = [];
  const idle = await waitFor(
    async () => ({ ...(await gateway.stats()), upstream: upstream.underWay() }),
    ({ in_flight, queued, upstream: underWay }) => in_flight + queued + underWay === 0,
    SETTLE_MS,
  ).catch((error: unknown) => {
    problems.push(`slots: ${String(error)}`);
  });
  // Rows are inserted in batches, each within seconds; a request whose client left is counted after its slot is free.
  const read = async () => ({ kept: await rowsOf(gateway, tenants), completed: await counted(stack) });
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
  const settled = memory.readings.slice(memory.readings.length / 4);
  const first = median(settled.slice(0, settled.length / 2));
  const second = median(settled.slice(settled.length / 2));
  const growth = second / first;
  if (growth > GROWTH_MAX) problems.push(`memory grew by ${((growth - 1) * 100).toFixed(0)} %`);
  console.log(
    [
      `${asked.size} requests in ${minutes} min at ${streams} streams: ${byFate(asked)}`,
      `${upstream.seen.size} reached the upstream; ${completed} counted by the Cell; ${kept.requestIds.length} rows, ${ids.size} of them different`,
      `${unseen} left before anything was seen of them, and have no row`,
      `in flight at the end: ${idle?.in_flight ?? "?"}, queued: ${idle?.queued ?? "?"}`,
      `memory of the runtime after its first quarter of the time: ${first.toFixed(0)} MB, then ${second.toFixed(0)} MB`,
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
const folder = mkdtempSync(join(tmpdir(), "gateway-soak-"));
const upstream = await startSoakUpstream();
const slots = String(Math.max(1, Math.floor(SLOTS_PER_STREAM * streams)));
let lost = 0;
const stack = await startStack({
  env: stackEnv(folder, { GATEWAY_GLOBAL_MAX_IN_FLIGHT: slots }),
  log: (line) => {
    if (line.includes('"event":"exchange_lost"')) lost += 1;
  },
});
try {
  const problems = await soak({ stack, upstream, lostSessions: () => lost }, minutes, streams);
  for (const problem of problems) console.error(`FAILED: ${problem}`);
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  await stack.stop();
  await upstream.close();
  rmSync(folder, { recursive: true, force: true });
}
