/** Builds the health worker and its parts. */
import { AlertOutbox } from "../kernel/alert-outbox.ts";
import type { AlertSink } from "../kernel/alert-sink.ts";
import type { VerbContext } from "../kernel/context.ts";
import type { Logger } from "../kernel/log.ts";
import type { AnalyticsStore } from "../usage/analytics/store.ts";
import { CatalogCache } from "./catalogs.ts";
import { ProbeLedger } from "./probe-ledger.ts";
import { Prober } from "./prober.ts";

interface HealthOptions {
  readonly ctx: VerbContext;
  readonly analytics: AnalyticsStore;
  readonly sink: AlertSink;
  /** The control service's own cell. */
  readonly cell: string;
  readonly timeoutMs: number;
  readonly defaultBase: string;
  readonly log: Logger;
}

interface HealthParts {
  readonly prober: Prober;
  readonly alerts: AlertOutbox;
}

/** The worker, and the outbox for the alerts that its checks raise. */
export function composeHealth({ ctx, analytics, sink, cell, timeoutMs, defaultBase, log }: HealthOptions): HealthParts {
  const alerts = new AlertOutbox(ctx.db, sink, cell, ctx.now);
  const catalogs = new CatalogCache(() => ctx.now().getTime());
  const tools = { ctx, analytics, catalogs, timeoutMs, defaultBase };
  const ledger = new ProbeLedger(analytics, cell);
  return { prober: new Prober({ tools, ledger, alerts, fraction: Math.random, log }), alerts };
}
