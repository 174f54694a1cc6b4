/**
 * Rule `equal-names`: two modules of one room never export the same name for two things, so that a name has one meaning in
 * the whole room. A re-export of another module's name is not a second thing. Exceptions with their reasons:
 * `equal-names.json`. Alone: `node test/lint/equal-names.ts`.
 */
import { type Exception, readExceptions, report, unreasoned } from "./exceptions.ts";
import { readModules, roomOf, type SourceModule } from "./modules.ts";

/** One line for each name with two meanings, and for each exception that excuses nothing. */
export function equalNames(modules: readonly SourceModule[], exceptions: readonly Exception[]): readonly string[] {
  const equal = [...exportersByName(modules)].filter(([, files]) => files.length > 1);
  const sameFiles = (left: readonly string[], right: readonly string[]): boolean =>
    left.length === right.length && left.every((file) => right.includes(file));
  const excused = (name: string, files: readonly string[]): boolean =>
    exceptions.some((entry) => entry.name === name && sameFiles(entry.files, files));

  return [
    ...equal
      .map(([key, files]) => ({ name: nameOf(key), files }))
      .filter(({ name, files }) => !excused(name, files))
      .map(({ name, files }) => `${name} is exported by ${files.join(", ")}`),
    ...exceptions
      .filter((entry) => !equal.some(([key, files]) => nameOf(key) === entry.name && sameFiles(entry.files, files)))
      .map(({ name, files }) => `equal-names.json: ${name} is not exported by exactly ${files.join(", ")}`),
    ...unreasoned("equal-names", exceptions),
  ];
}

/** "room name" -> modules that declare and export the name. */
function exportersByName(modules: readonly SourceModule[]): ReadonlyMap<string, readonly string[]> {
  const exporters = new Map<string, string[]>();
  for (const { path, exports } of modules) {
    for (const { name, from } of exports) {
      if (from === undefined && name !== "default") {
        const key = `${roomOf(path)} ${name}`;
        exporters.set(key, [...(exporters.get(key) ?? []), path]);
      }
    }
  }
  return new Map([...exporters].sort(([left], [right]) => (left < right ? -1 : 1)));
}

function nameOf(key: string): string {
  return key.slice(key.indexOf(" ") + 1);
}

if (import.meta.main) {
  const root = process.cwd();
  report("equal-names", equalNames(readModules(root), readExceptions(root, "equal-names")));
}
