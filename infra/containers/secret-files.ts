/**
 * Variables whose values are in files, as containers and service managers hand out secrets: `GATEWAY_ADMIN_TOKEN_FILE` names
 * the file with the value of `GATEWAY_ADMIN_TOKEN`. Pure except for the files.
 */
import { readFileSync } from "node:fs";
import { systemProblem } from "../../control/kernel/system-problem.ts";
import { VARIABLE_NAMES } from "../../shared/env/variable-names.ts";

/** An unusable file; the message names the variable, and never contains the file's content. */
export class SecretFileError extends Error {
  override readonly name = "SecretFileError";
}

/** Of OpenTelemetry's variables only the secret one: other names of it that end in `_FILE` mean something else. */
const NAMES = /^((?:GATEWAY_|DASHBOARD_)[A-Z0-9_]+|DATABASE_URL|OIDC_PROVIDERS|OTEL_EXPORTER_OTLP_HEADERS)_FILE$/;

/**
 * The environment with the content of the files in place of their names; one line end is removed. Throws SecretFileError if a
 * file cannot be read, if it is empty and not for an old secret, or if the variable is set too.
 */
export function withSecretFiles(env: NodeJS.ProcessEnv): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    // a variable that means a file by definition, such as a certificate's, stays unchanged
    const variable = VARIABLE_NAMES.includes(name) ? undefined : NAMES.exec(name)?.[1];
    if (value === undefined) continue;
    if (variable === undefined) found[name] = value;
    else if (value.trim() !== "") found[variable] = secretOf(name, value.trim(), variable, env);
  }
  return found;
}

function secretOf(name: string, path: string, variable: string, env: NodeJS.ProcessEnv): string {
  if (env[variable]?.trim()) throw new SecretFileError(`${variable} and ${name} are both set: unset one of them`);
  const text = contentOf(name, path).replace(/\r?\n$/, "");
  // no rotation is under way
  if (text.trim() === "" && variable.endsWith("_OLD")) return "";
  if (text.trim() === "") throw new SecretFileError(`${name}: the file ${path} is empty; write the value into it`);
  if (text.includes("\0")) throw new SecretFileError(`${name}: the file ${path} is not text`);
  return text;
}

function contentOf(name: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const why = systemProblem(error) ?? "unknown error";
    throw new SecretFileError(`${name}: the file ${path} cannot be read: ${why}; correct the path or its permissions`);
  }
}
