/**
 * The rows of people who sign in (docs/rules/users.md#identity). An identity is a provider and its subject: an email is
 * only a label, and the same email from another identity is refused, never linked.
 */
import { and, eq, not, sql } from "drizzle-orm";
import { personEmail } from "../../shared/schema/person-email.ts";
import { oneLine } from "../../shared/text/printable.ts";
import type { Database, Transaction } from "../db/connect.ts";
import { auditLog } from "../db/schema/journal.ts";
import { type UserRow, users } from "../db/schema/users.ts";
import { changedFields } from "../kernel/changed-fields.ts";
import { isUniqueViolation, withDatabaseErrors } from "../kernel/database-errors.ts";
import { applyGranted, type Granted, givesAny, grantedBy } from "../users/group-grants.ts";
import { isInvited, takeInvitation } from "../users/invitations.ts";
import { LOCAL_PROVIDER } from "../users/user-record.ts";

/** Users that wait for approval: anybody with an account at a public provider could otherwise fill the table. */
const PENDING_MAX = 1000;
const NAME_MAX = 200;

/** Who a provider says has signed in. */
export interface Identity {
  readonly provider: string;
  readonly subject: string;
  readonly email: string;
  /** The provider itself says so. */
  readonly isEmailVerified: boolean;
  readonly name: string;
  /** By the claim of the provider; empty: none. */
  readonly groups: readonly string[];
}

/** The user, or why there is none. */
type SignedIn =
  | { readonly kind: "user"; readonly user: UserRow }
  | { readonly kind: "refused"; readonly reason: "email_taken" | "email_invalid" | "too_many_pending" };

/**
 * The user of an identity of a provider, who is pending when new. `reserved` is the email of the break-glass admin, which
 * no other identity may have.
 */
export async function signInIdentity(
  db: Database,
  identity: Identity,
  { reserved, now, address }: { readonly reserved: string; readonly now: Date; readonly address: string },
): Promise<SignedIn> {
  const { data: email } = personEmail.safeParse(identity.email);
  if (email === undefined) return { kind: "refused", reason: "email_invalid" };
  if (email === reserved) return { kind: "refused", reason: "email_taken" };
  const name = oneLine(identity.name).trim().slice(0, NAME_MAX).toWellFormed();
  try {
    return await withDatabaseErrors(async () =>
      db.transaction(async (tx) => {
        const { provider, subject, groups } = identity;
        const granted = await grantedBy(tx, provider, groups);
        const known = await signInKnown(tx, identity, { email, name, now, address });
        if (known === null && !(identity.isEmailVerified && (await isInvited(tx, email, now))) && !givesAny(granted)) {
          const pending = await tx.$count(users, eq(users.status, "pending"));
          if (pending >= PENDING_MAX) return { kind: "refused", reason: "too_many_pending" };
        }
        const fresh = { email, name, provider, subject, role: "user", status: "pending", last_login_at: now } as const;
        const [user] = known === null ? await tx.insert(users).values(fresh).returning() : [known];
        if (user === undefined) throw new Error("no row was made");
        return { kind: "user", user: await admitted(tx, user, { identity, granted, now, address }) };
      }),
    );
  } catch (error) {
    if (isUniqueViolation(error)) return { kind: "refused", reason: "email_taken" };
    throw error;
  }
}

/** The user with what an invitation and the groups give, as the audit log says. */
async function admitted(
  tx: Transaction,
  user: UserRow,
  { identity, granted, now, address }: Admission,
): Promise<UserRow> {
  const isWaiting = user.status === "pending" && identity.isEmailVerified;
  const invited = isWaiting ? await takeInvitation(tx, user, now) : null;
  const after = await applyGranted(tx, invited?.user ?? user, { granted, now });
  if (invited !== null) {
    const { role, tenant_id } = invited.user;
    const detail = { role, tenant_id, more_tenants: invited.more_tenants };
    await tx.insert(auditLog).values(entryOf(user, address, "accept_invitation", detail));
  }
  if (after !== null) await tx.insert(auditLog).values(entryOf(user, address, "apply_group_grants", { ...granted }));
  return after ?? invited?.user ?? user;
}

/** A line of the audit log about what a sign-in has made of the person's own row. */
function entryOf({ id, email }: UserRow, address: string, action: string, detail: object) {
  return { actor: email, address, action, entity_type: "user", entity_id: id, detail: { email, ...detail } };
}

interface Admission {
  readonly identity: Identity;
  readonly granted: Granted;
  readonly now: Date;
  readonly address: string;
}

/** The user whom this identity already has, with the name and email of today. */
async function signInKnown(
  tx: Transaction,
  { provider, subject }: Identity,
  {
    email,
    name,
    now,
    address,
  }: { readonly email: string; readonly name: string; readonly now: Date; readonly address: string },
): Promise<UserRow | null> {
  const same = and(eq(users.provider, provider), eq(users.subject, subject));
  const [before] = await tx.select().from(users).where(same).for("update");
  if (before === undefined) return null;
  const changed = changedFields(before, { email, name });
  const isRenamed = before.email !== email || before.name !== name;
  const rev = isRenamed ? { rev: sql<number>`nextval('config_rev')` } : {};
  const [user] = await tx
    .update(users)
    .set({ email, name, ...rev, last_login_at: now })
    .where(same)
    .returning();
  if (user !== undefined && isRenamed) await tx.insert(auditLog).values(entryOf(user, address, "update_user", changed));
  return user ?? null;
}

/** The subject of the break-glass admin. */
const SUBJECT = "break-glass";

/**
 * The row of the break-glass admin, made when it is missing. An email that another identity has got does not keep the
 * admin out: the row then has a label of its own.
 */
export async function signInBreakGlass(db: Database, email: string, now: Date): Promise<UserRow> {
  return await withDatabaseErrors(async () =>
    db.transaction(async (tx) => {
      const others = and(eq(users.email, email), not(eq(users.provider, LOCAL_PROVIDER)));
      const taken = await tx.select({ id: users.id }).from(users).where(others);
      const row = {
        email: taken.length === 0 ? email : `${LOCAL_PROVIDER}:${email}`,
        name: "Admin",
        provider: LOCAL_PROVIDER,
        subject: SUBJECT,
        role: "admin",
        status: "active",
        last_login_at: now,
      } as const;
      const [user] = await tx
        .insert(users)
        .values(row)
        .onConflictDoUpdate({ target: [users.provider, users.subject], set: row })
        .returning();
      if (user === undefined) throw new Error("no row was made");
      return user;
    }),
  );
}
