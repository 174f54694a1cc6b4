/**
 * What the doctor is told of an installation: the variables of the control service that are set where it runs, and its
 * options. What is not set is not guessed, because a default would have it examine another installation.
 */
import { z } from "zod";
import { envCells } from "../../../shared/env/cells.ts";
import {
  envDatabaseName,
  envErrorText,
  envOptionalStoreUrl,
  envOptionalUrl,
  envOptionalWhole,
  envSecret,
  envText,
} from "../../../shared/env/env-fields.ts";
import { EnvError, type Listen, optionalListenField } from "../../kernel/env-field.ts";

/** The variables of the control service that the doctor reads. */
export const doctorVariables = {
  GATEWAY_DATABASE_URL: envText("")
    .refine(
      (value) => value === "" || value.startsWith("pglite:") || (URL.canParse(value) && /^postgres(ql)?:/.test(value)),
      "must be a postgres:// URL or pglite:<folder>",
    )
    .transform((value) => value || undefined),
  GATEWAY_REDIS_URL: envOptionalStoreUrl,
  GATEWAY_REDIS_TOKEN: envText(""),
  GATEWAY_CLICKHOUSE_URL: envOptionalUrl.transform((value) => value || undefined),
  GATEWAY_CLICKHOUSE_DB: envDatabaseName("gateway"),
  GATEWAY_CLICKHOUSE_USER: envText("default"),
  GATEWAY_CLICKHOUSE_PASSWORD: envSecret,
  GATEWAY_EDGE_BASE_URL: envOptionalUrl.transform((value) => value || undefined),
  GATEWAY_CELLS: envCells,
  GATEWAY_GLOBAL_MAX_IN_FLIGHT: envOptionalWhole(1),
  GATEWAY_METRICS_LISTEN: optionalListenField,
};

const schema = z.object(doctorVariables);

export interface DoctorEnv {
  /** Undefined: the doctor is not told where it is. */
  readonly databaseUrl: string | undefined;
  readonly redis: { readonly url: string; readonly token: string } | undefined;
  readonly clickhouse:
    | { readonly url: string; readonly db: string; readonly user: string; readonly password: string }
    | undefined;
  /** Addresses of Workers, each once. */
  readonly edgeUrls: readonly string[];
  /** Where the metrics are; null: the doctor is not told. */
  readonly metricsListen: Listen | null;
  /** The slots that a cell was given. */
  readonly declaredSlots: number | undefined;
}

/** Reads the variables. Throws EnvError, whose message names each malformed one and never its value. */
export function parseDoctorEnv(variables: Readonly<Record<string, string | undefined>>): DoctorEnv {
  const result = schema.safeParse(variables);
  if (!result.success) throw new EnvError(envErrorText(result.error));
  const env = result.data;
  const edges = env.GATEWAY_CELLS?.map(({ url }) => url) ?? [env.GATEWAY_EDGE_BASE_URL];
  return {
    databaseUrl: env.GATEWAY_DATABASE_URL,
    redis:
      env.GATEWAY_REDIS_URL === undefined ? undefined : { url: env.GATEWAY_REDIS_URL, token: env.GATEWAY_REDIS_TOKEN },
    clickhouse:
      env.GATEWAY_CLICKHOUSE_URL === undefined
        ? undefined
        : {
            url: env.GATEWAY_CLICKHOUSE_URL,
            db: env.GATEWAY_CLICKHOUSE_DB,
            user: env.GATEWAY_CLICKHOUSE_USER,
            password: env.GATEWAY_CLICKHOUSE_PASSWORD ?? "",
          },
    edgeUrls: [...new Set(edges.filter((url) => url !== undefined).map((url) => new URL(url).origin))],
    metricsListen: env.GATEWAY_METRICS_LISTEN,
    declaredSlots: env.GATEWAY_GLOBAL_MAX_IN_FLIGHT,
  };
}
