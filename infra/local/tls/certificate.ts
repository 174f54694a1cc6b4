/**
 * A certificate with its private key from two PEM files: read, checked, and prepared for TLS. Messages name the variables, and
 * never contain text of a file.
 */
import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { constants, open } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import { systemProblem } from "../../../control/kernel/system-problem.ts";

/** The absolute paths of the PEM files of a certificate. */
export interface CertificateFiles {
  /** The server's own certificate first, then those of its issuers. */
  readonly certFile: string;
  readonly keyFile: string;
}

/** The current content of the two files. */
interface ReadFiles {
  readonly cert: string;
  readonly key: string;
  /** Equal for equal contents. */
  readonly digest: string;
}

/** A certificate that can be served. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  /** See {@link ReadFiles}. */
  readonly digest: string;
  /** When it stops being valid, in ms since 1970. */
  readonly expiresAtMs: number;
  /** The first of its host names that stands for one host; null if it has none. */
  readonly host: string | null;
}

/** Why files cannot be served: the variable, and its required value. */
export interface CertificateProblem {
  readonly problem: string;
}

/** The oldest version of TLS that is spoken. */
export const MIN_TLS_VERSION = "TLSv1.2";

const CERT = "GATEWAY_TLS_CERT_FILE";
const KEY = "GATEWAY_TLS_KEY_FILE";
const FILE_MAX_BYTES = 1024 * 1024;
const BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Reads both files. A file that cannot be read, or is too large for what it should contain, is a problem. */
export async function readFiles({ certFile, keyFile }: CertificateFiles): Promise<ReadFiles | CertificateProblem> {
  const cert = await readText(CERT, certFile);
  if (typeof cert !== "string") return cert;
  const key = await readText(KEY, keyFile);
  if (typeof key !== "string") return key;
  return {
    cert,
    key,
    digest: createHash("sha256")
      .update(JSON.stringify([cert, key]))
      .digest("hex"),
  };
}

async function readText(variable: string, path: string): Promise<string | CertificateProblem> {
  try {
    // Without waiting for a writer, as a pipe would.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = await file.stat();
      if (!stat.isFile()) return { problem: `${variable} must be a file: ${path} is not one` };
      if (stat.size > FILE_MAX_BYTES)
        return { problem: `${variable} must be a file of at most 1 MiB: ${path} is larger` };
      return await file.readFile("utf8");
    } finally {
      await file.close();
    }
  } catch (error) {
    return { problem: `${variable}: the file ${path} cannot be read: ${systemProblem(error) ?? "unknown error"}` };
  }
}

/** Checks the read files. An expired certificate is not a problem here: it is better than no answer at all. */
export function certificateOf({ cert, key, digest }: ReadFiles): Certificate | CertificateProblem {
  const chain = chainOf(cert);
  const [own] = chain ?? [];
  if (own === undefined)
    return { problem: `${CERT} must contain certificates as PEM, all of them whole, the server's own first` };
  const matches = keyMatches(own, key);
  if (matches === null) return { problem: `${KEY} must contain a private key as PEM, without a passphrase` };
  if (!matches) return { problem: `${KEY} must contain the private key of the first certificate in ${CERT}` };
  try {
    createSecureContext({ cert, key, minVersion: MIN_TLS_VERSION });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { problem: `${CERT} must contain certificates that TLS can use (${code ?? "unknown error"})` };
  }
  return { cert, key, digest, expiresAtMs: own.validToDate.getTime(), host: hostOf(own) };
}

/** Undefined: not all of it can be read. */
function chainOf(pem: string): readonly X509Certificate[] | undefined {
  const blocks = pem.match(BLOCK) ?? [];
  if (blocks.length !== pem.split("-----BEGIN CERTIFICATE-----").length - 1) return undefined;
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    return undefined;
  }
}

/** Null: it contains no private key. */
function keyMatches(certificate: X509Certificate, pem: string): boolean | null {
  try {
    return certificate.checkPrivateKey(createPrivateKey(pem));
  } catch {
    return null;
  }
}

function hostOf({ subjectAltName }: X509Certificate): string | null {
  const names = subjectAltName?.split(", ").map((entry) => /^DNS:([a-z0-9.-]+)$/i.exec(entry)?.[1]) ?? [];
  return names.find((name) => name !== undefined) ?? null;
}
