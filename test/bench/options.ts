/** The bench's command line. An unknown name ends the bench with a list of the known names. */
import { closeSync, openSync } from "node:fs";
import { parseArgs } from "node:util";
import { FULL_TARGETS, LOADS, PEER_TARGETS, QUICK_TARGETS, TARGETS, type TargetName } from "./loads.ts";

export type Options = ReturnType<typeof readOptions>;

const QUICK = {
  pace: { coreRounds: 3, otherRounds: 1, sliceMs: 600, warmMs: 250 },
  withinMs: 102_000,
  tenants: 100,
  targets: QUICK_TARGETS,
};
const FULL = {
  pace: { coreRounds: 5, otherRounds: 3, sliceMs: 1500, warmMs: 1000 },
  withinMs: 3_600_000,
  tenants: 1000,
  targets: FULL_TARGETS,
};

/** The loads of a comparison with all peers. */
const LOADS_OF_PEERS = LOADS.filter(({ targets }) => targets.includes("litellm")).map(({ name }) => name);

/** A name beside those of the loads: it counts the billed operations of a request. */
const OPERATIONS = "operations";

function usage(complaint: string): never {
  console.error(complaint);
  console.error(
    "usage: npm run bench -- [--quick] [--peers] [--json FILE] [--only LOAD,...] [--targets TARGET,...] [--rounds N] [--slice-ms N]",
  );
  console.error(`loads: ${LOADS.map(({ name }) => name).join(", ")}, ${OPERATIONS}`);
  console.error(`targets: ${TARGETS.join(", ")}`);
  return process.exit(2);
}

function chosen<T>(list: readonly string[] | undefined, all: readonly T[], nameOf: (one: T) => string): readonly T[] {
  if (list === undefined) return all;
  return list.map((name) => {
    const found = all.find((one) => nameOf(one) === name);
    return found ?? usage(`there is no ${name}`);
  });
}

/** Checks that a path can be written to, so that an error is reported before the run and not after it. */
function writable(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    closeSync(openSync(path, "a"));
    return path;
  } catch (error) {
    return usage(`--json: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Reads the arguments; ends the process when they are invalid. */
export function readOptions(args: readonly string[]) {
  const parsed = (() => {
    try {
      return parseArgs({
        args: [...args],
        options: {
          quick: { type: "boolean", default: false },
          peers: { type: "boolean", default: false },
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
  const { pace } = mode;
  const only = parsed.only?.split(",") ?? (parsed.peers ? LOADS_OF_PEERS : undefined);
  const loads = only?.filter((name) => name !== OPERATIONS);
  return {
    mode: parsed.quick ? ("quick" as const) : ("full" as const),
    loads: chosen(loads, LOADS, ({ name }) => name),
    targets: new Set<TargetName>(
      parsed.targets === undefined
        ? parsed.peers
          ? PEER_TARGETS
          : mode.targets
        : chosen(parsed.targets.split(","), TARGETS, String),
    ),
    /** Whether billed operations are counted as well. */
    counts: only === undefined || only.includes(OPERATIONS),
    tenants: mode.tenants,
    json: writable(parsed.json),
    pace: {
      coreRounds: whole("rounds", pace.coreRounds),
      otherRounds: whole("rounds", pace.otherRounds),
      sliceMs: whole("slice-ms", pace.sliceMs),
      warmMs: pace.warmMs,
    },
    /** The time for the whole run, with its start and its end. */
    withinMs: mode.withinMs,
  };
}
