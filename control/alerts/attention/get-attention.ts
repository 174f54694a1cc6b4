/**
 * What a person has to act on now, from everything that knows it (docs/rules/attention.md). A part behind the gateway that
 * does not answer is an entry of the list and hides no other entry; only without the database there is no list.
 */
import { SEVERITIES } from "../../../shared/catalogues/alerts.ts";
import { ATTENTION_KINDS, type AttentionItem } from "../../../shared/schema/attention.ts";
import type { CellDirectory } from "../../kernel/cells/cell-directory.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { withDatabaseErrors } from "../../kernel/database-errors.ts";
import type { HotStore } from "../../kernel/hot-store/hot-store.ts";
import { severityOf } from "../alert-kinds.ts";
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

/** At most 200 entries, the most urgent kind first, of one kind the one that has lasted longest; of alerts critical ones first. Throws 503. */
export async function getAttention(
  ctx: VerbContext,
  directory: CellDirectory,
  store: HotStore,
): Promise<readonly AttentionItem[]> {
  const found = await withDatabaseErrors(
    async () =>
      await Promise.all([
        recordAttention(ctx),
        backupAttention(ctx),
        cellAttention(ctx, directory, store),
        budgetAttention(ctx, directory),
        alertAttention(ctx),
      ]),
  );
  return mostUrgent(found.flat());
}

async function alertAttention(ctx: VerbContext): Promise<readonly AttentionItem[]> {
  const firing = (await firingIssues(ctx.db, ctx.now().getTime())).filter(({ key }) => !SHOWN_OTHERWISE.test(key));
  return (await mostUrgentFiring(ctx, firing)).map(({ key, title, detail, since, acknowledged_by, muted_until }) => ({
    kind: "alert",
    entity_type: "gateway",
    entity_id: key,
    name: title,
    detail: `${detail}${acknowledged_by === null ? "" : ` (acknowledged by ${acknowledged_by})`}${muted_until === null ? "" : ` (muted until ${muted_until})`}`,
    since,
  }));
}

/**
 * The first 200 by urgency, age and name; who has no age comes first among its kind. The first of each kind is always one of them:
 * many of a kind hide no other.
 */
export function mostUrgent(items: readonly AttentionItem[]): readonly AttentionItem[] {
  const rank = new Map(ATTENTION_KINDS.map((kind, at) => [kind, at]));
  const place = ({ kind, entity_id }: AttentionItem): number =>
    (rank.get(kind) ?? ATTENTION_KINDS.length) * SEVERITIES.length -
    (kind === "alert" ? SEVERITIES.indexOf(severityOf(entity_id)) : 0);
  const sorted = items.toSorted(
    (a, b) => place(a) - place(b) || compare(a.since ?? "", b.since ?? "") || compare(a.name, b.name),
  );
  const firsts = new Set(sorted.filter(({ kind }, at) => kind !== sorted[at - 1]?.kind));
  const others = sorted.filter((item) => !firsts.has(item)).slice(0, ITEMS_MAX - firsts.size);
  const shown = new Set([...firsts, ...others]);
  return sorted.filter((item) => shown.has(item));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
