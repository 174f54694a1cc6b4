/**
 * Configuration variables as schemas: text in, typed value out; unset and blank are the same
 * (docs/rules/configuration.md#variables). Messages state the required form of the variable and never repeat its value.
 * `values` in the meta data of a field is the description of its values in docs/reference/variables.md.
 */
import * as z from "zod";
import { isCidr } from "../network/ssrf.ts";

const TRUTHY = new Set(["1", "true", "yes", "on"]);
const FALSY = new Set(["0", "false", "no", "off"]);
const FLAG_VALUES = "on, off";

/** The bounds of a whole number, as the reference says them. */
const wholeValues = (least: number, most: number): string =>
  most === Number.MAX_SAFE_INTEGER ? `at least ${least}` : `${least} to ${most}`;

/** Trimmed text, or the fallback. */
export const envText = (fallback: string) =>
  z
    .string()
    .transform((value) => value.trim() || fallback)
    .prefault("");

/** Text unchanged, or undefined when blank. */
export const envSecret = z
  .string()
  .transform((value) => (value === "" ? undefined : value))
  .optional();

/** A truth word in any case (upper or lower); undefined when unset or blank. */
export const envOptionalFlag = z
  .string()
  .transform((text, context): boolean | undefined => {
    const value = text.trim().toLowerCase();
    if (value === "") return undefined;
    if (TRUTHY.has(value)) return true;
    if (FALSY.has(value)) return false;
    context.addIssue({ code: "custom", message: "must be 1, true, yes, on, 0, false, no or off" });
    return z.NEVER;
  })
  .prefault("")
  .meta({ values: FLAG_VALUES });

/** A truth word in any case (upper or lower), or the fallback. */
export const envFlag = (fallback: boolean) =>
  envOptionalFlag.transform((value) => value ?? fallback).meta({ values: FLAG_VALUES });

/** A whole number within bounds, in decimal digits only; undefined when unset or blank. */
export const envOptionalWhole = (least: number, most = Number.MAX_SAFE_INTEGER) =>
  z
    .string()
    .transform((text, context): number | undefined => {
      const digits = text.trim();
      if (digits === "") return undefined;
      const value = Number(digits);
      if (/^\d+$/.test(digits) && value >= least && value <= most) return value;
      const bounds = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
      context.addIssue({ code: "custom", message: `must be a whole number ${bounds}, in digits` });
      return z.NEVER;
    })
    .prefault("")
    .meta({ values: wholeValues(least, most) });

/** A whole number within bounds, or the fallback. */
export const envWhole = (fallback: number, least = 1, most = Number.MAX_SAFE_INTEGER) =>
  envOptionalWhole(least, most)
    .transform((value) => value ?? fallback)
    .meta({ values: wholeValues(least, most) });

/** A part from 0 to `most`, in decimal digits with or without a point, or the fallback. */
export const envPart = (fallback: number, most: number) =>
  z
    .string()
    .transform((text, context): number => {
      const digits = text.trim();
      if (digits === "") return fallback;
      const value = Number(digits);
      if (/^\d+(\.\d+)?$/.test(digits) && value <= most) return value;
      context.addIssue({ code: "custom", message: `must be a number from 0 to ${most}, in digits` });
      return z.NEVER;
    })
    .prefault("")
    .meta({ values: `0 to ${most}` });

const PAIRS = "name=value pairs separated by commas, with percent-encoded values";
const URL_VALUES = "an http or https URL";

/** A URL with user info cannot be fetched, and with a query or a fragment nothing can follow it. */
export const NO_WEB_URL = "must be an http or https URL without user name, password, ? and #";

/** True for an http or https URL that paths can be added to. */
export function isWebUrl(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && /^https?:[^?#]+$/i.test(value) && url.username + url.password === "";
}

/** An http or https URL, or the fallback. */
export const envWebUrl = (fallback: string) =>
  envText(fallback).refine(isWebUrl, NO_WEB_URL).meta({ values: URL_VALUES });

/** Address of the key-value store when no variable sets it (docs/rules/configuration.md#variables). */
const DEFAULT_STORE_URL = "redis://127.0.0.1:6379";

const NO_STORE_URL =
  "must be a redis:// or rediss:// URL, whose path can only be the number of a database, or the https:// URL of a REST endpoint";

/** True for the address of a key-value store of either protocol. */
function isStoreUrl(value: string): boolean {
  const url = URL.parse(value);
  return isWebUrl(value) || (url !== null && /^rediss?:$/.test(url.protocol) && /^\/?\d*$/.test(url.pathname));
}

/** Address of the key-value store for a service that supports both protocols. */
export const envStoreUrl = envText(DEFAULT_STORE_URL)
  .refine(isStoreUrl, NO_STORE_URL)
  .meta({ values: "a `redis://` or `rediss://` URL, or the `https://` URL of an Upstash REST endpoint" });

/** The same without a default. */
export const envOptionalStoreUrl = envText("")
  .refine((value) => value === "" || isStoreUrl(value), NO_STORE_URL)
  .transform((value) => value || undefined);

/** Address of the key-value store for a Worker, which does not support the Redis protocol: it has no usable default. */
export const envRestStoreUrl = envText(DEFAULT_STORE_URL).refine(
  isWebUrl,
  "must be set to the http or https URL of a REST endpoint: a Worker cannot speak the Redis protocol",
);

/** Address ranges, separated by commas. */
export const envCidrs = envText("")
  .transform((value) =>
    value
      .split(",")
      .map((item) => item.trim())
      .filter((item) => item !== ""),
  )
  .refine((items) => items.every(isCidr), "must be a comma-separated list of CIDRs")
  .meta({ values: "CIDRs, separated by commas" });

/** An http or https URL that is used unchanged, or "". */
export const envOptionalUrl = envText("")
  .refine((value) => value === "" || (/^https?:/i.test(value) && URL.canParse(value)), "must be an http or https URL")
  .meta({ values: URL_VALUES });

/** An http or https URL without a trailing slash, or null. */
export const envOptionalWebUrl = envText("")
  .refine((value) => value === "" || isWebUrl(value), NO_WEB_URL)
  .transform((value) => (value === "" ? null : value.replace(/\/+$/, "")))
  .meta({ values: URL_VALUES });

/** Origins of web pages, separated by commas, or `*` alone for all. */
export const envOrigins = envText("")
  .transform((text) =>
    text.split(",").flatMap((entry) => {
      const origin = entry.trim().replace(/\/$/, "");
      return origin === "" ? [] : [origin];
    }),
  )
  .superRefine((origins, context) => {
    const wrong = origins.find((origin) => origin.includes("*") || URL.parse(origin)?.origin !== origin);
    if (wrong === undefined || origins.join() === "*") return;
    // another case, a default port or a path
    const meant = /^https?:\/\/[^/?#@*]+([/?#]|$)/i.test(wrong) ? URL.parse(wrong)?.origin : undefined;
    const hint = meant === undefined ? "" : `: write ${meant}`;
    context.addIssue({
      code: "custom",
      message: `must be whole origins such as https://app.example.com, separated by commas, or * alone; entry ${origins.indexOf(wrong) + 1} is not as browsers send it${hint}`,
    });
  })
  .meta({ values: "origins, separated by commas, or `*`" });

/**
 * `name=value` pairs as OpenTelemetry's specification writes them: separated by commas, values percent-encoded; null when
 * unset or blank.
 */
export const envPairs = envText("")
  .transform((text, context): Readonly<Record<string, string>> | null => {
    if (text === "") return null;
    const items = text.split(",").filter((item) => item.trim() !== "");
    try {
      return Object.fromEntries(
        items.map((item) => {
          const [, name = "", value = ""] = /^\s*([^\s=]+)\s*=(.*)$/s.exec(item) ?? [];
          if (name === "") throw new URIError("no name");
          return [name, decodeURIComponent(value.trim())];
        }),
      );
    } catch {
      context.addIssue({ code: "custom", message: `must be ${PAIRS}` });
      return z.NEVER;
    }
  })
  .meta({ values: PAIRS });

/** HTTP headers as such pairs. */
export const envHeaders = envPairs.refine(
  (pairs) => Object.entries(pairs ?? {}).every((pair) => /^[\w.-]+:[\t -~]*$/.test(pair.join(":"))),
  "must be HTTP headers",
);

/** A cell's name (docs/rules/configuration.md#cells). */
export const envCellName = z.string().regex(/^[a-z0-9-]{1,32}$/, "must match ^[a-z0-9-]{1,32}$");

/** The name of an analytics database; it becomes part of statements. */
export const envDatabaseName = (fallback: string) =>
  envText(fallback)
    .refine((value) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(value), "must be an identifier")
    .meta({ values: "letters, digits, underscores" });

function isEncryptionKey(text: string): boolean {
  try {
    return atob(text.trim()).length === 32;
  } catch {
    return false;
  }
}

/** Base64 of 32 bytes, or undefined. */
export const envEncryptionKey = envSecret
  .refine(
    (value) => value === undefined || isEncryptionKey(value),
    "must be base64 of 32 bytes, for example from: openssl rand -base64 32",
  )
  .meta({ values: "base64 of 32 bytes" });

const OLD_MAX = 4;

/** Secrets that are accepted in addition to the current one, separated by commas. */
export const envOldSecrets = envText("")
  .transform((text) => text.split(",").flatMap((entry) => entry.trim() || []))
  .refine((values) => values.length <= OLD_MAX, `has more than ${OLD_MAX} values`)
  .meta({ values: `up to ${OLD_MAX}, separated by commas`, default: "none" });

export const envOldEncryptionKeys = envOldSecrets
  .refine((keys) => keys.every(isEncryptionKey), "must be base64 of 32 bytes each, separated by commas")
  .meta({ values: `base64 of 32 bytes, up to ${OLD_MAX}, separated by commas`, default: "none" });

/** All errors of a configuration in one line, by variable. */
export function envErrorText(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join(".")} ${issue.message}`).join("; ");
}
