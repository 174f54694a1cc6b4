/**
 * Variables that no part reads: most likely misspelt, so that a part runs without what its operator has set
 * (docs/rules/configuration.md#unknown-variables). One environment file often serves all parts, so every part knows the names
 * of all. Pure. Nothing here reads or says the value of another variable than GATEWAY_STRICT_ENV.
 */
import { nearestName } from "../text/nearest-name.ts";
import { envFlag } from "./env-fields.ts";
import { VARIABLE_NAMES } from "./variable-names.ts";

const OURS = /^(?:GATEWAY|DASHBOARD)_/;
/** Often in the same environment: the key of the console's examples, and the version of the compose files. */
const OF_OTHERS = ["GATEWAY_API_KEY", "GATEWAY_VERSION"];
/** What an unknown name can have been meant to be. */
const CANDIDATES = VARIABLE_NAMES.filter((name) => OURS.test(name));
const KNOWN: ReadonlySet<string> = new Set([...VARIABLE_NAMES, ...OF_OTHERS]);

/** The variable by which an unknown one stops a part, as a field of its schema. */
export const strictVariables = {
  GATEWAY_STRICT_ENV: envFlag(false).describe(
    "On: a variable that starts with `GATEWAY_` or `DASHBOARD_` and is not in this list prevents the start. Off: the start [warns](docs/run.md#configure).",
  ),
};

/** A variable that is set and that no part reads. */
export interface UnknownVariable {
  readonly variable: string;
  /** The name that it was most likely meant to be; null: it is like none. */
  readonly nearest: string | null;
}

/** False for a name that starts like those of the gateway but is not one. */
export function isKnownVariable(name: string): boolean {
  return !OURS.test(name) || KNOWN.has(name);
}

/** The variables that are set and unknown, in the order of the environment. A blank variable counts as unset. */
export function unknownVariables(variables: object): readonly UnknownVariable[] {
  return Object.entries(variables)
    .filter(([name, value]) => !isKnownVariable(name) && typeof value === "string" && value.trim() !== "")
    .map(([variable]) => ({ variable, nearest: nearestName(variable, CANDIDATES) }));
}

/** The message about them, in one line. */
export function unknownText(unknown: readonly UnknownVariable[]): string {
  return unknown
    .map(
      ({ variable, nearest }) =>
        `${variable} is no variable of the gateway${nearest === null ? "" : `: did you mean ${nearest}?`}`,
    )
    .join("; ");
}
