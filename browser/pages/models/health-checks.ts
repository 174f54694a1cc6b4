/** The checks of a model and of its endpoints as one list, and how long they took (docs/rules/health.md#records). Pure. */
import type { ModelHealthDetail } from "../../../shared/schema/model-health.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { instantOf } from "../../time/instants.ts";

const text = texts("models", modelsTexts);

/** A check, and what was checked. */
export type CheckRow = ModelHealthDetail["checks"][number] & { readonly of: string };

/** The newest first. */
export function checkRows({ checks, endpoint_checks }: ModelHealthDetail): readonly CheckRow[] {
  return [
    ...checks.map((check) => ({ ...check, of: text("itself") })),
    ...endpoint_checks.map((check) => ({ ...check, of: check.endpoint_name ?? text("removed") })),
  ].sort((a, b) => (a.checked_at < b.checked_at ? 1 : a.checked_at > b.checked_at ? -1 : 0));
}

/** A line for each thing that was checked: how long its last check took, at every check. A check without an answer is a gap. */
export function checkLatencies(rows: readonly CheckRow[]): {
  readonly atMs: readonly number[];
  readonly series: readonly {
    readonly id: string;
    readonly label: string;
    readonly values: readonly (number | null)[];
  }[];
} {
  const timed = rows
    .flatMap((row) => {
      const atMs = instantOf(row.checked_at);
      return atMs === null ? [] : [{ of: row.of, atMs, latencyMs: row.http_status === null ? null : row.latency_ms }];
    })
    .sort((a, b) => a.atMs - b.atMs);
  const atMs = [...new Set(timed.map((one) => one.atMs))];
  return {
    atMs,
    series: [...new Set(timed.map(({ of }) => of))].map((of) => {
      const own = new Map(timed.filter((one) => one.of === of).map((one) => [one.atMs, one.latencyMs]));
      let last: number | null = null;
      const values = atMs.map((at) => {
        const now = own.get(at);
        if (now !== undefined) last = now;
        return last;
      });
      return { id: of, label: of, values };
    }),
  };
}
