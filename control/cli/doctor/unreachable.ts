/**
 * Why a connection failed, in words: what the system's code means and what to do about it. Messages of drivers are not
 * repeated, because they may quote addresses with credentials.
 */

interface Reason {
  readonly detail: string;
  readonly fix: string;
}

const ADDRESS = "check the address and the port, and that the part runs";
const TRUST =
  "use a certificate of an authority that clients trust, or name yours in NODE_EXTRA_CA_CERTS, for a database in sslrootcert";

const REASONS: Readonly<Record<string, Reason>> = {
  ECONNREFUSED: { detail: "nothing listens there", fix: ADDRESS },
  ENOTFOUND: { detail: "the name is not known to DNS", fix: "check the spelling of the host and the resolver" },
  EAI_AGAIN: { detail: "DNS does not answer", fix: "check the resolver of this machine" },
  EHOSTUNREACH: { detail: "there is no route to the host", fix: "check routes and firewalls" },
  ENETUNREACH: { detail: "there is no route to the network", fix: "check routes and firewalls" },
  ETIMEDOUT: { detail: "the connection timed out", fix: "check firewalls: something drops the packets" },
  ECONNRESET: { detail: "the connection was cut", fix: `${ADDRESS}, and that both sides use TLS or neither does` },
  EPIPE: { detail: "the connection was cut", fix: ADDRESS },
  CERT_HAS_EXPIRED: { detail: "its certificate has expired", fix: "renew the certificate" },
  CERT_NOT_YET_VALID: { detail: "its certificate is not valid yet", fix: "check the clocks and the certificate" },
  ERR_TLS_CERT_ALTNAME_INVALID: { detail: "its certificate is for another name", fix: "use the certificate's name" },
  DEPTH_ZERO_SELF_SIGNED_CERT: { detail: "its certificate is self-signed", fix: TRUST },
  SELF_SIGNED_CERT_IN_CHAIN: { detail: "its authority is not trusted", fix: TRUST },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: { detail: "its certificate chain is incomplete", fix: TRUST },
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: { detail: "its authority is not trusted", fix: TRUST },
  ERR_SSL_WRONG_VERSION_NUMBER: { detail: "it does not use TLS there", fix: "write the address without TLS" },
  EPROTO: { detail: "it does not use TLS there", fix: "write the address without TLS, or turn TLS on" },
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

/** Why something does not answer, from the error of its client. */
export function unreachable(error: unknown): Reason {
  const code = codeOf(error);
  if (isOdd(error))
    return { detail: "answers, but not as a part of a gateway", fix: `another program may answer there: ${ADDRESS}` };
  const known = REASONS[code];
  if (known !== undefined) return { ...known, detail: `does not answer: ${known.detail}` };
  const told = /^[A-Z][A-Z0-9_]{1,40}$/.test(code) ? ` (${code})` : "";
  return { detail: `does not answer${told}`, fix: ADDRESS };
}
