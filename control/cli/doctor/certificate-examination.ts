/**
 * The certificate of a TLS endpoint: whether its clients trust it, whether it is for that name, and when it ends. The handshake is
 * all that is sent.
 */
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { Examination } from "./examination.ts";
import { type DoctorFinding, findingsOf } from "./finding.ts";
import type { TlsEndpoint } from "./tls-endpoint.ts";
import { codeOf, isCertificateCode, unreachable } from "./unreachable.ts";

const DAY_MS = 86_400_000;
/** Renewals run weeks before the end: what is left then has failed to be renewed. */
const WARN_DAYS = 21;
const FAIL_DAYS = 3;

/** PostgreSQL starts TLS within its own protocol: it is asked, and answers `S`. */
const POSTGRES_TLS_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** `of`: the parts that use the endpoint; when one of them does not answer, that is told of it and not here. */
export function certificateExamination(endpoint: TlsEndpoint, of: readonly string[] = []): Examination {
  const { host, port } = endpoint;
  const part = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  return {
    part,
    run: async (signal) => {
      try {
        const socket = await handshake(endpoint, signal);
        const { valid_from, valid_to } = socket.getPeerCertificate();
        const { authorized, authorizationError: refusal } = socket;
        const code = authorized || endpoint.trust?.isAnything === true ? "" : String(codeOf(refusal) || refusal);
        socket.destroy();
        return {
          findings: [
            { ...checkCertificate(part, { from: valid_from, to: valid_to, code }, Date.now()), symptomOf: of },
          ],
        };
      } catch (error) {
        const { detail, fix } = unreachable(error);
        return { findings: [findingsOf(part).failure("certificate", detail, fix, { symptomOf: of })] };
      }
    },
  };
}

/** An open TLS connection, whatever its certificate. Rejects when there is none to be had. */
async function handshake({ host, port, startsWith, trust }: TlsEndpoint, signal: AbortSignal): Promise<TLSSocket> {
  const tcp = connectTcp({ host, port });
  signal.addEventListener("abort", () => tcp.destroy());
  await settled(tcp, "connect");
  if (startsWith === "postgres") {
    tcp.write(POSTGRES_TLS_REQUEST);
    const [answer] = await settled<[Buffer]>(tcp, "data");
    if (answer.toString("latin1")[0] !== "S") {
      tcp.destroy();
      throw Object.assign(new Error("no TLS"), { code: "ERR_SSL_WRONG_VERSION_NUMBER" });
    }
  }
  const name = isIP(host) === 0 ? { servername: host } : {};
  // It is looked at, not trusted: nothing but the handshake is sent.
  const socket = connectTls({ ...trust?.options, socket: tcp, host, ...name, rejectUnauthorized: false });
  await settled(socket, "secureConnect");
  return socket;
}

async function settled<T extends unknown[]>(socket: Socket, event: string): Promise<T> {
  return await new Promise((resolve, reject) => {
    socket.once(event, (...args: T) => resolve(args));
    socket.once("error", reject);
    socket.once("close", () => reject(Object.assign(new Error("closed"), { code: "ECONNRESET" })));
  });
}

interface Certificate {
  readonly from: string;
  readonly to: string;
  /** Why its clients do not trust it; an empty text when they do, or do not ask. */
  readonly code: string;
}

/** What a certificate is worth at an instant. Pure. */
export function checkCertificate(part: string, { from, to, code }: Certificate, nowMs: number): DoctorFinding {
  const { ok, warning, failure } = findingsOf(part);
  const renew = "renew the certificate, and check why it was not renewed automatically";
  if (Number.isNaN(Date.parse(to)))
    return failure("certificate", "has an unreadable expiry date", "renew the certificate");
  const leftDays = Math.floor((Date.parse(to) - nowMs) / DAY_MS);
  const day = new Date(Date.parse(to)).toISOString().slice(0, 10);
  if (leftDays < 0) return failure("certificate", `expired on ${day}`, renew);
  if (Date.parse(from) > nowMs)
    return failure("certificate", "is not valid yet", "check the clock of this machine, and the certificate");
  if (code !== "") {
    const reason = unreachable(Object.assign(new Error(code), { code }));
    const detail = isCertificateCode(code) ? reason.detail.replace(/^does not answer: its/, "its") : `(${code})`;
    return failure("certificate", `clients refuse it: ${detail}`, reason.fix);
  }
  if (leftDays < FAIL_DAYS) return failure("certificate", `expires on ${day}, in ${leftDays} days`, renew);
  if (leftDays < WARN_DAYS) return warning("certificate", `expires on ${day}, in ${leftDays} days`, renew);
  return ok("certificate", `is valid until ${day}, ${leftDays} days`);
}
