/** The variables that both planes read: they must have the same values in the Worker and in the control service. */
import { envCells } from "../env/cells.ts";
import {
  envCellName,
  envCidrs,
  envDatabaseName,
  envEncryptionKey,
  envFlag,
  envOldEncryptionKeys,
  envOldSecrets,
  envOptionalWebUrl,
  envSecret,
  envText,
  envWebUrl,
  envWhole,
} from "../env/env-fields.ts";

/** One day: timers of the Worker's runtime reach little more than 24 days. */
const COMPRESSOR_TIMEOUT_MAX_MS = 86_400_000;
const STALLED_READER_MAX_SECS = 86_400;

export const planeVariables = {
  GATEWAY_CELL: envText("local")
    .pipe(envCellName)
    .meta({ values: "`a-z`, `0-9`, `-`, at most 32" })
    .describe("Name of the default cell (an admission domain, usually one per region)."),
  GATEWAY_CELLS: envCells
    .meta({ values: "a JSON array", default: "one cell" })
    .describe("All cells, and which clients each one serves: [several cells](docs/run.md#several-cells)."),
  GATEWAY_REDIS_TOKEN: envText("").describe("Token for the key-value store's REST endpoint."),
  GATEWAY_CLICKHOUSE_URL: envWebUrl("http://127.0.0.1:8123").describe("URL of ClickHouse's HTTP interface."),
  GATEWAY_CLICKHOUSE_DB: envDatabaseName("gateway").describe("ClickHouse database."),
  GATEWAY_CLICKHOUSE_USER: envText("default").describe("ClickHouse user."),
  GATEWAY_CLICKHOUSE_PASSWORD: envText("").describe("Password of the ClickHouse user."),
  GATEWAY_API_KEY_PEPPER: envSecret.describe(
    "Secret mixed into the hash of every API key. A change without [rotation](docs/rotate.md#the-pepper) makes every key invalid.",
  ),
  GATEWAY_API_KEY_PEPPERS_OLD: envOldSecrets.describe(
    "Peppers that were replaced: keys hashed with them stay valid ([rotation](docs/rotate.md#the-pepper)).",
  ),
  GATEWAY_ENCRYPTION_KEY: envEncryptionKey.describe(
    "Encrypts stored secrets: [secrets at rest](docs/run.md#secrets-at-rest). Keep a copy.",
  ),
  GATEWAY_ENCRYPTION_KEYS_OLD: envOldEncryptionKeys.describe(
    "Encryption keys that were replaced: they still decrypt ([rotation](docs/rotate.md#the-encryption-key)).",
  ),
  GATEWAY_INTERNAL_TOKEN: envSecret
    .meta({ default: "derived from the admin token" })
    .describe("Token for calls between the Worker and the control service: [tokens](docs/run.md#tokens)."),
  GATEWAY_INTERNAL_TOKEN_OLD: envSecret
    .meta({ default: "derived from the old admin token" })
    .describe("A second internal token that is accepted: [rotation](docs/rotate.md#the-internal-token)."),
  GATEWAY_UPSTREAM_BASE_URL: envWebUrl("http://127.0.0.1:8081").describe(
    "Base URL of models without their own `api_base`.",
  ),
  GATEWAY_BLOCK_PRIVATE_NETWORKS: envFlag(false).describe(
    "Blocks upstream addresses in private ranges, when they are saved and on every call.",
  ),
  GATEWAY_ALLOWED_PRIVATE_CIDRS: envCidrs.describe(
    "Private ranges that stay allowed with `GATEWAY_BLOCK_PRIVATE_NETWORKS`.",
  ),
  GATEWAY_STALLED_READER_SECS: envWhole(60, 0, STALLED_READER_MAX_SECS).describe(
    "A client that reads nothing of its response for so long is disconnected; 0: never.",
  ),
  GATEWAY_COMPRESSOR_URL: envOptionalWebUrl.describe(
    "The [compression sidecar](docs/rules/compression.md#sidecar). Without one, prose is scored by a heuristic.",
  ),
  GATEWAY_COMPRESSOR_TIMEOUT_MS: envWhole(800, 1, COMPRESSOR_TIMEOUT_MAX_MS).describe(
    "Timeout of the compression sidecar. If it is exceeded, the text is left unchanged.",
  ),
};
