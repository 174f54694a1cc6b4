/** The variables that both planes read: they must have the same values in the Worker and in the control service. */
import { envCells } from "../env/cells.ts";
import {
  envCellName,
  envCidrs,
  envDatabaseName,
  envEncryptionKey,
  envFlag,
  envOptionalWebUrl,
  envSecret,
  envText,
  envWebUrl,
  envWhole,
} from "../env/env-fields.ts";

/** One day: timers of the Worker's runtime reach little more than 24 days. */
const COMPRESSOR_TIMEOUT_MAX_MS = 86_400_000;

export const planeVariables = {
  GATEWAY_CELL: envText("local")
    .pipe(envCellName)
    .meta({ values: "`a-z`, `0-9`, `-`, at most 32" })
    .describe("Name of the default cell (an admission domain, usually one for a region)."),
  GATEWAY_CELLS: envCells
    .meta({ values: "a JSON array", default: "one cell" })
    .describe("Every cell and whom it serves: [several cells](docs/run.md#several-cells)."),
  GATEWAY_REDIS_TOKEN: envText("").describe("Token of the key-value store's REST endpoint."),
  GATEWAY_CLICKHOUSE_URL: envWebUrl("http://127.0.0.1:8123").describe("ClickHouse over HTTP."),
  GATEWAY_CLICKHOUSE_DB: envDatabaseName("gateway").describe("Database in ClickHouse."),
  GATEWAY_CLICKHOUSE_USER: envText("default").describe("User of ClickHouse."),
  GATEWAY_CLICKHOUSE_PASSWORD: envText("").describe("Password of the user of ClickHouse."),
  GATEWAY_API_KEY_PEPPER: envSecret.describe("Mixed into every key hash. Changing it invalidates every key."),
  GATEWAY_ENCRYPTION_KEY: envEncryptionKey.describe(
    "Stored secrets are encrypted with it: [secrets at rest](docs/run.md#secrets-at-rest). Keep it.",
  ),
  GATEWAY_INTERNAL_TOKEN: envSecret
    .meta({ default: "derived from the admin token" })
    .describe("Token between the planes: [tokens](docs/run.md#tokens)."),
  GATEWAY_UPSTREAM_BASE_URL: envWebUrl("http://127.0.0.1:8081").describe("Upstream of models without `api_base`."),
  GATEWAY_BLOCK_PRIVATE_NETWORKS: envFlag(false).describe(
    "Refuses upstream addresses in private ranges, when they are written and at every call.",
  ),
  GATEWAY_ALLOWED_PRIVATE_CIDRS: envCidrs.describe(
    "Private ranges that `GATEWAY_BLOCK_PRIVATE_NETWORKS` leaves allowed.",
  ),
  GATEWAY_COMPRESSOR_URL: envOptionalWebUrl.describe(
    "The [compression sidecar](docs/rules/compression.md#sidecar). Without it prose is scored by a rule of thumb.",
  ),
  GATEWAY_COMPRESSOR_TIMEOUT_MS: envWhole(800, 1, COMPRESSOR_TIMEOUT_MAX_MS).describe(
    "Timeout of the compression sidecar in milliseconds. After it the text stays as it is.",
  ),
};
