/**
 * What was raised in the last 30 days, page by page: a row for each time that an issue was active
 * (docs/rules/alerts.md#reading-alerts).
 */
import { and, desc, eq, gte, inArray, lt, not, or, type SQL, sql } from "drizzle-orm";
import { ALERT_SEVERITIES, ALERT_TITLES, type AlertKey, SEVERITIES } from "../../shared/catalogues/alerts.ts";
import { type AlertHistoryEntry, alertHistoryFilterSchema } from "../../shared/schema/alert-log.ts";
import type { Page, VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { badCursor, parseFiltered, readPage } from "../kernel/paging.ts";
import { alertOf, severityOf } from "./alert-kinds.ts";
import { firingIssues } from "./firing.ts";
import { alertLog } from "./tables.ts";

const KINDS = Object.keys(ALERT_TITLES) as readonly AlertKey[];

/** One page, the newest first. Throws 400, 503. */
export async function listAlertHistory(ctx: VerbContext, query: unknown): Promise<Page<AlertHistoryEntry>> {
  const { page, filter } = parseFiltered(alertHistoryFilterSchema, query);
  const { severity, state, kind, key, q, since_ms, until_ms } = filter;
  return await withDatabaseErrors(async () => {
    const firing = new Set((await firingIssues(ctx.db, ctx.now().getTime())).map((issue) => issue.key));
    const { issue_key, title, detail, last_at_ms, firing_since_ms } = alertLog;
    // an issue was active from its first row on; the last of these rows stands for all of them
    const next = sql`SELECT l.firing_since_ms FROM alert_log l
      WHERE l.issue_key = alert_log.issue_key AND l.id > alert_log.id ORDER BY l.id LIMIT 1`;
    const hasNext = sql<boolean>`EXISTS (SELECT FROM alert_log l WHERE l.issue_key = alert_log.issue_key AND l.id > alert_log.id)`;
    const isActive = and(inArray(issue_key, [...firing]), not(hasNext));
    const read = (part: typeof page) =>
      ctx.db
        .select({ row: alertLog, hasNext })
        .from(alertLog)
        .where(
          and(
            sql`NOT EXISTS (SELECT FROM (${next}) n WHERE n.firing_since_ms = ${firing_since_ms})`,
            severity === undefined ? undefined : ofSeverity(severity),
            state === undefined
              ? undefined
              : state === "active"
                ? isActive
                : or(not(inArray(issue_key, [...firing])), hasNext),
            kind === undefined ? undefined : ofKinds([kind]),
            key === undefined ? undefined : eq(issue_key, key),
            q === undefined
              ? undefined
              : sql`strpos(lower(concat_ws(' ', ${issue_key}, ${title}, ${detail})), lower(${q})) > 0`,
            since_ms === undefined ? undefined : gte(last_at_ms, since_ms),
            until_ms === undefined ? undefined : lt(firing_since_ms, until_ms),
            part.after === null ? undefined : lt(alertLog.id, idIn(part.after)),
          ),
        )
        .orderBy(desc(alertLog.id))
        .limit(part.limit);
    return await readPage(
      page,
      read,
      ({ row }) => [String(row.id)],
      ({ row, hasNext: wasFollowed }) => ({
        id: row.id,
        kind: alertOf(row.issue_key) ?? null,
        key: row.issue_key,
        title: row.title,
        detail: row.detail,
        severity: severityOf(row.issue_key),
        state: firing.has(row.issue_key) && !wasFollowed ? "active" : "ended",
        since: new Date(row.firing_since_ms).toISOString(),
        last_at: new Date(row.last_at_ms).toISOString(),
        repeats: row.firing_times - 1,
      }),
    );
  });
}

function idIn([id = ""]: readonly string[]): number {
  if (!/^\d{1,18}$/.test(id)) throw badCursor();
  return Number(id);
}

/** Issues of these alerts. A longer key that begins with one of them is another alert. */
function ofKinds(kinds: readonly AlertKey[]): SQL | undefined {
  const longer = KINDS.filter((other) => !kinds.includes(other) && kinds.some((kind) => other.startsWith(`${kind}_`)));
  return and(beginsWith(kinds), longer.length === 0 ? undefined : not(beginsWith(longer)));
}

const beginsWith = (kinds: readonly AlertKey[]): SQL => sql`${alertLog.issue_key} ~ ${`^(${kinds.join("|")})([:_]|$)`}`;

/** What no alert of this version is counts as a warning, as in {@link severityOf}. */
function ofSeverity(severity: (typeof SEVERITIES)[number]): SQL | undefined {
  const kindsOf = (wanted: readonly string[]) => KINDS.filter((kind) => wanted.includes(ALERT_SEVERITIES[kind]));
  if (severity !== "warning") return ofKinds(kindsOf([severity]));
  const others = ofKinds(kindsOf(SEVERITIES.filter((one) => one !== "warning")));
  return others === undefined ? undefined : not(others);
}
