/**
 * Invitations to the console (docs/rules/users.md#invitations): a role and tenants for the person who signs in with a verified
 * email. Nothing is mailed, and no link lets anybody in.
 */
import { and, eq, getTableColumns, gt, inArray, lte, sql } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { createInvitationSchema, type Invitation, invitationSchema } from "../../shared/schema/invitation.ts";
import type { UserTenant } from "../../shared/schema/user.ts";
import type { Database, Transaction } from "../db/connect.ts";
import { tenants } from "../db/schema/tenancy.ts";
import { invitations, type UserRow, users } from "../db/schema/users.ts";
import type { Page, VerbContext, Written } from "../kernel/context.ts";
import { isUniqueViolation } from "../kernel/database-errors.ts";
import { withIsoTimes } from "../kernel/iso-times.ts";
import { beforeCreated, byNewest, createdMicros, parsePage, readPage } from "../kernel/paging.ts";
import { fieldError, parse, parseId } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { setUserTenants } from "./user-tenants.ts";

const DAY_MS = 86_400_000;

type InvitationRow = typeof invitations.$inferSelect;

function invitationRecord(row: InvitationRow): Invitation {
  return invitationSchema.parse(withIsoTimes(row));
}

/** One page, those that are over included. Throws 400. */
export async function listInvitations(ctx: VerbContext, query: unknown): Promise<Page<Invitation>> {
  const page = parsePage(query);
  return await readPage(
    page,
    (part) =>
      ctx.db
        .select({ ...getTableColumns(invitations), micros: createdMicros(invitations.created_at) })
        .from(invitations)
        .where(beforeCreated(invitations, part))
        .orderBy(...byNewest(invitations))
        .limit(part.limit),
    (row) => [row.micros, row.id],
    invitationRecord,
  );
}

/** The new invitation, in place of one for this email that is over. Throws 400, 409. */
export async function createInvitation(ctx: VerbContext, input: unknown): Promise<Written<Invitation>> {
  const { expires_in_days, ...body } = parse(createInvitationSchema, input);
  return await write(ctx, async (tx, journal) => {
    const now = ctx.now();
    await tx.delete(invitations).where(and(eq(invitations.email, body.email), lte(invitations.expires_at, now)));
    const [known] = await tx.select({ id: users.id }).from(users).where(eq(users.email, body.email));
    if (known !== undefined)
      throw new GatewayError("already_exists", { value: `user '${body.email}'`, param: "email" });
    if ((await existing(tx, body.tenant_ids)).length < body.tenant_ids.length)
      throw fieldError("tenant_ids", "has an id that is not a tenant");
    const expires_at = new Date(now.getTime() + expires_in_days * DAY_MS);
    try {
      const [row] = await tx
        .insert(invitations)
        .values({ ...body, invited_by: ctx.actor, expires_at, created_at: now })
        .returning();
      const record = invitationRecord(row as InvitationRow);
      const { id, email, role, tenant_ids } = record;
      const detail = { email, role, tenant_ids, expires_at: record.expires_at };
      journal.audit({ action: "create_invitation", entityType: "invitation", entityId: id, detail });
      return record;
    } catch (error) {
      if (isUniqueViolation(error))
        throw new GatewayError("already_exists", { value: `invitation for '${body.email}'`, param: "email" });
      throw error;
    }
  });
}

/** Revokes an invitation. Throws 400, 404. */
export async function deleteInvitation(ctx: VerbContext, id: string): Promise<Written<null>> {
  const invitationId = parseId(id);
  return await write(ctx, async (tx, journal) => {
    const [row] = await tx.delete(invitations).where(eq(invitations.id, invitationId)).returning();
    if (row === undefined) throw new GatewayError("not_found");
    const detail = { email: row.email, role: row.role };
    journal.audit({ action: "delete_invitation", entityType: "invitation", entityId: invitationId, detail });
    return null;
  });
}

/** Whether somebody with this email is invited. */
export async function isInvited(tx: Transaction, email: string, now: Date): Promise<boolean> {
  const [row] = await tx.select({ id: invitations.id }).from(invitations).where(openFor(email, now));
  return row !== undefined;
}

/** Takes the invitation for a user who waits, whose email is verified: the user is active then. Null without an invitation. */
export async function takeInvitation(tx: Transaction, user: UserRow, now: Date): Promise<TakenInvitation | null> {
  const [invitation] = await tx.delete(invitations).where(openFor(user.email, now)).returning();
  if (invitation === undefined) return null;
  const left = await existing(tx, invitation.tenant_ids);
  const [first = null, ...more] = invitation.tenant_ids.filter((id) => left.includes(id));
  const { role } = invitation;
  const given = role === "user" || role === "viewer" ? more.map((tenant_id) => ({ tenant_id, role })) : [];
  await setUserTenants(tx, user.id, { source: "admin", given });
  const rev = sql<number>`nextval('config_rev')`;
  const [row] = await tx
    .update(users)
    .set({ status: "active", role, tenant_id: first, rev, updated_at: now })
    .where(eq(users.id, user.id))
    .returning();
  return row === undefined ? null : { user: row, more_tenants: given };
}

/** The user afterwards, and the tenants other than that of the user's row. */
interface TakenInvitation {
  readonly user: UserRow;
  readonly more_tenants: readonly UserTenant[];
}

const openFor = (email: string, now: Date) => and(eq(invitations.email, email), gt(invitations.expires_at, now));

async function existing(db: Database | Transaction, ids: readonly string[]): Promise<readonly string[]> {
  if (ids.length === 0) return [];
  const rows = await db
    .select({ id: tenants.id })
    .from(tenants)
    .where(inArray(tenants.id, [...ids]));
  return rows.map(({ id }) => id);
}
