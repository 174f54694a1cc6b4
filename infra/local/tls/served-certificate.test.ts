/** @module-tag check */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generate } from "selfsigned";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type MadeCertificate, makeCertificate } from "../../../test/harness/certificates.ts";
import { ServedCertificate } from "./served-certificate.ts";

const DAY_MS = 86_400_000;

let folder: string;
let first: MadeCertificate;
let second: MadeCertificate;

beforeAll(async () => {
  [first, second] = await Promise.all([makeCertificate(), makeCertificate(["gateway.example"])]);
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "gateway-tls-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const at = (name: string): string => join(folder, name);
const write = ({ cert, key }: Partial<MadeCertificate>): void => {
  if (cert !== undefined) writeFileSync(at("cert.pem"), cert);
  if (key !== undefined) writeFileSync(at("key.pem"), key);
};

/** Opens the two files of the folder. */
async function open(clock = { nowMs: Date.now() }) {
  const lines: string[] = [];
  const served = await ServedCertificate.open({
    files: { certFile: at("cert.pem"), keyFile: at("key.pem") },
    log: (line) => void lines.push(line),
    nowMs: () => clock.nowMs,
  });
  const events = (): readonly Record<string, unknown>[] =>
    lines.splice(0).map((line) => JSON.parse(line) as Record<string, unknown>);
  return { served, events };
}

async function opened(clock?: { nowMs: number }) {
  const { served, events } = await open(clock);
  if ("problem" in served) throw new Error(served.problem);
  return { served, events };
}

describe("files that cannot be served", () => {
  const problemOf = async (): Promise<string> => {
    const { served } = await open();
    if (!("problem" in served)) throw new Error("they can be served");
    return served.problem;
  };

  it.each([
    [
      "there is no certificate",
      () => write({ key: first.key }),
      /^GATEWAY_TLS_CERT_FILE: the file \/.*cert\.pem cannot be read: it does not exist \(ENOENT\)$/,
    ],
    [
      "there is no key",
      () => write({ cert: first.cert }),
      /^GATEWAY_TLS_KEY_FILE: the file \/.*key\.pem cannot be read: it does not exist \(ENOENT\)$/,
    ],
    [
      "a folder",
      () => {
        write({ key: first.key });
        mkdirSync(at("cert.pem"));
      },
      /^GATEWAY_TLS_CERT_FILE must/,
    ],
    [
      "a pipe",
      () => {
        write({ key: first.key });
        execFileSync("mkfifo", [at("cert.pem")]);
      },
      /^GATEWAY_TLS_CERT_FILE must be a file: \/.*cert\.pem is not one$/,
    ],
    ["an empty file", () => write({ ...first, cert: "" }), /^GATEWAY_TLS_CERT_FILE must contain certificates as PEM/],
    ["a key instead", () => write({ ...first, cert: first.key }), /^GATEWAY_TLS_CERT_FILE must contain certificates/],
    [
      "a chain that breaks off",
      () => write({ ...first, cert: first.cert + second.cert.slice(0, 200) }),
      /^GATEWAY_TLS_CERT_FILE must contain certificates as PEM, all of them whole/,
    ],
    [
      "a chain with a malformed certificate",
      () => write({ ...first, cert: `${first.cert}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n` }),
      /^GATEWAY_TLS_CERT_FILE must contain certificates as PEM, all of them whole/,
    ],
    [
      "a certificate instead",
      () => write({ ...first, key: first.cert }),
      /^GATEWAY_TLS_KEY_FILE must contain a private/,
    ],
    [
      "half a key",
      () => write({ ...first, key: first.key.slice(0, 90) }),
      /^GATEWAY_TLS_KEY_FILE must contain a private/,
    ],
    [
      "another key",
      () => write({ ...first, key: second.key }),
      /^GATEWAY_TLS_KEY_FILE must contain the private key of/,
    ],
    [
      "too large",
      () => write({ ...first, key: "x".repeat(2 ** 20 + 1) }),
      /^GATEWAY_TLS_KEY_FILE must be .* 1 MiB: \/.*key\.pem is larger$/,
    ],
  ])("are named: %s", async (_, lay, message) => {
    lay();
    expect(await problemOf()).toMatch(message);
  });

  it("are a key with a passphrase, and one that is too short for TLS", async () => {
    const options = { keyType: "rsa", keySize: 512, algorithm: "sha256" } as const;
    const weak = await generate([{ name: "commonName", value: "localhost" }], options);
    write({ cert: weak.cert, key: weak.private });
    expect(await problemOf()).toMatch(/^GATEWAY_TLS_CERT_FILE must contain certificates that TLS can use \(ERR_SSL_/);
    const sealed = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    write({ ...first, key: sealed });
    expect(await problemOf()).toMatch(/without a passphrase$/);
  });
});

describe("a change of the files", () => {
  it("is served when two readings are equal, and reported once", async () => {
    write(first);
    const { served, events } = await opened();
    const adopted: string[] = [];
    served.onChange(({ cert }) => void adopted.push(cert));
    await served.look();
    expect(events()).toEqual([]);
    write(second);
    await served.look();
    expect({ cert: served.now.cert, events: events() }).toEqual({ cert: first.cert, events: [] });
    await served.look();
    await served.look();
    expect({ cert: served.now.cert, adopted }).toEqual({ cert: second.cert, adopted: [second.cert] });
    expect(events()).toMatchObject([
      { level: 30, event: "tls_reloaded", expires_at: new Date(served.now.expiresAtMs).toISOString() },
    ]);
    expect(served.now.host).toBe("localhost");
  });

  it("keeps the old certificate while half of it is there, and reports it once without the key", async () => {
    write(first);
    const { served, events } = await opened();
    write({ cert: second.cert });
    for (let look = 0; look < 4; look += 1) await served.look();
    const [said, ...more] = events();
    expect({ more, cert: served.now.cert }).toEqual({ more: [], cert: first.cert });
    expect(said).toMatchObject({ level: 40, event: "tls_not_reloaded" });
    expect(said?.["reason"]).toMatch(/^GATEWAY_TLS_KEY_FILE must contain the private key of the first certificate/);
    expect(JSON.stringify(said)).not.toMatch(/PRIVATE KEY-----|gateway-tls/);
    write({ key: second.key });
    for (let look = 0; look < 2; look += 1) await served.look();
    expect(served.now.cert).toBe(second.cert);
    expect(events()).toMatchObject([{ event: "tls_reloaded" }]);
  });

  it("that is taken back leaves everything as it was, and a second bad change is reported again", async () => {
    write(first);
    const { served, events } = await opened();
    for (let round = 0; round < 2; round += 1) {
      write({ key: "half" });
      for (let look = 0; look < 2; look += 1) await served.look();
      expect(events()).toMatchObject([{ event: "tls_not_reloaded" }]);
      write(first);
      await served.look();
      expect({ cert: served.now.cert, events: events() }).toEqual({ cert: first.cert, events: [] });
    }
  });

  it("may be files that go away for a while", async () => {
    write(first);
    const { served, events } = await opened();
    rmSync(at("key.pem"));
    for (let look = 0; look < 2; look += 1) await served.look();
    expect(events()).toMatchObject([{ event: "tls_not_reloaded", reason: expect.stringMatching(/ENOENT/) as string }]);
    expect(served.now.cert).toBe(first.cert);
  });

  const inFolder = (name: string, { cert, key }: MadeCertificate): void => {
    mkdirSync(at(name));
    writeFileSync(join(at(name), "cert.pem"), cert);
    writeFileSync(join(at(name), "key.pem"), key);
  };
  const changed = async (change: () => void): Promise<void> => {
    const { served, events } = await opened();
    change();
    for (let look = 0; look < 2; look += 1) await served.look();
    expect(served.now.cert).toBe(second.cert);
    expect(events()).toMatchObject([{ event: "tls_reloaded" }]);
  };

  it("may be new files that are renamed over the old ones", async () => {
    write(first);
    await changed(() => {
      inFolder("new", second);
      for (const name of ["cert.pem", "key.pem"]) renameSync(join(at("new"), name), at(name));
    });
  });

  it("may be symbolic links to files, which are swapped one by one", async () => {
    inFolder("1", first);
    inFolder("2", second);
    for (const name of ["cert.pem", "key.pem"]) symlinkSync(join("1", name), at(name));
    await changed(() => {
      for (const name of ["cert.pem", "key.pem"]) {
        rmSync(at(name));
        symlinkSync(join("2", name), at(name));
      }
    });
  });

  it("may be a symbolic link to a folder, which is swapped at once", async () => {
    inFolder("..1", first);
    inFolder("..2", second);
    symlinkSync("..1", at("..data"));
    for (const name of ["cert.pem", "key.pem"]) symlinkSync(join("..data", name), at(name));
    await changed(() => {
      symlinkSync("..2", at("..new"));
      renameSync(at("..new"), at("..data"));
    });
  });
});

it("reports daily that a certificate has expired or will within two weeks, and still serves it", async () => {
  const clock = { nowMs: Date.now() };
  write(await makeCertificate([], new Date(clock.nowMs + 15 * DAY_MS)));
  const { served, events } = await opened(clock);
  const later = async (days: number): Promise<readonly unknown[]> => {
    clock.nowMs += days * DAY_MS;
    for (let look = 0; look < 2; look += 1) await served.look();
    return events().map(({ level, event }) => [level, event]);
  };
  expect(await later(0)).toEqual([]);
  expect(await later(1)).toEqual([[40, "tls_certificate_ends"]]);
  expect(await later(0.5)).toEqual([]);
  expect(await later(0.5)).toEqual([[40, "tls_certificate_ends"]]);
  expect(await later(20)).toEqual([[40, "tls_certificate_ended"]]);
  write(first);
  expect(await later(0)).toEqual([[30, "tls_reloaded"]]);
});
