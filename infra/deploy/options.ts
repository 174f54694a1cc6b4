/** The options of a deployment, validated before any check (docs/platform.md#deploy). */
import { parseArgs } from "node:util";
import { z } from "zod";
import { isWebUrl, NO_WEB_URL } from "../../shared/env/env-fields.ts";

/** The options of the command line, and the operator's variables that name where the gateway is. */
export interface DeployOptions {
  readonly environment: string;
  /** Check, and change nothing. */
  readonly onlyChecks: boolean;
  /** Whether the Worker is to be created. Without it a missing Worker is taken for a wrong account. */
  readonly isFirst: boolean;
  /** The part of the traffic, in percent, that the new version gets; the operator gives it the rest. */
  readonly percentage: number;
  readonly proxyUrl: string;
  readonly adminUrl: string;
  readonly adminToken: string;
  readonly apiKey: string;
  readonly model: string;
}

/** Thrown for invalid options; the message names each wrong one and its allowed values. */
export class DeployOptionsError extends Error {
  override readonly name = "DeployOptionsError";
}

export const DEPLOY_USAGE = `usage: npm run deploy -- --env NAME --model NAME [options]
  --env NAME          an environment of wrangler.toml
  --model NAME        the model that the verifying request asks for
  --check             check everything, change nothing
  --first             make the Worker, which the account does not have yet
  --gradual PERCENT   give the new version 1 to 99 percent of the traffic, and stop there (100)
  --env-file FILE     read variables from a file; those of the shell win
variables: GATEWAY_PROXY_BASE_URL, GATEWAY_ADMIN_BASE_URL, GATEWAY_ADMIN_TOKEN, GATEWAY_API_KEY,
  GATEWAY_DATABASE_URL, and the Worker's secrets (docs/platform.md#deploy)`;

const url = z
  .string({ error: "must be set to an http or https URL" })
  .refine(isWebUrl, NO_WEB_URL)
  .transform((text) => text.replace(/\/+$/, ""));

const needed = (what: string) => z.string({ error: `must be set to ${what}` }).min(1, `must be set to ${what}`);

const schema = z.object({
  "--env": needed("an environment of wrangler.toml"),
  "--model": needed("the name of a model"),
  "--gradual": z
    .string()
    .regex(/^[1-9]\d?$/, "must be an integer between 1 and 99")
    .transform(Number)
    .optional(),
  GATEWAY_PROXY_BASE_URL: url,
  GATEWAY_ADMIN_BASE_URL: url,
  GATEWAY_ADMIN_TOKEN: needed("the token of the Management API"),
  GATEWAY_API_KEY: needed("an API key that may use the model"),
});

const OPTIONS = {
  env: { type: "string" },
  model: { type: "string" },
  check: { type: "boolean" },
  first: { type: "boolean" },
  gradual: { type: "string" },
  "env-file": { type: "string" },
} as const;

/** Splits the command line; `envFile` is read before {@link deployOptions} validates the rest. Throws DeployOptionsError. */
export function readDeployArguments(args: readonly string[]): {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly envFile: string | null;
} {
  try {
    const { values } = parseArgs({ args: [...args], options: OPTIONS, strict: true, allowPositionals: false });
    return { values, envFile: values["env-file"] ?? null };
  } catch (error) {
    throw new DeployOptionsError(error instanceof Error ? error.message : "the options cannot be read");
  }
}

/** Validates the options with the operator's variables. Throws DeployOptionsError. */
export function deployOptions(
  values: Readonly<Record<string, string | boolean | undefined>>,
  variables: Readonly<Record<string, string | undefined>>,
): DeployOptions {
  const set = Object.entries(variables).filter(([, value]) => value !== undefined && value !== "");
  const read = schema.safeParse({
    ...Object.fromEntries(set),
    "--env": values["env"],
    "--model": values["model"],
    "--gradual": values["gradual"],
  });
  if (!read.success) {
    const lines = read.error.issues.map(({ path, message }) => `${path.join(".")} ${message}`);
    throw new DeployOptionsError([...new Set(lines)].join("\n"));
  }
  const { data } = read;
  return {
    environment: data["--env"],
    model: data["--model"],
    onlyChecks: values["check"] === true,
    isFirst: values["first"] === true,
    percentage: data["--gradual"] ?? 100,
    proxyUrl: data.GATEWAY_PROXY_BASE_URL,
    adminUrl: data.GATEWAY_ADMIN_BASE_URL,
    adminToken: data.GATEWAY_ADMIN_TOKEN,
    apiKey: data.GATEWAY_API_KEY,
  };
}
