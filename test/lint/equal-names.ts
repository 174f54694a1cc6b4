/**
 * Rule `equal-names`: two modules of one room never export the same name for two things, so that a name has one meaning in
 * the whole room. A re-export of another module's name is not a second thing. A name that each of them exports for a reason
 * of its own (`@exported`, dead-exports.ts) is exempt.
 */
import type { SourceModule } from "./modules.ts";

/** One finding for each module but the first that gives a name another meaning. */
export function equalNames(modules: readonly SourceModule[]): readonly string[] {
  const all = modules.flatMap(({ path, exports }) => {
    const declared = exports.filter(({ name, isPassedOn }) => !isPassedOn && name !== "default");
    // a value and a type of one name, or the overloads of a function, are one thing
    const once = [...new Map(declared.map((exported) => [exported.name, exported])).values()];
    return once.map((exported) => ({ ...exported, path, room: path.split("/")[0] }));
  });
  return [...Map.groupBy(all, ({ room, name }) => `${room} ${name}`).values()]
    .filter((same) => same.some(({ hasReason }) => !hasReason))
    .flatMap(([first, ...others]) =>
      others.map(({ path, line, name }) => `${path}:${line}: exports ${name}, as ${first?.path}:${first?.line} does`),
    );
}
