/**
 * Rule `arrows`: inside a room imports run one way. At every level of a room's tree the entries of a folder (its
 * sub-folders and the files directly in it) are nodes, and an import of a file below one node by a file below another is an
 * arrow, types included. The arrows of a level never close a circle: of any two entries, at most one depends on the other,
 * directly or through further entries. Tests and their helpers draw no arrows.
 * Of each circle the arrow with the fewest imported names is reported as the one that runs upward. The finding lists its
 * files and names, and the way back that closes the circle. Alone: `node test/lint/arrows.ts`.
 */
import { posix } from "node:path";
import { report } from "./exceptions.ts";
import { isTestCode, readModules, type SourceModule } from "./modules.ts";

const JUDGED_ROOMS = ["edge", "control", "shared", "browser", "infra"];

/** One import that belongs to an arrow. */
interface Carried {
  readonly importer: string;
  readonly imported: string;
  readonly names: readonly string[];
}

/** Arrow between two entries of one folder. */
interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly carries: readonly Carried[];
}

/** One finding of several lines for each arrow that runs upward. */
export function upwardArrows(modules: readonly SourceModule[]): readonly string[] {
  return [...arrowsByFolder(modules)]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .flatMap(([folder, arrows]) => upwardIn(arrows).map(({ arrow, back }) => describeArrow(folder, arrow, back)));
}

function arrowsByFolder(modules: readonly SourceModule[]): ReadonlyMap<string, readonly Arrow[]> {
  const folders = new Map<string, Map<string, Carried[]>>();
  for (const { path: importer, imports } of modules) {
    for (const { path: imported, names } of imports) {
      const place = isTestCode(importer) || isTestCode(imported) ? undefined : meetingPlace(importer, imported);
      if (place !== undefined) {
        const arrows = folders.get(place.folder) ?? new Map<string, Carried[]>();
        const key = `${place.from} ${place.to}`;
        arrows.set(key, [...(arrows.get(key) ?? []), { importer, imported, names }]);
        folders.set(place.folder, arrows);
      }
    }
  }
  return new Map(
    [...folders].map(([folder, arrows]) => [
      folder,
      [...arrows].map(([key, carries]) => {
        const [from = "", to = ""] = key.split(" ");
        return { from, to, carries };
      }),
    ]),
  );
}

/**
 * The deepest folder that contains both files, and its entries that contain them; undefined when they are in different
 * rooms.
 */
function meetingPlace(
  importer: string,
  imported: string,
): { readonly folder: string; readonly from: string; readonly to: string } | undefined {
  const [left, right] = [importer.split("/"), imported.split("/")];
  const depth = left.findIndex((part, index) => part !== right[index]);
  const [from, to] = [left[depth], right[depth]];
  if (depth < 1 || from === undefined || to === undefined || !JUDGED_ROOMS.includes(left[0] ?? "")) {
    return undefined;
  }
  return { folder: posix.join(...left.slice(0, depth)), from, to };
}

/** Removes the arrow with the fewest names from a circle until no circle is left. */
function upwardIn(all: readonly Arrow[]): { readonly arrow: Arrow; readonly back: readonly string[] }[] {
  const upward: { readonly arrow: Arrow; readonly back: readonly string[] }[] = [];
  let rest = [...all].sort((left, right) => thickness(left) - thickness(right));
  for (;;) {
    const found = rest
      .map((arrow) => ({ arrow, back: wayBetween(rest, arrow.to, arrow.from) }))
      .find(({ back }) => back !== undefined);
    if (found?.back === undefined) {
      return upward;
    }
    upward.push({ arrow: found.arrow, back: found.back });
    rest = rest.filter((arrow) => arrow !== found.arrow);
  }
}

function thickness({ carries }: Arrow): number {
  return carries.reduce((sum, { names }) => sum + Math.max(1, names.length), 0);
}

/** Shortest way along the arrows, both ends included; undefined when there is none. */
function wayBetween(arrows: readonly Arrow[], start: string, end: string): readonly string[] | undefined {
  const ways: (readonly string[])[] = [[start]];
  const seen = new Set([start]);
  for (const way of ways) {
    const last = way.at(-1);
    if (last === end) {
      return way;
    }
    for (const { from, to } of arrows) {
      if (from === last && !seen.has(to)) {
        seen.add(to);
        ways.push([...way, to]);
      }
    }
  }
  return undefined;
}

function describeArrow(folder: string, { from, to, carries }: Arrow, back: readonly string[]): string {
  return [
    `${folder}: ${from} imports ${to}, but ${back.join(" -> ")}`,
    ...carries.map(({ importer, imported, names }) => `  ${importer} imports { ${names.join(", ")} } from ${imported}`),
  ].join("\n");
}

if (import.meta.main) {
  report("arrows", upwardArrows(readModules(process.cwd())));
}
