/**
 * What a person has to act on now, from everything that knows it (docs/rules/attention.md). A part behind the gateway that
 * does not answer is an entry of the list and hides no other entry; only without the database there is no list.
 */
import { SEVERITIES } from "../../../shared/catalogues/alerts.ts";
import { ATTENTION_KINDS, type AttentionItem, type FoundItem } from "../../../shared/schema/attention.ts";
import type { CellDirectory } from "../../kernel/cells/cell-directory.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { withDatabaseErrors } from "../../kernel/database-errors.ts";
import type { HotStore } from "../../kernel/hot-store/hot-store.ts";
import { severityOf } from "../alert-kinds.ts";
import { alertMarkOf, marksOf } from "../alert-marks.ts";
import { firingIssues } from "../firing.ts";
import { mostUrgentFiring } from "../read-alerts.ts";
import { backupAttention } from "./backup-attention.ts";
import { budgetAttention } from "./budget-attention.ts";
import { cellAttention } from "./cell-attention.ts";
import { recordAttention } from "./record-attention.ts";

/** More entries than this are not shown. */
const ITEMS_MAX = 200;
/** Alerts about what the list has an entry of its own for. */
const SHOWN_OTHERWISE =
  /^(model_health_down:|term_budget_|key_term_budget_|tenant_expiry:|redis_sync_failed$|usage_rows_refused$|slurm_reconcile_held$|backup_failed$)/;

/** What is said later than this is what holds now: what is raised each minute is raised again by then. */
const NOW_MS = 90_000;
/** The severity of kinds that have no alert and are not warnings. */
const SEVERITY_OF: Readonly<Partial<Record<FoundItem["kind"], AttentionItem["severity"]>>> = {
  cell_unreachable: "critical",
  no_replica: "critical",
  setting_without_effect: "info",
};

/** At most 200 entries: see {@link mostUrgent}. Throws 503. */
export async function getAttention(
  ctx: VerbContext,
  directory: CellDirectory,
  store: HotStore,
): Promise<readonly AttentionItem[]> {
  return await withDatabaseErrors(async () => {
    const found = await Promise.all([
      recordAttention(ctx),
      backupAttention(ctx),
      cellAttention(ctx, directory, store),
      budgetAttention(ctx, directory),
      alertAttention(ctx),
    ]);
    return mostUrgent(await withAlerts(ctx, found.flat()));
  });
}

async function alertAttention(ctx: VerbContext): Promise<readonly FoundItem[]> {
  const nowMs = ctx.now().getTime();
  const firing = (await firingIssues(ctx.db, nowMs)).filter(({ key }) => !SHOWN_OTHERWISE.test(key));
  return (await mostUrgentFiring(ctx, firing)).map(({ key, title, detail, since, last_at, acknowledged_by }) => ({
    kind: "alert",
    entity_type: "gateway",
    entity_id: key,
    name: title,
    detail: `${detail}${nowMs - Date.parse(last_at) > NOW_MS ? ` (last at ${last_at})` : ""}${acknowledged_by === null ? "" : ` (acknowledged by ${acknowledged_by})`}`,
    since,
  }));
}

/** The entries with what is known of the alert about each. */
async function withAlerts({ db, now }: VerbContext, found: readonly FoundItem[]): Promise<readonly AttentionItem[]> {
  const keys = found.flatMap((item) => alertKeyOf(item) ?? []);
  const marks = await marksOf(db, keys);
  return found.map((item) => {
    const key = alertKeyOf(item);
    const severity = key === null ? (SEVERITY_OF[item.kind] ?? "warning") : severityOf(key);
    const muted_until = key === null ? null : alertMarkOf(key, marks.get(key), null, now().getTime()).muted_until;
    const detail = muted_until === null ? item.detail : `${item.detail} (muted until ${muted_until})`;
    return { ...item, detail, severity, alert_key: key, muted_until };
  });
}

function alertKeyOf({ kind, entity_type, entity_id, name }: FoundItem): string | null {
  const owner = entity_type === "api_key" ? "key_" : "";
  switch (kind) {
    case "alert":
      return entity_id;
    case "model_down":
      return `model_health_down:${name}`;
    case "budget_exhausted":
      return `${owner}term_budget_exhausted:${entity_id}`;
    case "budget_low":
      return `${owner}term_budget_warn:${entity_id}`;
    case "tenant_expires":
      return `tenant_expiry:${entity_id}`;
    case "provisioner_held":
      return "slurm_reconcile_held";
    case "backup_failed":
      return "backup_failed";
    case "sync_pending":
      return "redis_sync_failed";
    case "usage_refused":
      return "usage_rows_refused";
    default:
      return null;
  }
}

/**
 * The first 200: what is muted last, then by severity, kind, age and name; who has no age comes first among its kind. The first of each
 * kind and severity is always one of them: many of a kind hide no other.
 */
export function mostUrgent(items: readonly AttentionItem[]): readonly AttentionItem[] {
  const rank = new Map(ATTENTION_KINDS.map((kind, at) => [kind, at]));
  const place = ({ kind, severity, muted_until }: AttentionItem): number =>
    ((muted_until === null ? 0 : SEVERITIES.length) - SEVERITIES.indexOf(severity)) * ATTENTION_KINDS.length +
    (rank.get(kind) ?? 0);
  const sorted = items.toSorted(
    (a, b) => place(a) - place(b) || compare(a.since ?? "", b.since ?? "") || compare(a.name, b.name),
  );
  const firsts = new Set(sorted.filter((item, at) => at === 0 || place(item) !== place(sorted[at - 1] ?? item)));
  const others = sorted.filter((item) => !firsts.has(item)).slice(0, ITEMS_MAX - firsts.size);
  const shown = new Set([...firsts, ...others]);
  return sorted.filter((item) => shown.has(item));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
