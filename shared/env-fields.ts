/**
 * Configuration variables as schemas: text in, typed value out, unset and blank alike (decisions §41). Messages say what
 * the variable must be, never what it is.
 */
import * as z from "zod";
import { isCidr } from "./ssrf.ts";

const TRUTHY = new Set(["1", "true", "yes", "on"]);
const FALSY = new Set(["0", "false", "no", "off"]);

/** Trimmed text, or the fallback. */
export const envText = (fallback: string) =>
  z
    .string()
    .transform((value) => value.trim() || fallback)
    .prefault("");

/** Text as it is, or undefined when blank. */
export const envSecret = z
  .string()
  .transform((value) => (value === "" ? undefined : value))
  .optional();

/** A truth word in any case, or the fallback. */
export const envFlag = (fallback: boolean) =>
  z
    .string()
    .transform((text, context) => {
      const value = text.trim().toLowerCase();
      if (value === "") return fallback;
      if (TRUTHY.has(value)) return true;
      if (FALSY.has(value)) return false;
      context.addIssue({ code: "custom", message: "must be 1, true, yes, on, 0, false, no or off" });
      return z.NEVER;
    })
    .prefault("");

/** A whole number of at least `least`, or the fallback. */
export const envWhole = (fallback: number, least = 1) =>
  z
    .string()
    .transform((text, context) => {
      if (text.trim() === "") return fallback;
      const value = Number(text);
      if (Number.isSafeInteger(value) && value >= least) return value;
      context.addIssue({ code: "custom", message: `must be a whole number of at least ${least}` });
      return z.NEVER;
    })
    .prefault("");

/** An http or https URL, or the fallback. */
export const envWebUrl = (fallback: string) =>
  envText(fallback).refine((value) => URL.canParse(value) && /^https?:/.test(value), "must be an http or https URL");

/** Address ranges, separated by commas. */
export const envCidrs = envText("")
  .transform((value) =>
    value
      .split(",")
      .map((item) => item.trim())
      .filter((item) => item !== ""),
  )
  .refine((items) => items.every(isCidr), "must be a comma-separated list of CIDRs");

/** An http or https URL, or "". */
export const envOptionalUrl = envText("").refine(
  (value) => value === "" || (URL.canParse(value) && /^https?:/.test(value)),
  "must be an http or https URL",
);

/** An http or https URL without a trailing slash, or null. */
export const envOptionalWebUrl = envText("")
  .refine((value) => value === "" || (URL.canParse(value) && /^https?:/.test(value)), "must be an http or https URL")
  .transform((value) => (value === "" ? null : value.replace(/\/+$/, "")));

/** A cell's name (decisions §0.2). */
export const envCellName = z.string().regex(/^[a-z0-9-]{1,32}$/, "must match ^[a-z0-9-]{1,32}$");

/** The name of an analytics database; it is written into statements. */
export const envDatabaseName = (fallback: string) =>
  envText(fallback).refine((value) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(value), "must be an identifier");

/** Base64 of 32 bytes, or undefined. */
export const envEncryptionKey = envSecret.refine((value) => {
  if (value === undefined) return true;
  try {
    return atob(value.trim()).length === 32;
  } catch {
    return false;
  }
}, "must be base64 of 32 bytes, for example from: openssl rand -base64 32");

/** Every complaint of a configuration in one line, by variable. */
export function envComplaints(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join(".")} ${issue.message}`).join("; ");
}
