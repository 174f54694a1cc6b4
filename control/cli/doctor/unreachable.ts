/**
 * Why a connection failed, in words: what the system's code means and what to do about it. Messages of drivers are not
 * repeated, because they may quote addresses with credentials.
 */
import { CONNECTION_CODES } from "../../../shared/text/root-cause.ts";

interface Reason {
  readonly detail: string;
  readonly fix: string;
}

const ADDRESS = "check the address and the port, and that the part runs";
const TRUST =
  "use a certificate of an authority that clients trust, or name yours in NODE_EXTRA_CA_CERTS, for a database in sslrootcert";

/** What to do about each of the codes of connections. */
const FIXES: Readonly<Record<string, string>> = {
  ECONNREFUSED: ADDRESS,
  ENOTFOUND: "check the spelling of the host and the resolver",
  EAI_AGAIN: "check the resolver of this machine",
  EHOSTUNREACH: "check routes and firewalls",
  ENETUNREACH: "check routes and firewalls",
  ETIMEDOUT: "check firewalls: something drops the packets",
  ECONNRESET: `${ADDRESS}, and that both sides use TLS or neither does`,
  EPIPE: ADDRESS,
  CERT_HAS_EXPIRED: "renew the certificate",
  CERT_NOT_YET_VALID: "check the clocks and the certificate",
  ERR_TLS_CERT_ALTNAME_INVALID: "use the certificate's name",
  DEPTH_ZERO_SELF_SIGNED_CERT: TRUST,
  SELF_SIGNED_CERT_IN_CHAIN: TRUST,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: TRUST,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: TRUST,
  ERR_SSL_WRONG_VERSION_NUMBER: "write the address without TLS",
  EPROTO: "write the address without TLS, or turn TLS on",
};

/** Codes of TLS: the connection was made, and its certificate is what is wrong. */
export function isCertificateCode(code: string): boolean {
  return /CERT|LEAF_SIGNATURE/.test(code);
}

/** The first code in an error or its causes; an empty text when none has one. */
export function codeOf(error: unknown): string {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if ("code" in at && typeof at.code === "string") return at.code;
    if (at instanceof AggregateError && at.errors[0] !== undefined) return codeOf(at.errors[0]);
  }
  return "";
}

/** Whether an answer is what is wrong: it is no JSON, is too long, or has another shape. */
function isOdd(error: unknown): boolean {
  return error instanceof SyntaxError || codeOf(error) === "ODD_ANSWER";
}

/** Whether the other side is to blame for an error, and not the program that met it. */
export function isOfOthers(error: unknown): boolean {
  return isOdd(error) || codeOf(error) !== "";
}

/** Why something does not answer, from the error of its client. `url`: the address that was called; only its host and port are shown. */
export function unreachable(error: unknown, url = ""): Reason {
  const code = codeOf(error);
  if (isOdd(error))
    return { detail: "answers, but not like a part of a gateway", fix: `another program may answer there: ${ADDRESS}` };
  const host = URL.parse(url)?.host ?? "";
  const silent = host === "" ? "does not answer" : `does not answer at ${host}`;
  const fix = FIXES[code];
  if (fix !== undefined) return { detail: `${silent}: ${CONNECTION_CODES[code]}`, fix };
  const told = /^[A-Z][A-Z0-9_]{1,40}$/.test(code) ? ` (${code})` : "";
  return { detail: `${silent}${told}`, fix: ADDRESS };
}
