/**
 * Rule `dead-exports`: every export has a user.
 * - An export of product code is imported by another product module; or it is imported by a test and its own module uses it
 *   too, which is how a part is tested on its own. What only tests run is test code and belongs in `test/`.
 * - An export of test code is imported by any other module.
 * A name that is used only in its own module loses the word `export`; the compiler then reports whether the module uses it.
 * A name that a runtime or a tool looks up says so in its docstring: `@exported <reason>`. A reason that is not needed is a
 * finding too.
 */
import { parseSync } from "rolldown/utils";
import { EVERY_NAME, isTestCode, type SourceModule } from "./modules.ts";

/** One finding for each export without a user, and for each reason that excuses nothing. */
export function deadExports(modules: readonly SourceModule[]): readonly string[] {
  const importers = Map.groupBy(
    modules.flatMap(({ path: importer, imports }) =>
      imports.flatMap(({ path, names }) => names.map((name) => ({ key: `${path} ${name}`, importer }))),
    ),
    ({ key }) => key,
  );
  return modules
    .filter(({ path }) => path.includes("/"))
    .flatMap((module) =>
      module.exports.flatMap(({ line, name, local, hasReason }) => {
        const { path } = module;
        const users = [name, EVERY_NAME].flatMap((used) => importers.get(`${path} ${used}`) ?? []);
        const ofProduct = users.filter(({ importer }) => !isTestCode(importer));
        const isUsed = isTestCode(path)
          ? users.length > 0
          : ofProduct.length > 0 || (users.length > 0 && uses(module, local));
        if (isUsed) return hasReason ? [`${path}:${line}: ${name} has a user and needs no @exported`] : [];
        return hasReason ? [] : [`${path}:${line}: ${name} has no user${users.length > 0 ? " but tests" : ""}`];
      }),
    );
}

/** Whether a module mentions a name outside the declaration of it. */
function uses({ path, text }: SourceModule, name: string | null | undefined): boolean {
  return isMentioned(parseSync(path, text).program, name, false);
}

/** Where an identifier is a member, a key, or part of a list of imports or exports. */
const OTHER_NAMES: ReadonlySet<string> = new Set(["property", "key", "imported", "exported", "local"]);
const PARTS_OF_PATTERNS: ReadonlySet<string> = new Set(["properties", "elements", "value", "argument", "left"]);

/** Whether syntax refers to the name; `isDeclared`: what stands there are names that are declared. */
function isMentioned(syntax: unknown, name: unknown, isDeclared: boolean): boolean {
  if (Array.isArray(syntax)) return syntax.some((node) => isMentioned(node, name, isDeclared));
  if (typeof syntax !== "object" || syntax === null) return false;
  const node = syntax as Readonly<Record<string, unknown>>;
  if (!isDeclared && typeof name === "string" && node["name"] === name) return true;
  return Object.entries(node).some(
    ([key, value]) =>
      (node["computed"] === true || !OTHER_NAMES.has(key)) &&
      isMentioned(value, name, key === "id" || key === "params" || (isDeclared && PARTS_OF_PATTERNS.has(key))),
  );
}
