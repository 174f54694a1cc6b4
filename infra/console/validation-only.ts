/**
 * Removes from the schema library what only its other users need, above all the JSON Schema writer. Every schema references it, so a bundler cannot remove it, and in
 * browsers schemas only validate input (docs/rules/console.md#files).
 */

/** The modules of zod that write JSON Schema. */
export const WRITES_JSON_SCHEMA = /[\\/]zod[\\/]v4[\\/]core[\\/](to-json-schema|json-schema-processors)\.js$/;

/** The module of zod that uses its helpers as one object, so that a bundler keeps them all. */
export const USES_HELPERS = /[\\/]zod[\\/]v4[\\/]classic[\\/]schemas\.js$/;

const DECLARED = /^export (?:async )?(?:function|const|class) (\w+)/gm;
const LISTED = /^export \{([^}]*)\}/gm;

/** The module with only the helpers that it calls. */
export function withOwnHelpers(source: string): string {
  const own = source
    .replace('import { util } from "../core/index.js";', 'import * as util from "../core/util.js";')
    .replaceAll("core.util.", "util.");
  if (!own.includes('"../core/util.js"')) throw new Error("zod's schemas import their helpers in another way");
  return own;
}

/** A module with the same exports; all of them do nothing. */
export function withoutJsonSchema(source: string): string {
  const declared = Array.from(source.matchAll(DECLARED), ([, name]) => name);
  const listed = Array.from(source.matchAll(LISTED), ([, list = ""]) => list.split(",")).flat();
  const names = [...declared, ...listed.map((one) => one.trim().split(/\s+/).at(-1)).filter(Boolean)];
  if (names.length === 0) throw new Error("zod's module of JSON Schema has no exports that are known");
  return ["const nothing = () => undefined;", ...names.map((name) => `export { nothing as ${name} };`)].join("\n");
}
