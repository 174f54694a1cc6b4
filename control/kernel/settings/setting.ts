/**
 * What all settings have in common (docs/rules/settings.md#common-rules): one row with what was saved, defaults from the
 * schema, writes that merge, and secrets that never appear in the audit log. A setting that the cells know is published
 * like any other record.
 */
import { eq } from "drizzle-orm";
import type { z } from "zod";
import type { ErrorDetail } from "../../../shared/errors.ts";
import { HOT_SETTINGS } from "../../../shared/records.ts";
import type { Database, Transaction } from "../../db/connect.ts";
import { appSettings, revisionFloor } from "../../db/schema/settings.ts";
import { changedFields } from "../changed-fields.ts";
import type { VerbContext, Written } from "../context.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { dropUndefined, errorDetailsOf, IN_WORDS, parse } from "../parse.ts";
import { auditedWarnings, withWarnings } from "../warnings.ts";
import { write } from "../write.ts";

export interface Setting<Value extends object> {
  /** Key of the row, and entity id in the audit log. */
  readonly name: string;
  /** Action in the audit log (docs/rules/management-api.md#audit-log). */
  readonly action: string;
  /** The stored shape. Its defaults are the value of a setting that was never saved. */
  readonly schema: z.ZodType<Value>;
  /** Dotted names of the fields whose values the audit log does not show; `*`: every entry of a map. */
  readonly secrets: readonly string[];
  /** Those secrets that are stored sealed. */
  readonly sealed: readonly string[];
  /** The origin of the address that a sealed field belongs to (shared/network/origin.ts); `secret`: the field in clear. */
  originOf?(value: Value, field: string, secret: string): string;
}

/** A value, its revision, and whether it was ever saved. */
interface StoredSetting<Value> {
  readonly value: Value;
  readonly rev: number;
  readonly saved: boolean;
}

interface Revised {
  readonly rev: number;
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
  /** The value as admins see it: without secrets, with related facts added. Its revision is added to it. */
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
): SettingVerbs<Shown & Revised> {
  const shown = async (ctx: VerbContext, stored: StoredSetting<Value>): Promise<Shown & Revised> => ({
    ...(await rule.show(ctx, stored)),
    rev: stored.rev,
  });
  return {
    body: rule.body,
    read: async (ctx) => await shown(ctx, await readSetting(ctx, rule.setting)),
    save: async (ctx, input) => {
      const body = parse(rule.body, input);
      await rule.check?.(ctx, body);
      // before the transaction: what is shown may come from elsewhere, and no other write waits for that
      const seen = ctx.checkRecord === undefined ? null : await shown(ctx, await readSetting(ctx, rule.setting));
      const { record, sync } = await saveSetting(ctx, rule, body, async (tx, stored) => {
        ctx.checkRecord?.(seen?.rev === stored.rev ? seen : await shown({ ...ctx, db: tx }, stored));
      });
      return { record: withWarnings(await shown(ctx, record), record.warnings), sync };
    },
  };
}

/**
 * Merges and saves. `check` gets the current value before anything else does. An error in it, or in the rule, leaves
 * everything unchanged.
 */
async function saveSetting<Value extends object, Body extends object>(
  ctx: VerbContext,
  rule: Pick<SettingRule<Value, Body, object>, "setting" | "merge" | "warnings">,
  body: Body,
  check: (tx: Transaction, stored: StoredSetting<Value>) => Promise<void>,
): Promise<Written<StoredSetting<Value> & { readonly warnings: readonly string[] }>> {
  const { setting } = rule;
  return await write(ctx, async (tx, journal) => {
    const stored = await held(tx, setting);
    await check(tx, stored);
    const before = stored.value;
    const merged =
      rule.merge === undefined ? { ...before, ...dropUndefined(body) } : await rule.merge(ctx, before, body);
    const value = setting.schema.parse(merged);
    const row = { value, rev: journal.rev, updated_at: ctx.now() };
    await tx
      .insert(appSettings)
      .values({ key: setting.name, ...row })
      .onConflictDoUpdate({ target: appSettings.key, set: row });
    const warnings = rule.warnings?.(body, before, value) ?? [];
    const [old, fresh] = dottedFields(before, value);
    journal.audit({
      action: setting.action,
      entityType: "settings",
      entityId: setting.name,
      detail: { ...changedFields(old, fresh, fieldsLike(setting.secrets, fresh)), ...auditedWarnings(warnings) },
    });
    if (HOT_SETTINGS.some((name) => name === setting.name)) journal.settingChanged(setting.name);
    return { value, rev: journal.rev, saved: true, warnings };
  });
}

async function held<Value extends object>(
  db: Database | Transaction,
  setting: Setting<Value>,
): Promise<StoredSetting<Value>> {
  const [row] = await db.select().from(appSettings).where(eq(appSettings.key, setting.name));
  const [floor] = row === undefined ? await db.select().from(revisionFloor) : [row];
  const value = setting.schema.parse(fitting(setting, row?.value).fields);
  return { value, rev: floor?.rev ?? 0, saved: row !== undefined };
}

type Fields = Record<string, unknown>;

/**
 * A stored value without the fields that the schema refuses, whose defaults then apply (docs/rules/settings.md#common-rules),
 * and what is wrong with those.
 */
export function fitting(
  setting: Setting<object>,
  stored: unknown,
): { readonly fields: Fields; readonly wrong: readonly ErrorDetail[] } {
  const fields = { ...(stored as Fields | undefined) };
  const { error } = setting.schema.safeParse(fields, IN_WORDS);
  if (error === undefined) return { fields, wrong: [] };
  const names = new Set(error.issues.map(({ path }) => path[0]));
  const right = Object.entries(fields).filter(([name]) => !names.has(name));
  return { fields: Object.fromEntries(right), wrong: errorDetailsOf(error) };
}

/** Both values with dotted names. Each has every name of the other, so that a removed field shows as null. */
export function dottedFields(before: object, after: object): [Fields, Fields] {
  const [old, fresh] = [flatten(before), flatten(after)];
  const names = Object.keys({ ...old, ...fresh });
  const complete = (fields: Fields): Fields => Object.fromEntries(names.map((name) => [name, fields[name] ?? null]));
  return [complete(old), complete(fresh)];
}

/** The dotted names of the fields of a value that have one of these names, in which `*` is every entry of a map. */
export function fieldsLike(names: readonly string[], value: object): readonly string[] {
  const steps = names.map((name) => name.split("."));
  const isNamed = (field: readonly string[]): boolean =>
    steps.some((name) => name.length === field.length && name.every((step, at) => step === "*" || step === field[at]));
  return Object.keys(flatten(value)).filter((field) => isNamed(field.split(".")));
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
