/**
 * `/metrics` shows the control service's own metrics and those of every cell that answers; each sample of a cell has
 * the cell as a label (docs/rules/metrics.md#one-listener).
 */
import { Hono } from "hono";
import { type Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { familyOf, metricOptions } from "../../../shared/catalogues/metrics.ts";
import type { MetricFamily } from "../../../shared/wire/internal.ts";
import type { Cells } from "../../kernel/cells/cells.ts";
import type { JobRuns } from "../../kernel/jobs/job-runs.ts";
import { SharedReads } from "../../kernel/shared-reads.ts";

const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

interface MetricsDeps {
  readonly cells: Cells;
  /** Outbox rows that wait for a store or a cell, and since when, epoch ms. Rejects when the database does not answer. */
  readonly outbox: () => Promise<{ readonly pending: number; readonly sinceMs: number | null }>;
  readonly runs: Pick<JobRuns, "counter">;
  /** Counters and gauges of other parts; gauges read their values themselves. */
  readonly read: readonly (Counter<string> | Gauge<string>)[];
  /** Of this service; a cell reports that of its Worker. */
  readonly version: string;
  /** How many wrong tokens this service has received. */
  readonly refusals: { readonly total: number };
}

/** Answers `/metrics`; every other path is 404. */
export function createMetricsApp(deps: MetricsDeps): Hono {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // The library's sums are gauges that are named like counters; each is the sum of another metric.
  for (const summed of ["handles", "requests", "resources"])
    registry.removeSingleMetric(`nodejs_active_${summed}_total`);
  const pending = new Gauge({
    ...metricOptions("gateway_outbox_pending"),
    registers: [registry],
  });
  const oldest = new Gauge({ ...metricOptions("gateway_outbox_oldest_seconds"), registers: [registry] });
  const up = new Gauge({
    ...metricOptions("gateway_cell_up"),
    labelNames: ["cell"],
    registers: [registry],
  });
  registry.registerMetric(deps.runs.counter);
  for (const metric of deps.read) registry.registerMetric(metric);
  const readAll = async (): Promise<string> => {
    const answers = await Promise.all(
      deps.cells.addresses.map(async (address) => {
        const metrics = await deps.cells.metrics(address).catch(() => null);
        up.set({ cell: address.cell }, metrics === null ? 0 : 1);
        return metrics;
      }),
    );
    const waiting = await deps.outbox().catch(() => null);
    pending.set(waiting?.pending ?? Number.NaN);
    oldest.set(waiting === null ? Number.NaN : Math.max(0, Date.now() - (waiting.sinceMs ?? Infinity)) / 1000);
    const own = withoutUnknown(await registry.metrics());
    const reported = [
      buildInfo(deps.version),
      authFailures(deps.refusals.total),
      ...answers.filter((answer) => answer !== null),
    ];
    return `${own.trimEnd()}\n${renderCells(reported)}`;
  };
  // Anybody who reaches the listener may ask.
  const shared = new SharedReads<string>();
  const app = new Hono();
  app.get("/metrics", async (c) =>
    c.body(await shared.get("", performance.now(), readAll), 200, { "content-type": CONTENT_TYPE }),
  );
  return app;
}

/**
 * Drops values that the library has not measured yet: it writes them as `Nan`, which some readers treat as an error of the
 * whole text. Only the outbox has `NaN`, as the format spells it: its values when the database does not answer.
 */
function withoutUnknown(text: string): string {
  return text.replace(/^(gateway_outbox_\w+) Nan$/gm, "$1 NaN").replace(/^.* Nan\n/gm, "");
}

/** Metric families of the control service or of one cell. */
interface Reported {
  /** Null: the control service, whose samples have no cell label. */
  readonly cell: string | null;
  readonly families: readonly MetricFamily[];
}

/** What runs here; each cell has a sample of the same family. */
function buildInfo(version: string): Reported {
  const samples = [{ suffix: "" as const, labels: { version }, value: 1 }];
  return { cell: null, families: [familyOf("gateway_build_info", samples)] };
}

/** Wrong tokens at this service; wrong tokens at the cells are samples of the same family. */
function authFailures(total: number): Reported {
  const samples = [{ suffix: "" as const, labels: { plane: "admin" }, value: total }];
  return { cell: null, families: [familyOf("gateway_auth_failures_total", samples)] };
}

/** The families of several reporters in one text, each family once. */
export function renderCells(cells: readonly Reported[]): string {
  const families = new Map<string, { readonly family: MetricFamily; readonly lines: string[] }>();
  for (const { cell, families: reported } of cells) {
    for (const family of reported) {
      const entry = families.get(family.name) ?? { family, lines: [] };
      families.set(family.name, entry);
      for (const sample of family.samples) {
        const labels = Object.entries(cell === null ? sample.labels : { ...sample.labels, cell }).map(
          ([name, value]) => `${name}="${escapeLabel(value)}"`,
        );
        entry.lines.push(`${family.name}${sample.suffix}{${labels.join(",")}} ${sample.value}`);
      }
    }
  }
  return [...families.values()]
    .flatMap(({ family, lines }) => [
      `# HELP ${family.name} ${escapeHelp(family.help)}`,
      `# TYPE ${family.name} ${family.type}`,
      ...lines,
    ])
    .map((line) => `${line}\n`)
    .join("");
}

function escapeHelp(text: string): string {
  return text.replace(/[\\\n]/g, (char) => (char === "\n" ? "\\n" : "\\\\"));
}

function escapeLabel(value: string): string {
  return value.replace(/[\\"\n]/g, (char) => (char === "\n" ? "\\n" : `\\${char}`));
}
