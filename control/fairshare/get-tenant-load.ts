/** What a tenant's requests do now, over all cells (docs/rules/fairshare.md#load-of-a-tenant). */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { mergedWaiting } from "../../shared/fairshare/merged-waiting.ts";
import type { FairshareLive, TenantLoad, WaitingQueue } from "../../shared/schema/load.ts";
import { tenants } from "../db/schema/tenancy.ts";
import { type CellDirectory, callCell, cellOf } from "../kernel/cells/cell-directory.ts";
import { BRIEF_DEADLINE_MS } from "../kernel/cells/cells.ts";
import type { VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { parseId } from "../kernel/parse.ts";

/** Of every cell that responds; the control service's own must. Throws 404, 502. */
export async function getTenantLoad(ctx: VerbContext, directory: CellDirectory, id: string): Promise<TenantLoad> {
  const tenantId = parseId(id);
  const [tenant] = await withDatabaseErrors(async () =>
    ctx.db.select({ cap: tenants.max_in_flight }).from(tenants).where(eq(tenants.id, tenantId)),
  );
  if (tenant === undefined) throw new GatewayError("not_found");
  const own = cellOf(directory, {});
  const answers = await Promise.all(
    directory.cells.addresses.map(async (address) =>
      address === own
        ? await callCell(own, async () => await directory.cells.live(own))
        : await directory.cells.live(address, BRIEF_DEADLINE_MS).catch(() => null),
    ),
  );
  return tenantLoadOf(
    answers.filter((answer) => answer !== null),
    tenantId,
    tenant.cap,
  );
}

/** A tenant's people do not see how slots are shared: neither groups nor weights. */
const WAITS_FOR = {
  tenant_cap: "tenant_limit",
  model_cap: "model_limit",
  headroom: "shared_slots",
  group_share: "shared_slots",
  tenant_share: "shared_slots",
  cell_full: "shared_slots",
  budget: null,
} as const satisfies Record<WaitingQueue["reason"], TenantLoad["waits_for"]>;

/** The load of a tenant whose requests have `cap` slots in each cell. */
export function tenantLoadOf(
  cells: readonly Pick<FairshareLive, "tenants" | "waiting" | "batch_in_flight" | "batch_queued">[],
  tenantId: string,
  cap: number | null,
): TenantLoad {
  const loads = cells.map(({ tenants: listed }) => listed.find(({ tenant_id }) => tenant_id === tenantId));
  const running = loads.map((load) => load?.in_flight ?? 0);
  const [longest] = mergedWaiting(
    cells.map(({ waiting }) => waiting.filter(({ tenant_id }) => tenant_id === tenantId)),
  );
  return {
    in_flight: running.reduce((sum, count) => sum + count, 0),
    queued: loads.reduce((sum, load) => sum + (load?.queued ?? 0), 0),
    oldest_wait_ms: longest?.oldest_wait_ms ?? null,
    waits_for: longest === undefined ? null : WAITS_FOR[longest.reason],
    batches_wait: cells.some((cell) => cell.batch_queued > 0) && cells.every((cell) => cell.batch_in_flight === 0),
    slots_left: cap === null ? null : Math.max(0, cap - Math.max(0, ...running)),
  };
}
