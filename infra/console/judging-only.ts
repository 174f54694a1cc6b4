/**
 * Removes the JSON Schema writer from the schema library. Every schema references it, so a bundler cannot remove it, and in
 * browsers schemas only validate input (docs/rules/console.md#files).
 */

/** The modules of zod that write JSON Schema. */
export const WRITES_JSON_SCHEMA = /[\\/]zod[\\/]v4[\\/]core[\\/](to-json-schema|json-schema-processors)\.js$/;

const DECLARED = /^export (?:async )?(?:function|const|class) (\w+)/gm;
const LISTED = /^export \{([^}]*)\}/gm;

/** A module with the same exports; all of them do nothing. */
export function withoutJsonSchema(source: string): string {
  const declared = Array.from(source.matchAll(DECLARED), ([, name]) => name);
  const listed = Array.from(source.matchAll(LISTED), ([, list = ""]) => list.split(",")).flat();
  const names = [...declared, ...listed.map((one) => one.trim().split(/\s+/).at(-1)).filter(Boolean)];
  if (names.length === 0) throw new Error("zod's module of JSON Schema has no exports that are known");
  return ["const nothing = () => undefined;", ...names.map((name) => `export { nothing as ${name} };`)].join("\n");
}
