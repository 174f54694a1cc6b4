/**
 * The engine writes an insert's deduplication token before it puts the insert's part in place. When it is killed between
 * the two, it would treat the same insert, sent again, as one that it has, and the rows would be lost. Therefore the tokens
 * of missing parts are removed before the engine opens its folder. Runs only while no engine has the folder.
 */
import { globSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The entry of the log that says that a part was added. */
const ADDED = "1";

/** The blocks of one partition that a part contains, both ends included. */
interface Part {
  readonly partition: string;
  readonly first: number;
  readonly last: number;
}

/** Removes such tokens in every table of an engine's folder; returns how many. A folder without tables has none. */
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

/** Reads a part from the name of its folder, `<partition>_<first>_<last>_<level>`; undefined for any other name. */
function partOf(name: string): Part | undefined {
  const [, partition, first, last] = /^([0-9A-Za-z-]+)_(\d+)_(\d+)_\d+(?:_\d+)?$/.exec(name) ?? [];
  if (partition === undefined) return undefined;
  return { partition, first: Number(first), last: Number(last) };
}

/** Whether a part contains another one. Parts that were merged continue in the part that spans them. */
function holds(part: Part, other: Part): boolean {
  return part.partition === other.partition && part.first <= other.first && other.last <= part.last;
}
