/**
 * A rule of an optional field never sees a field that is absent: an object passes over it, whatever the rule says. So no schema
 * may have one that refuses undefined; a field that must be there is not optional.
 */
import { globSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import * as z from "zod";
import { type AppDeps, createApp } from "../../control/app.ts";
import { doctorVariables } from "../../control/cli/doctor/doctor-env.ts";
import { VARIABLES_OF_PARTS } from "../../infra/reference/variables.ts";

const ROOT = join(import.meta.dirname, "../..");

/** Every schema below a value of any kind, itself included, with the way to it. */
function eachSchema(value: unknown, at: string, seen: Map<object, string>): void {
  if (typeof value !== "object" || value === null || seen.has(value)) return;
  seen.set(value, at);
  if (value instanceof z.core.$ZodType) {
    const { def } = value._zod;
    eachSchema(def.type === "lazy" ? (def as z.core.$ZodLazyDef).getter() : { ...def }, at, seen);
  } else if (Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value) as null))
    for (const [name, part] of Object.entries(value)) eachSchema(part, `${at}.${name}`, seen);
}

/** The fields that an object accepts when they are absent, and that refuse or invent something when they are undefined. */
function unseenRules(schemas: ReadonlyMap<object, string>): readonly string[] {
  return [...schemas].flatMap(([schema, at]) => {
    if (!(schema instanceof z.core.$ZodObject)) return [];
    return Object.entries(schema._zod.def.shape).flatMap(([name, field]) => {
      const isPassedOver = field._zod.optin !== undefined && field._zod.optout === "optional";
      if (!isPassedOver) return [];
      const { success, data } = z.safeParse(field, undefined);
      const isDefault = field._zod.optin === "defaulted";
      return success && (isDefault || data === undefined) ? [] : [`${at}.${name}`];
    });
  });
}

const found = new Map<object, string>();
beforeAll(async () => {
  for (const [part, shape] of [...VARIABLES_OF_PARTS, ["doctor", doctorVariables] as const])
    eachSchema(z.object(shape), part, found);
  const { definitions } = createApp({ adminToken: "" } as unknown as AppDeps).openAPIRegistry;
  for (const definition of definitions)
    if (definition.type === "route")
      eachSchema(
        { request: definition.route.request, responses: definition.route.responses },
        `${definition.route.method} ${definition.route.path}`,
        found,
      );
  for (const file of globSync("shared/**/*.ts", { cwd: ROOT, exclude: ["**/*.test.ts"] }))
    eachSchema({ ...((await import(join(ROOT, file))) as object) }, file, found);
});

it("no optional field of a variable, a record or the API has a rule that an absent one passes over", () => {
  expect([...found.keys()].filter((each) => each instanceof z.core.$ZodObject).length).toBeGreaterThan(150);
  expect(unseenRules(found)).toEqual([]);
});

it("finds such a rule wherever it is", () => {
  const text = z.string();
  const wrong = text.optional().refine((value) => value !== undefined);
  const schemas = new Map<object, string>();
  eachSchema(z.array(z.object({ deep: z.object({ wrong, right: text.min(3).optional() }).nullable() })), "a", schemas);
  expect(unseenRules(schemas)).toEqual([expect.stringMatching(/\.wrong$/)]);
  expect(z.object({ wrong }).safeParse({}).success).toBe(true);
});
