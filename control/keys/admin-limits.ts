/**
 * What an admin has set of a key, and a `user` of its tenant must not undo (docs/rules/keys.md#admins-and-users). The row
 * keeps beside each limit whether an admin has set it: a user who has set a limit may raise it again. Where nobody knows
 * who has set the limits of a key, they count as an admin's.
 */
import { RATE_FIELD_NAMES, type RateField } from "../../shared/fields/rates.ts";
import type { AdminLimits } from "../../shared/schema/api-key.ts";
import type { ApiKeyRow } from "../db/schema/tenancy.ts";
import { refuseIfAny } from "../kernel/parse.ts";

type Kept = Partial<Pick<ApiKeyRow, "disabled_by" | "admin_limits">>;
type Columns = Readonly<{ [C in keyof ApiKeyRow]?: ApiKeyRow[C] | undefined }>;
type Limit = keyof typeof IS_WITHIN;
type LimitCheck = (value: unknown, set: unknown) => boolean;

const isAtMost = (value: unknown, most: unknown): boolean => typeof value === "number" && value <= Number(most);
const isPositiveAtMost = (value: unknown, most: unknown): boolean => isAtMost(value, most) && value !== 0;
const isSame = (value: unknown, set: unknown): boolean => value === set;

/** Each limit, and whether a value, as JSON has it, allows no more than the one that an admin has set. */
const IS_WITHIN = {
  ...(Object.fromEntries(RATE_FIELD_NAMES.map((name) => [name, isPositiveAtMost])) as Record<RateField, LimitCheck>),
  budget_tokens: isAtMost,
  budget_cost_usd: isAtMost,
  budget_period: isSame,
  budget_started_at: isSame,
  expires_at: (value, latest) => typeof value === "string" && Date.parse(value) <= Date.parse(String(latest)),
  allowed_models: (value, list) =>
    Array.isArray(value) && value.length > 0 && value.every((name) => (list as readonly unknown[]).includes(name)),
} satisfies Record<keyof AdminLimits, LimitCheck>;

/** What a user can do instead; of the other limits: lower them. */
const USER_CAN: Readonly<Partial<Record<Limit, string>>> = {
  budget_period: "cannot be changed by a user while an admin's cap is set",
  budget_started_at: "cannot be changed by a user while an admin's cap is set",
  expires_at: "is limited by an admin: a user can only set an earlier time",
  allowed_models: "is limited by an admin: a user can only take models out of the list",
};

/** With another period or start, counting begins at 0 again, which undoes a cap. */
const WITH_A_CAP: readonly Limit[] = ["budget_period", "budget_started_at"];
const LIMITS = Object.keys(IS_WITHIN) as Limit[];

/**
 * A change, or a creation, by an admin: what the body names is an admin's from now on, or nobody's, also where the value
 * stays. The columns can be more than the body names: a change of one budget field writes all four.
 */
export function changedByAdmin(before: ApiKeyRow | null, columns: Columns, body: object): Kept {
  const set = before === null ? {} : limitsOfAdmins(before);
  const named = Object.entries(limitsIn(columns)).filter(([field]) => field in body);
  return {
    ...disabling(columns, "admin"),
    admin_limits: withoutNone({ ...set, ...Object.fromEntries(named) }),
  };
}

/** A creation by a user: nothing is set by an admin. */
export function createdByUser(columns: Columns): Kept {
  return { ...disabling(columns, "user"), admin_limits: {} };
}

/** A change by a user. Throws 400 that names each field by which it would undo what an admin has set. */
export function changedByUser(before: ApiKeyRow, columns: Columns): Kept {
  const set = limitsOfAdmins(before);
  const wanted = limitsIn(columns);
  const hasCap = "budget_tokens" in set || "budget_cost_usd" in set;
  const undone = LIMITS.filter((field) => {
    if (!(field in wanted) || isEqual(wanted[field], limitsIn(before)[field])) return false;
    if (WITH_A_CAP.includes(field)) return hasCap;
    return field in set && !IS_WITHIN[field](wanted[field], set[field]);
  });
  const enables = before.disabled && columns.disabled === false && before.disabled_by !== "user";
  refuseIfAny([
    ...undone.map((path) => ({
      path,
      message: USER_CAN[path] ?? "is limited by an admin: a user can only lower it",
    })),
    ...(enables ? [{ path: "disabled", message: "was set by an admin: only an admin can enable the key" }] : []),
  ]);
  const stays = before.disabled && columns.disabled === true;
  return { ...(stays ? {} : disabling(columns, "user")), admin_limits: set };
}

/** The fields of a row by which an admin limits the key; a period without a cap limits nothing. */
export function fieldsLimitedByAdmin(row: ApiKeyRow): readonly string[] {
  return Object.keys(limitsOfAdmins(row)).filter((field) => !WITH_A_CAP.includes(field as Limit));
}

const disabling = ({ disabled }: Columns, by: "admin" | "user"): Kept =>
  disabled === undefined ? {} : { disabled_by: disabled ? by : null };

function limitsOfAdmins(row: ApiKeyRow): Readonly<Record<string, unknown>> {
  return (row.admin_limits as Readonly<Record<string, unknown>> | null) ?? withoutNone(limitsIn(row));
}

/** The limits among some columns, as JSON has them. */
function limitsIn(columns: Columns): Partial<Record<Limit, unknown>> {
  const given = LIMITS.filter((field) => columns[field] !== undefined);
  return JSON.parse(JSON.stringify(Object.fromEntries(given.map((field) => [field, columns[field]])))) as Partial<
    Record<Limit, unknown>
  >;
}

/** A cap of 0 is a limit; 0 per minute means no limit. */
const withoutNone = (limits: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(limits).filter(([name, value]) => value !== null && !(value === 0 && name.endsWith("_per_minute"))),
  );

const isEqual = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
