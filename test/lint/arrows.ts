/**
 * Rule `arrows`: inside a room imports run one way. At every level of a room's tree the entries of a folder (its
 * sub-folders and the files directly in it) are nodes, and an import of a file below one node by a file below another is an
 * arrow, types included. The arrows of a level never close a circle: of any two entries, at most one depends on the other,
 * directly or through further entries. Tests and their helpers draw no arrows.
 * Of each circle the arrow with the fewest imported names is reported as the one that runs upward: each of its imports, with
 * the way back that closes the circle.
 */
import { isTestCode, type SourceModule } from "./modules.ts";

interface Arrow {
  readonly folder: string;
  readonly from: string;
  readonly to: string;
  readonly imports: readonly { readonly names: readonly string[]; readonly says: string }[];
}

/** One finding for each import that runs upward. */
export function upwardArrows(modules: readonly SourceModule[]): readonly string[] {
  return [...Map.groupBy(arrowsOf(modules), ({ folder }) => folder).values()].flatMap(upwardIn);
}

function arrowsOf(modules: readonly SourceModule[]): readonly Arrow[] {
  const steps = modules
    .flatMap((module) => module.imports.map((imported) => ({ importer: module.path, ...imported })))
    .filter(({ importer, path }) => !isTestCode(importer) && !isTestCode(path))
    .map(({ importer, line, path, names }) => ({
      ...meetingOf(importer.split("/"), path.split("/")),
      names,
      says: `${importer}:${line}: imports { ${names.join(", ")} } from ${path}`,
    }))
    .filter(({ folder }) => folder !== "");
  return [...Map.groupBy(steps, ({ folder, from, to }) => `${folder} ${from} ${to}`).values()].map((imports) => {
    const { folder = "", from = "", to = "" } = imports[0] ?? {};
    return { folder, from, to, imports };
  });
}

/** The deepest folder that contains both files, and its entries that contain them; no folder for files of two rooms. */
function meetingOf(importer: readonly string[], imported: readonly string[]): Omit<Arrow, "imports"> {
  const depth = importer.findIndex((part, index) => part !== imported[index]);
  const [from = "", to = ""] = [importer[depth], imported[depth]];
  return { folder: importer.slice(0, Math.max(0, depth)).join("/"), from, to };
}

/** Removes the arrow with the fewest names from a circle until no circle is left. Reports the removed arrows. */
function upwardIn(arrows: readonly Arrow[]): readonly string[] {
  const found: string[] = [];
  let rest = arrows.toSorted((left, right) => thickness(left) - thickness(right));
  for (;;) {
    const [upward] = rest.flatMap((arrow) => {
      const back = wayBetween(rest, arrow.to, arrow.from);
      return back === undefined ? [] : [{ arrow, back }];
    });
    if (upward === undefined) return found;
    const { arrow, back } = upward;
    found.push(...arrow.imports.map(({ says }) => `${says}, but in ${arrow.folder} ${back.join(" -> ")}`));
    rest = rest.filter((other) => other !== arrow);
  }
}

function thickness({ imports }: Arrow): number {
  return imports.reduce((sum, { names }) => sum + Math.max(1, names.length), 0);
}

/** Shortest way along the arrows, both ends included; undefined when there is none. */
function wayBetween(arrows: readonly Arrow[], start: string, end: string): readonly string[] | undefined {
  const ways: (readonly string[])[] = [[start]];
  const seen = new Set([start]);
  for (const way of ways) {
    if (way.at(-1) === end) return way;
    for (const { from, to } of arrows) {
      if (from === way.at(-1) && !seen.has(to)) {
        seen.add(to);
        ways.push([...way, to]);
      }
    }
  }
  return undefined;
}
