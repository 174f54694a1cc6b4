/**
 * Leaves out of the schema library what writes JSON Schema. Every schema names it, so that a bundler cannot leave it out, and in
 * browsers schemas do nothing but judge what was typed (docs/rules/console.md#files).
 */

/** The modules of zod that write JSON Schema. */
export const WRITES_JSON_SCHEMA = /[\\/]zod[\\/]v4[\\/]core[\\/](to-json-schema|json-schema-processors)\.js$/;

const DECLARED = /^export (?:async )?(?:function|const|class) (\w+)/gm;
const LISTED = /^export \{([^}]*)\}/gm;

/** A module with the same exports, each of which answers nothing. */
export function withoutJsonSchema(source: string): string {
  const declared = Array.from(source.matchAll(DECLARED), ([, name]) => name);
  const listed = Array.from(source.matchAll(LISTED), ([, list = ""]) => list.split(",")).flat();
  const names = [...declared, ...listed.map((one) => one.trim().split(/\s+/).at(-1)).filter(Boolean)];
  if (names.length === 0) throw new Error("zod's module of JSON Schema has no exports that are known");
  return ["const nothing = () => undefined;", ...names.map((name) => `export { nothing as ${name} };`)].join("\n");
}
