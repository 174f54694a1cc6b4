/**
 * What all settings have in common (docs/rules/settings.md#common-rules): one row with what was saved, defaults from the
 * schema, writes that merge, and secrets that never appear in the audit log. A setting that the cells know is published
 * like any other record.
 */
import { eq } from "drizzle-orm";
import type { z } from "zod";
import { HOT_SETTINGS } from "../../../shared/records.ts";
import type { Database, Transaction } from "../../db/connect.ts";
import { appSettings } from "../../db/schema/settings.ts";
import { changedFields } from "../changed-fields.ts";
import type { VerbContext, Written } from "../context.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { dropUndefined, parse } from "../parse.ts";
import { auditedWarnings, withWarnings } from "../warnings.ts";
import { write } from "../write.ts";

export interface Setting<Value extends object> {
  /** Key of the row, and entity id in the audit log. */
  readonly name: string;
  /** Action in the audit log (docs/rules/management-api.md#audit-log). */
  readonly action: string;
  /** The stored shape. Its defaults are the value of a setting that was never saved. */
  readonly schema: z.ZodType<Value>;
  /** Dotted names of the fields whose values the audit log does not show. */
  readonly secrets: readonly string[];
  /** Those secrets that are stored sealed. */
  readonly sealed: readonly string[];
  /** The origin of the address that a sealed field belongs to (shared/network/origin.ts); `secret`: the field in clear. */
  originOf?(value: Value, field: string, secret: string): string;
}

/** A value, and whether it was ever saved. */
interface StoredSetting<Value> {
  readonly value: Value;
  readonly saved: boolean;
}

/** The value as it is now. Throws 503. */
export async function readSetting<Value extends object>(
  ctx: Pick<VerbContext, "db">,
  setting: Setting<Value>,
): Promise<StoredSetting<Value>> {
  return await withDatabaseErrors(async () => await held(ctx.db, setting));
}

/** How the verbs of one setting differ from those of another. */
interface SettingRule<Value extends object, Body extends object, Shown extends object> {
  readonly setting: Setting<Value>;
  readonly body: z.ZodType<Body>;
  /** Checks a body before anything is written. An error refuses the write. */
  readonly check?: (ctx: VerbContext, body: Body) => Promise<void>;
  /** The new value; without this function, what the body omits keeps its value. An error leaves everything unchanged. */
  readonly merge?: (ctx: VerbContext, before: Value, body: Body) => Promise<Value> | Value;
  /** Warnings about the change, for the answer and for the audit log. */
  readonly warnings?: (body: Body, before: Value, after: Value) => readonly string[];
  /** The value as admins see it: without secrets, with related facts added. */
  readonly show: (ctx: VerbContext, stored: StoredSetting<Value>) => Promise<Shown> | Shown;
}

/** How admins read and change a setting. */
export interface SettingVerbs<Shown extends object> {
  /** Schema of the body of a change. */
  readonly body: z.ZodType;
  /** The setting as it is. Throws 503. */
  readonly read: (ctx: VerbContext) => Promise<Shown>;
  /** The setting after the change. Throws 400, and what the rule's own check throws. */
  readonly save: (ctx: VerbContext, input: unknown) => Promise<Written<Shown>>;
}

/** The verbs that a rule describes. */
export function settingVerbs<Value extends object, Body extends object, Shown extends object>(
  rule: SettingRule<Value, Body, Shown>,
): SettingVerbs<Shown> {
  return {
    body: rule.body,
    read: async (ctx) => await rule.show(ctx, await readSetting(ctx, rule.setting)),
    save: async (ctx, input) => {
      const body = parse(rule.body, input);
      ctx.judge?.(await rule.show(ctx, await readSetting(ctx, rule.setting)));
      await rule.check?.(ctx, body);
      const merge = async (before: Value): Promise<Value> =>
        rule.merge === undefined ? { ...before, ...dropUndefined(body) } : await rule.merge(ctx, before, body);
      const warningsOf = (before: Value, after: Value) => rule.warnings?.(body, before, after) ?? [];
      const { record, warnings, sync } = await saveSetting(ctx, rule.setting, merge, warningsOf);
      return { record: withWarnings(await rule.show(ctx, { value: record, saved: true }), warnings), sync };
    },
  };
}

/**
 * Merges and saves. `merge` gets the current value, defaults included; an error in it leaves everything unchanged.
 * `warningsOf` returns the warnings about the change, for the answer and for the audit log.
 */
async function saveSetting<Value extends object>(
  ctx: VerbContext,
  setting: Setting<Value>,
  merge: (before: Value) => Promise<Value>,
  warningsOf: (before: Value, after: Value) => readonly string[],
): Promise<Written<Value> & { readonly warnings: readonly string[] }> {
  const { record, sync } = await write(ctx, async (tx, journal) => {
    const before = (await held(tx, setting)).value;
    const value = setting.schema.parse(await merge(before));
    const row = { value, rev: journal.rev, updated_at: ctx.now() };
    await tx
      .insert(appSettings)
      .values({ key: setting.name, ...row })
      .onConflictDoUpdate({ target: appSettings.key, set: row });
    const warnings = warningsOf(before, value);
    journal.audit({
      action: setting.action,
      entityType: "settings",
      entityId: setting.name,
      detail: { ...changedFields(...dottedFields(before, value), setting.secrets), ...auditedWarnings(warnings) },
    });
    if (HOT_SETTINGS.some((name) => name === setting.name)) journal.settingChanged(setting.name);
    return { value, warnings };
  });
  return { record: record.value, warnings: record.warnings, sync };
}

async function held<Value extends object>(
  db: Database | Transaction,
  setting: Setting<Value>,
): Promise<StoredSetting<Value>> {
  const [row] = await db.select().from(appSettings).where(eq(appSettings.key, setting.name));
  return { value: setting.schema.parse(row?.value ?? {}), saved: row !== undefined };
}

type Fields = Record<string, unknown>;

/** Both values with dotted names. Each has every name of the other, so that a removed field shows as null. */
export function dottedFields(before: object, after: object): [Fields, Fields] {
  const [old, fresh] = [flatten(before), flatten(after)];
  const names = Object.keys({ ...old, ...fresh });
  const complete = (fields: Fields): Fields => Object.fromEntries(names.map((name) => [name, fields[name] ?? null]));
  return [complete(old), complete(fresh)];
}

function flatten(value: object, prefix = ""): Fields {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, field]): [string, unknown][] =>
      typeof field === "object" && field !== null && !Array.isArray(field)
        ? Object.entries(flatten(field as object, `${prefix}${name}.`))
        : [[prefix + name, field]],
    ),
  );
}
