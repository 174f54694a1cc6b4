/** What every process of Node does with unknown variables at its start (docs/rules/configuration.md#unknown-variables). */
import {
  strictVariables,
  type UnknownVariable,
  unknownText,
  unknownVariables,
} from "../../shared/env/unknown-variables.ts";
import { EnvError } from "./env-field.ts";

/** A warning as a line of the log. */
type Warning = UnknownVariable & { readonly event: "variable_unknown" };

/**
 * Warns of each unknown variable. Throws EnvError instead if GATEWAY_STRICT_ENV is on. Call it before the variables are
 * validated: a required one may be missing because it is misspelt.
 */
export function checkNames(
  variables: Readonly<Record<string, string | undefined>>,
  warn: (warning: Warning) => void,
): void {
  const unknown = unknownVariables(variables);
  const isStrict = strictVariables.GATEWAY_STRICT_ENV.safeParse(variables["GATEWAY_STRICT_ENV"]).data === true;
  if (isStrict && unknown.length > 0) throw new EnvError(unknownText(unknown));
  for (const each of unknown) warn({ event: "variable_unknown", ...each });
}
