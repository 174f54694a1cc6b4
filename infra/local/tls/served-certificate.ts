/**
 * The certificate that the front serves. Its files are read again and again, because every way to renew them changes them
 * differently: written in place, renamed, behind a symbolic link that is swapped, in a folder that is swapped. The files are
 * served once two readings were equal and both files fit each other, so that half of a change is never served; until then, and
 * whenever the files are invalid, the last good certificate stays.
 */
import {
  type Certificate,
  type CertificateFiles,
  type CertificateProblem,
  certificateOf,
  readFiles,
} from "./certificate.ts";

const READ_EVERY_MS = 5_000;
const DAY_MS = 86_400_000;
/** From how long before its end on a certificate is reported, once a day. */
const ENDS_SOON_MS = 14 * DAY_MS;

const INFO = 30;
const WARN = 40;

/** What {@link ServedCertificate} needs. */
interface ServedCertificateOptions {
  readonly files: CertificateFiles;
  /** Takes an event as a line of JSON. */
  readonly log: (line: string) => void;
  /** Epoch milliseconds. */
  readonly nowMs: () => number;
}

export class ServedCertificate {
  readonly #options: ServedCertificateOptions;
  #now: Certificate;
  /** The result of the last reading, if it is not being served. */
  #seen = "";
  /** The problem that the log has. */
  #reported = "";
  #endReportedMs = Number.NEGATIVE_INFINITY;
  #adopted: (certificate: Certificate) => void = () => undefined;

  private constructor(options: ServedCertificateOptions, first: Certificate) {
    this.#options = options;
    this.#now = first;
  }

  /** Reads the files for the first time; reports why if they cannot be served. */
  static async open(options: ServedCertificateOptions): Promise<ServedCertificate | CertificateProblem> {
    const first = await readCertificate(options.files);
    if ("problem" in first) return first;
    const served = new ServedCertificate(options, first);
    served.#reportEnd();
    return served;
  }

  /** The certificate for new connections. */
  get now(): Certificate {
    return this.#now;
  }

  /** `adopted` is called with each certificate that takes the place of the one before. */
  onChange(adopted: (certificate: Certificate) => void): void {
    this.#adopted = adopted;
  }

  /** Reads the files regularly from now on; returns what ends that. */
  watch(): () => void {
    let ended = false;
    let timer: NodeJS.Timeout | undefined;
    const next = (): void => {
      timer = setTimeout(() => void this.look().finally(() => (ended ? undefined : next())), READ_EVERY_MS).unref();
    };
    next();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }

  /** Reads the files once. Never rejects. */
  async look(): Promise<void> {
    this.#reportEnd();
    const found = await readCertificate(this.#options.files);
    const digest = "problem" in found ? found.problem : found.digest;
    if (digest === this.#now.digest) {
      this.#seen = "";
      this.#reported = "";
      return;
    }
    if (digest !== this.#seen) {
      this.#seen = digest;
      return;
    }
    if ("problem" in found) {
      if (this.#reported !== found.problem) this.#event(WARN, "tls_not_reloaded", { reason: found.problem });
      this.#reported = found.problem;
      return;
    }
    this.#now = found;
    this.#seen = "";
    this.#reported = "";
    this.#endReportedMs = Number.NEGATIVE_INFINITY;
    this.#adopted(found);
    this.#event(INFO, "tls_reloaded", { expires_at: timeOf(found) });
    this.#reportEnd();
  }

  #reportEnd(): void {
    const { nowMs } = this.#options;
    const leftMs = this.#now.expiresAtMs - nowMs();
    if (leftMs > ENDS_SOON_MS || nowMs() - this.#endReportedMs < DAY_MS) return;
    this.#endReportedMs = nowMs();
    this.#event(WARN, leftMs > 0 ? "tls_certificate_ends" : "tls_certificate_ended", { expires_at: timeOf(this.#now) });
  }

  #event(level: number, event: string, facts: Readonly<Record<string, string>>): void {
    const { log, nowMs } = this.#options;
    log(JSON.stringify({ level, time: new Date(nowMs()).toISOString(), event, ...facts }));
  }
}

async function readCertificate(files: CertificateFiles): Promise<Certificate | CertificateProblem> {
  const read = await readFiles(files);
  return "problem" in read ? read : certificateOf(read);
}

function timeOf({ expiresAtMs }: Certificate): string {
  return new Date(expiresAtMs).toISOString();
}
