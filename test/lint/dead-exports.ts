/**
 * Rule `dead-exports`: every export has a user.
 * - An export of product code is imported by another product module; or it is imported by a test and its own module uses it
 *   too, which is how a part is tested on its own. What only tests run is test code and belongs in `testing/` or `test/`.
 * - An export of test code is imported by any other module.
 * A name that is used only in its own module loses the word `export`; the compiler then reports whether the module uses it.
 * Names that a runtime or a tool looks up are the exceptions: `dead-exports.json`. Alone: `node test/lint/dead-exports.ts`.
 */
import { type Exception, readExceptions, report, unreasoned } from "./exceptions.ts";
import { EVERY_NAME, isTestCode, ROOMS, readModules, roomOf, type SourceModule } from "./modules.ts";

/** Who imports a name. */
interface Users {
  product: boolean;
  test: boolean;
}

/** One line for each export without a user, and for each exception that excuses nothing. */
export function deadExports(modules: readonly SourceModule[], exceptions: readonly Exception[]): readonly string[] {
  const usersOf = usersByExport(modules);
  const dead = modules
    .filter(({ path }) => ROOMS.some((room) => room === roomOf(path)))
    .flatMap(({ path, exports }) =>
      exports.flatMap(({ name, usedInside }) => {
        const users = usersOf(path, name);
        if (isTestCode(path) ? users.product || users.test : users.product || (users.test && usedInside)) {
          return [];
        }
        const why = users.test ? "only tests use it" : usedInside ? "no other module imports it" : "nothing uses it";
        return [{ path, name, why }];
      }),
    );
  const excuses = (entry: Exception, path: string, name: string): boolean =>
    entry.name === name && entry.files.includes(path);

  return [
    ...dead
      .filter(({ path, name }) => !exceptions.some((entry) => excuses(entry, path, name)))
      .map(({ path, name, why }) => `${path}: ${name}: ${why}`),
    ...exceptions.flatMap((entry) =>
      entry.files
        .filter((file) => !dead.some(({ path, name }) => path === file && entry.name === name))
        .map((file) => `dead-exports.json: ${entry.name} of ${file} needs no exception`),
    ),
    ...unreasoned("dead-exports", exceptions),
  ];
}

function usersByExport(modules: readonly SourceModule[]): (path: string, name: string) => Users {
  const users = new Map<string, Users>();
  for (const { path: importer, imports } of modules) {
    for (const { path, names } of imports) {
      for (const name of names) {
        const key = `${path} ${name}`;
        const known = users.get(key) ?? { product: false, test: false };
        known[isTestCode(importer) ? "test" : "product"] = true;
        users.set(key, known);
      }
    }
  }
  const none: Users = { product: false, test: false };
  return (path, name) => {
    const [one, all] = [users.get(`${path} ${name}`) ?? none, users.get(`${path} ${EVERY_NAME}`) ?? none];
    return { product: one.product || all.product, test: one.test || all.test };
  };
}

if (import.meta.main) {
  const root = process.cwd();
  report("dead-exports", deadExports(readModules(root), readExceptions(root, "dead-exports")));
}
