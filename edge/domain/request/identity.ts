/**
 * The identity that a verified token states (docs/rules/identities.md#keys-of-subjects). The verifier checks signature,
 * issuer, audience and times; this file turns claims into the subject, the name of its key and its device. Pure.
 */
import type { JwtIssuer } from "../../../shared/access/jwt-issuers.ts";

/** A subject of a provider. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  /** For people: the first identity claim that is not empty, else the subject; at most 200 characters. */
  readonly name: string;
  /** Name of the tenant it belongs to. */
  readonly tenant: string;
  /** A key is created for it at its first use. */
  readonly jitProvision: boolean;
  /** Empty when the token names no device that can be recorded. */
  readonly deviceId: string;
}

export type Claims = Readonly<Record<string, unknown>>;

const TOKEN_MAX_BYTES = 8192;
const SUBJECT_MAX = 1024;
const NAME_MAX = 200;
const LEEWAY_SECS = 60;

/** True for text that has the form of a signed token. */
export function looksLikeToken(text: string): boolean {
  return text.startsWith("eyJ") && text.length <= TOKEN_MAX_BYTES && text.split(".").length === 3;
}

/** True when a token was not issued in the future, within the leeway; false for a time that is not a number. */
export function isIssuedInTime(claims: Claims, nowMs: number): boolean {
  const { iat } = claims;
  return iat === undefined || (typeof iat === "number" && iat <= nowMs / 1000 + LEEWAY_SECS);
}

/** The identity, or null when the token names no subject. */
export function identityOf(issuer: JwtIssuer, claims: Claims): Identity | null {
  const subject = claims[issuer.subject_claim];
  if (typeof subject !== "string" || subject === "" || subject.length > SUBJECT_MAX) return null;
  const device = issuer.device_claim === null ? undefined : claims[issuer.device_claim];
  return {
    issuer: issuer.issuer,
    subject,
    name: nameOf([...issuer.identity_claims.map((claim) => claims[claim]), subject]),
    tenant: issuer.tenant,
    jitProvision: issuer.jit_provision,
    deviceId: typeof device === "string" && /^[A-Za-z0-9_-]{1,64}$/.test(device) ? device : "",
  };
}

/** Characters that no name has (docs/rules/management-api.md#values): control, line and invisible characters, except joiners. */
const UNSHOWABLE = /(?:[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf})+/gu;
const VISIBLE = /[^\p{Z}\p{C}\p{M}]/u;

/** The first text with a visible character, as the Management API takes a name; "" if there is none. */
function nameOf(values: readonly unknown[]): string {
  for (const value of values) {
    if (typeof value !== "string") continue;
    const text = value.replace(UNSHOWABLE, " ").normalize("NFC").trim().slice(0, NAME_MAX).toWellFormed();
    if (VISIBLE.test(text)) return text.trim();
  }
  return "";
}
