/**
 * What the stack says of requests whose rows are missing: what the Worker logged, what its Ledger dropped or keeps aside, and whether
 * the rows came after all.
 */
import { readExposition, scrapeWith } from "../harness/exposition.ts";
import { MISSING, type Row } from "./compare-rows.ts";
import type { Difference } from "./differences.ts";
import { requestIdOf } from "./facts.ts";

const AROUND_MS = { before: 10_000, after: 30_000 };
const GAUGES = ["gateway_telemetry_dropped", "gateway_telemetry_aside", "gateway_spill_bytes"];

interface Warning {
  readonly atMs: number;
  readonly text: string;
}

/** What the Worker has logged: the line of each request, and the warnings. */
export class WorkerLog {
  readonly #requests = new Map<string, string>();
  readonly #warnings: Warning[] = [];

  note(text: string): void {
    const id = /"event":"request".*?"request_id":"([^"]+)"/.exec(text)?.[1];
    if (id !== undefined) this.#requests.set(id, text);
    else if (!text.includes('"level":30')) this.#warnings.push({ atMs: Date.now(), text });
  }

  of(requestId: string): string {
    return this.#requests.get(requestId) ?? "the Worker has no line of it";
  }

  around(atMs: number): readonly string[] {
    const isNear = (warning: Warning): boolean =>
      warning.atMs >= atMs - AROUND_MS.before && warning.atMs <= atMs + AROUND_MS.after;
    return this.#warnings.filter(isNear).map(({ text }) => text);
  }
}

/** The differences, and of missing rows what is known of them in the end. `rows`: those that are there then. */
export async function explained(
  differences: readonly Difference[],
  rows: readonly Row[],
  log: WorkerLog,
  metricsUrl: string,
): Promise<readonly Difference[]> {
  if (!differences.some(({ what }) => what === MISSING)) return differences;
  const shown = await readExposition(await scrapeWith(["local"], metricsUrl));
  const gauges = GAUGES.map((name) => `${name} ${shown.value(name, { cell: "local" }) ?? "not shown"}`).join(", ");
  const ids = new Set(rows.map((row) => row["request_id"]));
  return differences.map((each) => {
    const { what, done } = each;
    if (what !== MISSING || done === undefined) return each;
    const came = ids.has(requestIdOf(done)) ? "it came later" : "it never came";
    const lines = [came, gauges, log.of(requestIdOf(done)), ...log.around(done.got.endMs)];
    return { ...each, more: lines.join("\n  ") };
  });
}
