/**
 * The engine notes an insert's deduplication token before it has put the insert's part in place. Killed between the two, it
 * would take the same insert, sent again, for one that it has, and the rows would be lost. So before it opens its folder,
 * the tokens of parts that are not there are forgotten. Runs only while no engine has the folder.
 */
import { globSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A note of the log that a part was added. */
const ADDED = "1";

/** Blocks of one partition that a part holds, both ends included. */
interface Part {
  readonly partition: string;
  readonly first: number;
  readonly last: number;
}

/** Forgets them in every table of an engine's folder; answers how many. A folder without tables has none. */
export function forgetUnfinishedInserts(folder: string): number {
  return globSync(join(folder, "store/*/*/deduplication_logs/*.txt")).reduce((sum, log) => sum + forgetIn(log), 0);
}

function forgetIn(log: string): number {
  const parts = readdirSync(dirname(dirname(log))).flatMap((name) => partOf(name) ?? []);
  const lines = readFileSync(log, "utf8").split("\n");
  const kept = lines.filter((line) => {
    const [operation, name = ""] = line.split("\t");
    const part = partOf(name);
    return operation !== ADDED || part === undefined || parts.some((other) => holds(other, part));
  });
  if (kept.length === lines.length) return 0;
  writeFileSync(`${log}.new`, kept.join("\n"));
  renameSync(`${log}.new`, log);
  return lines.length - kept.length;
}

/** A part by the name of its folder, `<partition>_<first>_<last>_<level>`; undefined for anything else. */
function partOf(name: string): Part | undefined {
  const [, partition, first, last] = /^([0-9A-Za-z-]+)_(\d+)_(\d+)_\d+(?:_\d+)?$/.exec(name) ?? [];
  if (partition === undefined) return undefined;
  return { partition, first: Number(first), last: Number(last) };
}

/** Parts that were merged live on in one that spans them. */
function holds(part: Part, other: Part): boolean {
  return part.partition === other.partition && part.first <= other.first && other.last <= part.last;
}
