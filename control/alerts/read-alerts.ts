/** What is wrong now, and what was said lately (docs/rules/alerts.md#reading-alerts). */
import type { AlertOverview } from "../../shared/schema/alert-log.ts";
import type { VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { AlertLog } from "./alert-log.ts";
import { alertMarkOf, marksOf, mutedMarks } from "./alert-marks.ts";
import { firingIssues } from "./firing.ts";

/** More than this are not shown. */
const SHOWN_MAX = 200;

/** Issues that fire, the longest first, and the last messages, the newest first; at most 200 each. */
export async function readAlerts(ctx: VerbContext): Promise<AlertOverview> {
  return await withDatabaseErrors(async () => {
    const nowMs = ctx.now().getTime();
    const firing = await firingIssues(ctx.db, nowMs);
    const recent = await new AlertLog(ctx.db).recent(SHOWN_MAX);
    const shown = firing.slice(0, SHOWN_MAX);
    const marks = await marksOf(
      ctx.db,
      shown.map(({ key }) => key),
    );
    const muted = await mutedMarks(ctx.db, nowMs, SHOWN_MAX);
    const sinceOf = new Map(firing.map(({ key, since }) => [key, since]));
    return {
      firing: shown.map((alert) => ({ ...alert, ...alertMarkOf(alert.key, marks.get(alert.key), alert.since, nowMs) })),
      recent: [...recent],
      muted: muted.map((row) => alertMarkOf(row.issue_key, row, sinceOf.get(row.issue_key) ?? null, nowMs)),
    };
  });
}
