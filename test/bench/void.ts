/** What makes a run void: requests that did not end well, and rows that are missing or there twice. Pure. */
import type { Measured } from "./summary.ts";

/** Requests that the gateway was sent: each leaves one row. */
export function sentToGateway(all: readonly Measured[]): number {
  const own = all.flatMap(({ figures }) => figures.filter(({ target }) => target === "governed" || target === "front"));
  return own.reduce((sum, { sent }) => sum + sent, 0);
}

/** A line for each reason; none when the run counts. `rows` are those of the ledger, null when there is none. */
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
