/**
 * What is wrong now. An issue fires while it is raised again; a model that is down fires until a check finds it healthy, whatever
 * the time that has passed (docs/rules/alerts.md#reading-alerts).
 */
import { and, eq } from "drizzle-orm";
import { issues } from "../../shared/alerts.ts";
import type { Database } from "../db/connect.ts";
import { modelHealth, models } from "../db/schema/models.ts";
import { severityOf } from "./alert-kinds.ts";
import { AlertLog, type Firing } from "./alert-log.ts";

/** Every issue that fires at `nowMs`, the longest first. */
export async function firingIssues(db: Database, nowMs: number): Promise<readonly Firing[]> {
  const firing = [...(await new AlertLog(db).firing(nowMs)), ...(await downModels(db))];
  return firing.toSorted((a, b) => (a.since < b.since ? -1 : a.since > b.since ? 1 : 0));
}

async function downModels(db: Database): Promise<readonly Firing[]> {
  const rows = await db
    .select({ name: models.model_name, health: modelHealth })
    .from(modelHealth)
    .innerJoin(models, eq(models.id, modelHealth.model_id))
    .where(and(eq(modelHealth.alert_state, "firing"), eq(models.enabled, true)));
  return rows.map(({ name, health }) => {
    const failures = health.consecutive_failures;
    const { issueKey, title, detail } = issues.modelHealthDown(name, failures, health.last_message ?? "unknown");
    return {
      key: issueKey,
      title,
      detail,
      severity: severityOf(issueKey),
      since: (health.failing_since ?? health.updated_at).toISOString(),
      last_at: (health.last_checked_at ?? health.updated_at).toISOString(),
      repeats: Math.max(0, failures - 1),
    };
  });
}
