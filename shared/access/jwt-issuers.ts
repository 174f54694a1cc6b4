/**
 * GATEWAY_JWT_ISSUERS: the OIDC providers whose tokens the data plane accepts (docs/rules/identities.md#issuers). An
 * error names the entry and field. Only asymmetric algorithms are allowed, so that a published key can never be used as
 * a shared secret.
 */
import * as z from "zod";
import { envSecret } from "../env/env-fields.ts";

const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"] as const;

const text = z.string({ error: "must be a string" }).trim().min(1, "must not be blank").max(2000, "is too long");
const webUrl = text.refine((value) => URL.canParse(value) && /^https?:/.test(value), "must be an http or https URL");

const issuerSchema = z
  .strictObject({
    /** The exact `iss` of the provider's tokens. */
    issuer: text,
    jwks_url: webUrl.optional(),
    audience: z
      .union([text, z.array(text).min(1)], { error: "must be a string or an array of strings" })
      .transform((value) => (typeof value === "string" ? [value] : value)),
    algorithms: z
      .array(z.enum(ALGORITHMS, { error: `must be one of ${ALGORITHMS.join(", ")}` }))
      .min(1, "must not be empty")
      .default(["RS256", "ES256"]),
    subject_claim: text.default("sub"),
    device_claim: text.nullable().default(null),
    identity_claims: z.array(text).default([]),
    /** Name of the tenant that the provider's subjects belong to. */
    tenant: text.max(200, "is too long"),
    jit_provision: z.boolean({ error: "must be true or false" }).default(true),
  })
  .transform((entry, context) => {
    const jwksUrl = entry.jwks_url ?? `${entry.issuer.replace(/\/+$/, "")}/.well-known/jwks.json`;
    if (webUrl.safeParse(jwksUrl).success) return { ...entry, jwks_url: jwksUrl };
    context.addIssue({
      code: "custom",
      path: ["jwks_url"],
      message: "is required because issuer is not an http or https URL",
    });
    return z.NEVER;
  });

/** One provider. */
export type JwtIssuer = z.infer<typeof issuerSchema>;

/** A subject has one key: entries of an issuer that disagree about it would share keys across tenants, or between subjects. */
const issuersSchema = z
  .array(issuerSchema)
  .min(1)
  .superRefine((entries, context) => {
    for (const [at, entry] of entries.entries()) {
      const first = entries.findIndex(({ issuer }) => issuer === entry.issuer);
      for (const field of ["tenant", "subject_claim"] as const) {
        if (entry[field] === entries[first]?.[field]) continue;
        const message = `must be that of entry ${first}, which has the same issuer: a subject has one key for all audiences`;
        context.addIssue({ code: "custom", path: [at, field], message });
      }
    }
  });

/** The schema of the variable: the providers in order, none when it is unset. */
export const envJwtIssuers = envSecret.transform((value, context): readonly JwtIssuer[] => {
  if (value === undefined) return [];
  const issuers = issuersSchema.safeParse(readJson(value));
  if (issuers.success) return issuers.data;
  const [first] = issuers.error.issues;
  const field = first === undefined || first.path.length === 0 ? "" : ` (${first.path.join(".")} ${first.message})`;
  context.addIssue({ code: "custom", message: `must be a JSON array of {issuer, audience, tenant, ...}${field}` });
  return z.NEVER;
});

function readJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return null;
  }
}
