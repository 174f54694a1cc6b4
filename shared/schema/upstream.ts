/**
 * Where a model's calls go and what they are authorised with: fields that models, endpoints and MCP servers share.
 */
import * as z from "zod";
import { isSealed } from "../seal.ts";
import { parseUpstreamUrl } from "../ssrf.ts";
import { freeText } from "./common.ts";

/** Complains of a text that is neither blank nor an http or https URL without user info. */
export function refuseNoUrl(text: string, context: z.core.$RefinementCtx<string>): void {
  const url = text === "" ? null : parseUpstreamUrl(text);
  if (typeof url === "string") context.addIssue({ code: "custom", message: url });
}

/**
 * An upstream's base without trailing slash, or "" (docs/rules/models.md#addresses). Whether it may be called is the
 * verb's to check.
 */
export const apiBase = freeText(2000)
  .transform((text) => text.replace(/\/+$/, ""))
  .superRefine(refuseNoUrl);

/** Goes into a header as it is, so only what a header can carry; "" clears. */
export const headerSecret = z
  .string({ error: "must be a text" })
  .max(4000, "must be at most 4000 characters")
  .regex(/^[\x20-\x7e]*$/, "must be printable ASCII")
  .refine((text) => !isSealed(text), "must be the secret itself, not its encrypted form");
