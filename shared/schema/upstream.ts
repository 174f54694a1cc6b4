/** The address and the credential for a model's calls: fields that models, endpoints and MCP servers share. */
import * as z from "zod";
import { isSealed } from "../crypto/seal.ts";
import { parseUpstreamUrl } from "../network/upstream-url.ts";
import { freeText } from "./common.ts";

/** Adds an error for a text that is neither blank nor an http or https URL without user info. */
export function refuseNoUrl(text: string, context: z.core.$RefinementCtx<string>): void {
  const url = text === "" ? null : parseUpstreamUrl(text);
  if (typeof url === "string") context.addIssue({ code: "custom", message: url });
}

/** A base address in its stored form: an earlier version accepted every URL. */
export const storedBaseUrl = freeText(2000)
  .transform((text) => text.replace(/\/+$/, ""))
  .superRefine(refuseNoUrl);

/**
 * A base address without a trailing slash, or "" (docs/rules/models.md#addresses): paths are appended to it, so it cannot
 * contain parts of a URL that follow the path. The verb checks whether it may be called.
 */
export const baseUrl = storedBaseUrl.refine((text) => !/[?#]/.test(text), "must not contain ? or #");

/**
 * A credential is sent in a header, so it has only characters that a header can carry, and nothing around it that was pasted
 * with it; "" clears it.
 */
export const headerSecret = z
  .string({ error: "must be a string" })
  .trim()
  .max(4000, "must be at most 4000 characters")
  .regex(/^[\x20-\x7e]*$/, "must be printable ASCII")
  .refine((text) => !isSealed(text), "must be the secret itself, not its encrypted form");
