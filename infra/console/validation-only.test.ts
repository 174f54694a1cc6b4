/** The replacement for the part of the schema library that browsers do not need has the exports of that part. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { USES_HELPERS, WRITES_JSON_SCHEMA, withOwnHelpers, withoutJsonSchema } from "./validation-only.ts";

const CORE = join(dirname(createRequire(import.meta.url).resolve("zod")), "v4/core");

it.each(["to-json-schema.js", "json-schema-processors.js"])("of %s", async (file) => {
  const path = join(CORE, file);
  expect(WRITES_JSON_SCHEMA.test(path)).toBe(true);
  const source = withoutJsonSchema(readFileSync(path, "utf8"));
  const [real, stand] = await Promise.all(
    [pathToFileURL(path).href, `data:text/javascript,${encodeURIComponent(source)}`].map(
      async (address) => (await import(/* @vite-ignore */ address)) as object,
    ),
  );
  expect(Object.keys(stand ?? {}).sort()).toEqual(Object.keys(real ?? {}).sort());
});

it("and nothing else of it is replaced", () => {
  for (const other of ["schemas.js", "json-schema.js", "json-schema-generator.js", "parse.js"])
    expect(WRITES_JSON_SCHEMA.test(join(CORE, other))).toBe(false);
  expect(() => withoutJsonSchema("const a = 1;")).toThrow("has no exports");
});

it("the schemas call their helpers one by one, so that the others are left out", () => {
  const path = join(CORE, "../classic/schemas.js");
  expect(USES_HELPERS.test(path)).toBe(true);
  const source = withOwnHelpers(readFileSync(path, "utf8"));
  const names = Array.from(source.matchAll(/\butil\b.?/g), ([use]) => use);
  expect([...new Set(names)].sort()).toEqual(["util ", "util."]);
  expect(() => withOwnHelpers("const a = 1;")).toThrow("in another way");
});
