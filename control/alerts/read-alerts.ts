/**
 * What is wrong now, and what was said lately (docs/rules/alerts.md#reading-alerts). A model that is down fires until a
 * check finds it healthy, whatever the time that has passed.
 */
import { and, asc, eq } from "drizzle-orm";
import { issues } from "../../shared/alerts.ts";
import type { AlertOverview } from "../../shared/schema/alert-log.ts";
import { modelHealth, models } from "../db/schema/models.ts";
import type { VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { severityOf } from "./alert-kinds.ts";
import { AlertLog, type Firing, longestFirst } from "./alert-log.ts";
import { alertMarkOf, marksOf, mutedMarks } from "./alert-marks.ts";

/** Issues that fire, the longest first, and the last messages, the newest first; at most 200 each. */
export async function readAlerts(ctx: VerbContext): Promise<AlertOverview> {
  return await withDatabaseErrors(async () => {
    const nowMs = ctx.now().getTime();
    const { firing, recent } = await new AlertLog(ctx.db).read(nowMs);
    const all = longestFirst([...firing, ...(await downModels(ctx))]);
    const marks = await marksOf(
      ctx.db,
      all.map(({ key }) => key),
    );
    const muted = await mutedMarks(ctx.db, nowMs);
    const sinceOf = new Map(all.map(({ key, since }) => [key, since]));
    return {
      firing: all.map((alert) => ({ ...alert, ...alertMarkOf(alert.key, marks.get(alert.key), alert.since, nowMs) })),
      recent: [...recent],
      muted: muted.map((row) => alertMarkOf(row.issue_key, row, sinceOf.get(row.issue_key) ?? null, nowMs)),
    };
  });
}

async function downModels(ctx: VerbContext): Promise<readonly Firing[]> {
  const rows = await ctx.db
    .select({ name: models.model_name, health: modelHealth })
    .from(modelHealth)
    .innerJoin(models, eq(models.id, modelHealth.model_id))
    .where(and(eq(modelHealth.alert_state, "firing"), eq(models.enabled, true)))
    .orderBy(asc(modelHealth.failing_since))
    .limit(200);
  return rows.map(({ name, health }) => {
    const failures = health.consecutive_failures;
    const { issueKey, title, detail } = issues.modelHealthDown(name, failures, health.last_message ?? "unknown");
    const since = (health.failing_since ?? health.updated_at).toISOString();
    return { key: issueKey, title, detail, severity: severityOf(issueKey), since, repeats: Math.max(0, failures - 1) };
  });
}
