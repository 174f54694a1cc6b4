/**
 * What a restore does about the tenant that the gateway makes for its assistant (docs/rules/backup.md#restore): rows of it
 * are not restored, and its name is given to a tenant of the file that has it.
 */
import { eq } from "drizzle-orm";
import type { Backup } from "../../shared/schema/backup.ts";
import type { Transaction } from "../db/connect.ts";
import { tenants } from "../db/schema/tenancy.ts";
import type { VerbContext } from "../kernel/context.ts";
import type { WriteJournal } from "../kernel/write-journal.ts";
import { ASSISTANT_TENANT_ID, freeAssistantName } from "../tenants/own-tenants.ts";

/** The data without the tenant of the assistant and its keys, which no export has, and a warning if there were any. */
export function withoutOwnTenant(data: Backup["data"]): {
  readonly data: Backup["data"];
  readonly warnings: readonly string[];
} {
  const isOwn = (id: string): boolean => id.toLowerCase() === ASSISTANT_TENANT_ID;
  const left = data.tenants.filter(({ id }) => isOwn(id));
  const api_keys = data.api_keys.filter(({ tenant_id }) => !isOwn(tenant_id));
  const keys = data.api_keys.length - api_keys.length;
  if (left.length === 0 && keys === 0) return { data, warnings: [] };
  const warning = `tenant '${left[0]?.name ?? ASSISTANT_TENANT_ID}': the gateway creates its assistant's tenant and keys itself; not restored: ${left.length} in tenants, ${keys} in api_keys`;
  return { data: { ...data, tenants: data.tenants.filter(({ id }) => !isOwn(id)), api_keys }, warnings: [warning] };
}

/**
 * Gives the assistant's tenant another name when a tenant that is about to be restored has its name, and says so in a
 * warning: the assistant's is known by its id, and what admins have named keeps its name.
 */
export async function giveWay(
  ctx: VerbContext,
  tx: Transaction,
  journal: WriteJournal,
  restored: Backup["data"]["tenants"],
): Promise<readonly string[]> {
  const mine = eq(tenants.id, ASSISTANT_TENANT_ID);
  const [own] = await tx.select({ name: tenants.name }).from(tenants).where(mine).for("update");
  const names = restored.map(({ name }) => name);
  if (own === undefined || !names.includes(own.name)) return [];
  const name = await freeAssistantName(tx, names);
  await tx.update(tenants).set({ name, updated_at: ctx.now(), rev: journal.rev }).where(mine);
  journal.tenantChanged(ASSISTANT_TENANT_ID);
  return [
    `tenant '${own.name}': the backup has a tenant with this name; the gateway's assistant tenant had it and is now called '${name}'`,
  ];
}
