/** What makes a run void: requests that did not end well, and rows that are missing or written twice. Pure. */
import { OF_ONE_PROCESS, type TargetName } from "./loads.ts";
import type { Measured } from "./summary.ts";

/** The number of requests that were sent to these targets. */
export function sentTo(all: readonly Measured[], targets: readonly TargetName[]): number {
  const own = all.flatMap(({ figures }) => figures.filter(({ target }) => targets.includes(target)));
  return own.reduce((sum, { sent }) => sum + sent, 0);
}

/** The number of requests that were sent to the gateway, with any number of processes: each leaves one row. */
export function sentToGateway(all: readonly Measured[]): number {
  return sentTo(all, [...OF_ONE_PROCESS, "workers"]);
}

/** One line for each reason; empty when the run is valid. `rows`: the rows in the ledger, null when there is no ledger. */
export function voidReasons(all: readonly Measured[], rows: number | null): readonly string[] {
  const failed = all.flatMap(({ load, figures }) =>
    figures.flatMap(({ target, failures }) =>
      Object.entries(failures).map(([what, count]) => `${load.name}, ${target}: ${count} x ${what}`),
    ),
  );
  const sent = sentToGateway(all);
  return rows === null || rows === sent
    ? failed
    : [...failed, `${sent} requests of the gateway, ${rows} rows in the ledger`];
}
