/**
 * Cells that do not answer, and usage rows that do not leave their ledgers (docs/rules/attention.md). It never throws: a cell
 * that is away is an entry.
 */
import type { FoundItem } from "../../../shared/schema/attention.ts";
import type { CellDirectory } from "../../kernel/cells/cell-directory.ts";
import type { CellAddress } from "../../kernel/cells/cells.ts";
import type { VerbContext } from "../../kernel/context.ts";
import type { HotStore } from "../../kernel/hot-store/hot-store.ts";

/** A cell that is not configured here counts as gone this long after it was last seen, and a day later as removed. */
const GONE_MS = 60_000;
const REMOVED_MS = 24 * 3_600_000;
/** A quarter of the room of a ledger. */
const WAITING_BYTES = 64 * 1024 * 1024;

/** The entries, in no particular order. */
export async function cellAttention(
  ctx: VerbContext,
  { cells }: CellDirectory,
  store: HotStore,
): Promise<readonly FoundItem[]> {
  const nowMs = ctx.now().getTime();
  const seen = await store.cells().catch(() => new Map<string, { readonly last_seen_ms: number }>());
  const configured = await Promise.all(
    cells.addresses.map(async (address) => await oneCell(cells, address, seen.get(address.cell)?.last_seen_ms)),
  );
  const names = new Set(cells.addresses.map(({ cell }) => cell));
  const others = [...seen].filter(([cell, { last_seen_ms }]) => {
    const silentMs = nowMs - last_seen_ms;
    return !names.has(cell) && silentMs > GONE_MS && silentMs < REMOVED_MS;
  });
  return [...configured.flat(), ...others.map(([cell, { last_seen_ms }]) => unreachable(cell, last_seen_ms))];
}

async function oneCell(
  cells: CellDirectory["cells"],
  address: CellAddress,
  lastSeenMs: number | undefined,
): Promise<readonly FoundItem[]> {
  const { cell } = address;
  const families = await cells.metrics(address).then(
    (metrics) => metrics.families,
    () => null,
  );
  if (families === null) return [unreachable(cell, lastSeenMs ?? null)];
  const gauge = (name: string): number =>
    families.find((family) => family.name === name)?.samples.reduce((sum, { value }) => sum + value, 0) ?? 0;
  const aside = gauge("gateway_telemetry_aside");
  const bytes = gauge("gateway_spill_bytes");
  const entry = (kind: FoundItem["kind"], detail: string): FoundItem => ({
    kind,
    entity_type: "cell",
    entity_id: cell,
    name: cell,
    detail,
    since: null,
  });
  return [
    ...(aside > 0 ? [entry("usage_refused", `the analytics store refuses ${aside} usage rows`)] : []),
    ...(bytes > WAITING_BYTES
      ? [entry("usage_waiting", `${Math.round(bytes / 1024 / 1024)} MiB of usage rows wait for the analytics store`)]
      : []),
  ];
}

function unreachable(cell: string, lastSeenMs: number | null): FoundItem {
  return {
    kind: "cell_unreachable",
    entity_type: "cell",
    entity_id: cell,
    name: cell,
    detail: "the cell does not answer",
    since: lastSeenMs === null ? null : new Date(lastSeenMs).toISOString(),
  };
}
