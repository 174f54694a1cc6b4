/**
 * What a person has to act on now, from everything that knows it (docs/rules/attention.md). A part behind the gateway that
 * does not answer is an entry of the list and hides no other entry; only without the database there is no list.
 */
import { ATTENTION_KINDS, type AttentionItem } from "../../../shared/schema/attention.ts";
import type { CellDirectory } from "../../kernel/cells/cell-directory.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { withDatabaseErrors } from "../../kernel/database-errors.ts";
import type { HotStore } from "../../kernel/hot-store/hot-store.ts";
import { readAlerts } from "../read-alerts.ts";
import { backupAttention } from "./backup-attention.ts";
import { budgetAttention } from "./budget-attention.ts";
import { cellAttention } from "./cell-attention.ts";
import { recordAttention } from "./record-attention.ts";

/** More entries than this are not shown. */
const ITEMS_MAX = 200;
/** Alerts about what the list has an entry of its own for. */
const SHOWN_OTHERWISE =
  /^(model_health_down:|term_budget_|key_term_budget_|tenant_expiry:|redis_sync_failed$|usage_rows_refused$|slurm_reconcile_held$|backup_failed$)/;

/** At most 200 entries, the most urgent kind first, of one kind the one that has lasted longest. Throws 503. */
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
  const { firing } = await readAlerts(ctx);
  return firing
    .filter(({ key }) => !SHOWN_OTHERWISE.test(key))
    .map(({ key, title, detail, since, acknowledged_by, muted_until }) => ({
      kind: "alert",
      entity_type: "gateway",
      entity_id: key,
      name: title,
      detail: `${detail}${acknowledged_by === null ? "" : ` (acknowledged by ${acknowledged_by})`}${muted_until === null ? "" : ` (muted until ${muted_until})`}`,
      since,
    }));
}

/** The first 200 by urgency, age and name; who has no age comes first among its kind. */
export function mostUrgent(items: readonly AttentionItem[]): readonly AttentionItem[] {
  const rank = new Map(ATTENTION_KINDS.map((kind, at) => [kind, at]));
  const place = ({ kind }: AttentionItem): number => rank.get(kind) ?? ATTENTION_KINDS.length;
  return items
    .toSorted((a, b) => place(a) - place(b) || compare(a.since ?? "", b.since ?? "") || compare(a.name, b.name))
    .slice(0, ITEMS_MAX);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
