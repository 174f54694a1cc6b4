/** The bench's command line. A name that is not there ends it with the names that are. */
import { parseArgs } from "node:util";
import { LOADS, type Load, TARGETS, type TargetName } from "./loads.ts";

export interface Options {
  readonly loads: readonly Load[];
  readonly targets: ReadonlySet<TargetName>;
  readonly tenants: number;
  readonly json: string | undefined;
  readonly plan: { readonly rounds: number; readonly sliceMs: number; readonly warmMs: number };
  /** Of `performance.now()`: no round begins that would end later. */
  readonly untilMs: number;
}

const QUICK = { rounds: 3, sliceMs: 600, warmMs: 300, withinMs: 95_000, tenants: 200 };
const FULL = { rounds: 7, sliceMs: 1500, warmMs: 1000, withinMs: Number.POSITIVE_INFINITY, tenants: 1000 };

function usage(complaint: string): never {
  console.error(complaint);
  console.error(
    "usage: npm run bench -- [--quick] [--json FILE] [--only LOAD,...] [--targets TARGET,...] [--rounds N]",
  );
  console.error(`loads: ${LOADS.map(({ name }) => name).join(", ")}`);
  console.error(`targets: ${TARGETS.join(", ")}`);
  return process.exit(2);
}

function chosen<T>(list: string | undefined, all: readonly T[], nameOf: (one: T) => string): readonly T[] {
  if (list === undefined) return all;
  return list.split(",").map((name) => {
    const found = all.find((one) => nameOf(one) === name);
    return found ?? usage(`there is no ${name}`);
  });
}

/** Reads the arguments; ends the process when they cannot be read. */
export function readOptions(args: readonly string[]): Options {
  const parsed = (() => {
    try {
      return parseArgs({
        args: [...args],
        options: {
          quick: { type: "boolean", default: false },
          json: { type: "string" },
          only: { type: "string" },
          targets: { type: "string" },
          rounds: { type: "string" },
          "slice-ms": { type: "string" },
        },
      }).values;
    } catch (error) {
      return usage(error instanceof Error ? error.message : String(error));
    }
  })();
  const mode = parsed.quick ? QUICK : FULL;
  const whole = (name: "rounds" | "slice-ms", fallback: number): number => {
    const value = Number(parsed[name] ?? fallback);
    return Number.isInteger(value) && value > 0 ? value : usage(`--${name} must be a whole number of at least 1`);
  };
  return {
    loads: chosen(parsed.only, LOADS, ({ name }) => name),
    targets: new Set(chosen(parsed.targets, TARGETS, (name) => name)),
    tenants: mode.tenants,
    json: parsed.json,
    plan: { rounds: whole("rounds", mode.rounds), sliceMs: whole("slice-ms", mode.sliceMs), warmMs: mode.warmMs },
    untilMs: mode.withinMs,
  };
}
