/** What is wrong now, and what was said lately (docs/rules/alerts.md#reading-alerts). */

import { SEVERITIES } from "../../shared/catalogues/alerts.ts";
import type { AlertOverview, FiringAlert } from "../../shared/schema/alert-log.ts";
import type { VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { titleOf } from "./alert-kinds.ts";
import { AlertLog, type Firing } from "./alert-log.ts";
import { alertMarkOf, marksOf, mutedMarks } from "./alert-marks.ts";
import { firingIssues } from "./firing.ts";
import { isOfTenant } from "./issue-tenants.ts";

/** More than this are not shown. */
const SHOWN_MAX = 200;

/** Issues that fire, the most urgent first, and the last messages, the newest first; at most 200 each. */
export async function readAlerts(ctx: VerbContext): Promise<AlertOverview> {
  return await withDatabaseErrors(async () => {
    const nowMs = ctx.now().getTime();
    const firing = await firingIssues(ctx.db, nowMs);
    const recent = await new AlertLog(ctx.db).recent(SHOWN_MAX);
    const muted = await mutedMarks(ctx.db, nowMs, SHOWN_MAX);
    const sinceOf = new Map(firing.map(({ key, since }) => [key, since]));
    return {
      firing: await mostUrgentFiring(ctx, firing),
      recent: [...recent],
      muted: muted.map((row) => alertMarkOf(row.issue_key, row, sinceOf.get(row.issue_key) ?? null, nowMs)),
    };
  });
}

/**
 * At most 200 of the issues, given the longest first, with what people have said of them: critical ones before others, then those of
 * the gateway before those of tenants. So what tenants cause never hides another issue.
 */
export async function mostUrgentFiring(ctx: VerbContext, firing: readonly Firing[]): Promise<FiringAlert[]> {
  const place = ({ key, severity }: Firing): number => 2 * -SEVERITIES.indexOf(severity) + (isOfTenant(key) ? 1 : 0);
  const shown = firing.toSorted((a, b) => place(a) - place(b)).slice(0, SHOWN_MAX);
  const marks = await marksOf(
    ctx.db,
    shown.map(({ key }) => key),
  );
  const nowMs = ctx.now().getTime();
  return shown.map((alert) => ({
    ...alert,
    title: titleOf(alert.key, alert.title),
    ...alertMarkOf(alert.key, marks.get(alert.key), alert.since, nowMs),
  }));
}
