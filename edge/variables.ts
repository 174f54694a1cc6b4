/**
 * The variables that the Worker reads (docs/rules/configuration.md#variables), each with what it does. Of the platform nothing is
 * known here, so that `npm start` and a deployment judge variables by the same rules.
 */
import * as z from "zod";
import { planeVariables } from "../shared/catalogues/plane-variables.ts";
import {
  envFlag,
  envOptionalWebUrl,
  envPart,
  envRestStoreUrl,
  envSecret,
  envText,
  envWebUrl,
  envWhole,
} from "../shared/env-fields.ts";
import { envJwtIssuers } from "../shared/jwt-issuers.ts";
import { isSafePath } from "../shared/upstream-url.ts";
import { ADMISSION_PATIENCE_MAX_SECS } from "./cluster/holder-lease.ts";
import { SPILL_MAX_SEGMENTS } from "./domain/ledger/ledger-log.ts";
import { isPassedThrough, isServedPath } from "./domain/routing/path-rules.ts";

/** One day. Timers of the runtime reach little more than 24 days. */
const STALLED_READER_MAX_SECS = 86_400;

const algorithm = z
  .string()
  .transform((value, context) => {
    switch (value.trim()) {
      case "":
      case "hierarchical":
      case "group":
      case "groups":
        return "hierarchical" as const;
      case "weighted":
        return "weighted" as const;
      default:
        context.addIssue({ code: "custom", message: "must be weighted or hierarchical" });
        return z.NEVER;
    }
  })
  .prefault("")
  .meta({ values: "`hierarchical`, `weighted`" });

/** Exact paths, separated by commas; null when unset. */
const passthroughPaths = envText("")
  .transform((text, context) => {
    const paths = text.split(",").map((path) => path.trim());
    if (text === "") return null;
    const fits = (path: string): boolean =>
      /^\/[^\s?#\\]+$/.test(path) && isSafePath(path) && isServedPath(path) && isPassedThrough(path, null);
    if (paths.every(fits)) return new Set(paths);
    context.addIssue({
      code: "custom",
      message:
        "must be a comma-separated list of paths that begin with a slash, none of them an account object such as files",
    });
    return z.NEVER;
  })
  .meta({ values: "exact paths, separated by commas", default: "every path that may be forwarded" });

export const workerVariables = {
  ...planeVariables,
  GATEWAY_REDIS_URL: envRestStoreUrl
    .meta({ default: "required" })
    .describe("The key-value store. A Worker needs the `http(s)://` URL of a REST endpoint."),
  GATEWAY_OTEL_ENDPOINT: envOptionalWebUrl.describe(
    "Traces of every call go to `{endpoint}/v1/traces` (OTLP over HTTP, protobuf).",
  ),
  GATEWAY_ADMIN_TOKEN: envSecret.meta({ default: "required by the control service" }),
  GATEWAY_UPSTREAM_TIMEOUT_SECS: envWhole(300).describe(
    "Limit of an attempt at an upstream, to the last byte of the answer. A model may have its own.",
  ),
  GATEWAY_STALLED_READER_SECS: envWhole(60, 0, STALLED_READER_MAX_SECS).describe(
    "A client that takes nothing of its answer for so long is cut off; 0: never.",
  ),
  GATEWAY_ADMISSION_PATIENCE_SECS: envWhole(0, 0, ADMISSION_PATIENCE_MAX_SECS).describe(
    "How long a request waits for a [Cell without an owner](docs/rules/admission.md#between-owners).",
  ),
  GATEWAY_GLOBAL_MAX_IN_FLIGHT: envWhole(256).describe("Slots of a cell, until `PUT /api/v1/capacity` sets others."),
  GATEWAY_CELL_HEADROOM: envPart(0.05, 0.5).describe(
    "Part of a cell's slots that is kept for tenants below their share: [headroom](docs/rules/fairshare.md#headroom).",
  ),
  GATEWAY_MAX_QUEUED_PER_TENANT: envWhole(10_000, 0).describe(
    "Requests of one tenant that may wait in a cell; 0: as many as the cell (20,000).",
  ),
  GATEWAY_MAX_BODY_BYTES: envWhole(33_554_432).describe("Largest request body."),
  // a ledger that had less than one segment could keep nothing
  GATEWAY_LEDGER_SHARDS: envWhole(1, 1, SPILL_MAX_SEGMENTS).describe(
    "Ledger objects of a cell. They divide the work, not the room.",
  ),
  GATEWAY_SESSION_ID_DERIVATION: envFlag(true).describe("Off: only session ids that the client states are recorded."),
  GATEWAY_PASSTHROUGH_PATHS: passthroughPaths.describe(
    "The only undocumented paths that are forwarded: [what is forwarded](docs/api.md#what-is-forwarded).",
  ),
  GATEWAY_LOG_GATHER_MS: envWhole(0, 0).describe(
    "Request lines of the log are written together after so long; 0: at once.",
  ),
  GATEWAY_FAIRSHARE_ALGORITHM: algorithm.describe(
    "How slots are divided: [who gets the next slot](docs/management.md#who-gets-the-next-slot).",
  ),
  GATEWAY_FAIL_OPEN: envFlag(true).describe(
    "While a tenant's budget object does not answer: on serves unchecked, off answers 503.",
  ),
  GATEWAY_JWT_ISSUERS: envJwtIssuers
    .meta({ values: "a JSON array" })
    .describe("OIDC providers of applications: [identity tokens](docs/api.md#identity-tokens)."),
  GATEWAY_INTERNAL_BASE_URL: envWebUrl("http://127.0.0.1:9180").describe("Where the Worker finds the control service."),
};
