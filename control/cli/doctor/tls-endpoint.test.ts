/**
 * The certificates of databases, as the driver that connects to them sees them: the doctor refuses what the driver refuses, and
 * nothing else.
 *
 * @module-tag check
 */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSecureContext, TLSSocket } from "node:tls";
import pg from "pg";
import { generate } from "selfsigned";
import { afterAll, beforeAll, expect, it } from "vitest";
import { certificateExamination } from "./certificate-examination.ts";
import { databaseExamination } from "./database-examination.ts";
import { runExaminations } from "./examination.ts";
import type { DoctorFinding } from "./finding.ts";
import { tlsEndpointOf } from "./tls-endpoint.ts";
import { codeOf } from "./unreachable.ts";

const DAY_MS = 86_400_000;
const WITHIN_MS = 10_000;
const WRONG_PASSWORD = "28P01";

let folder: string;
let current: Server;
let expired: Server;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "gateway-authorities-"));
  const authority = await authorityIn("ca.pem");
  await authorityIn("other.pem");
  current = await database(await certificate(authority, 90));
  expired = await database(await certificate(authority, -2));
});
afterAll(() => {
  for (const server of [current, expired]) server.close();
  rmSync(folder, { recursive: true });
});

interface KeyPair {
  readonly key: string;
  readonly cert: string;
}

async function authorityIn(file: string): Promise<KeyPair> {
  const { private: key, cert } = await generate([{ name: "commonName", value: `authority of ${file}` }], {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "keyUsage", keyCertSign: true, critical: true },
    ],
  });
  writeFileSync(join(folder, file), cert);
  return { key, cert };
}

/** For the name localhost alone. */
async function certificate(ca: KeyPair, days: number): Promise<KeyPair> {
  const now = Date.now();
  const { private: key, cert } = await generate([{ name: "commonName", value: "localhost" }], {
    keyType: "ec",
    algorithm: "sha256",
    ca,
    notBeforeDate: new Date(now - 90 * DAY_MS),
    notAfterDate: new Date(now + days * DAY_MS),
    extensions: [{ name: "subjectAltName", altNames: [{ type: 2, value: "localhost" }] }],
  });
  return { key, cert };
}

/** Speaks TLS as PostgreSQL does, and accepts no password. */
async function database(pair: KeyPair): Promise<Server> {
  const fields = Buffer.from(`SFATAL\0C${WRONG_PASSWORD}\0Mno\0\0`);
  const length = Buffer.alloc(4);
  length.writeInt32BE(fields.length + 4);
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      socket.write("S");
      const secure = new TLSSocket(socket, { isServer: true, secureContext: createSecureContext(pair) });
      secure.on("error", () => undefined);
      secure.once("data", () => secure.end(Buffer.concat([Buffer.from("E"), length, fields])));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** CA and OTHER stand for the files of the authorities. */
function urlOf(server: Server, host: string, query: string): string {
  const { port } = server.address() as AddressInfo;
  const files = query.replace("CA", join(folder, "ca.pem")).replace("OTHER", join(folder, "other.pem"));
  return `postgres://u:p@${host}:${port}/g?${files}`;
}

async function looked(url: string): Promise<DoctorFinding | undefined> {
  const endpoint = tlsEndpointOf(url);
  if (endpoint === null) throw new Error(`no TLS: ${url}`);
  const [examined] = await runExaminations([certificateExamination(endpoint)], WITHIN_MS);
  return examined?.findings[0];
}

/** Whether the driver gets as far as its password. */
async function isAcceptedByDriver(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  const error: unknown = await client.connect().catch((thrown: unknown) => thrown);
  return codeOf(error) === WRONG_PASSWORD;
}

it.each([
  ["localhost", "sslmode=verify-full", "failure"],
  ["localhost", "sslmode=require", "failure"],
  ["localhost", "ssl=true", "failure"],
  ["localhost", "sslmode=verify-full&sslrootcert=CA", "ok"],
  ["localhost", "sslrootcert=CA", "ok"],
  ["localhost", "sslmode=verify-full&sslrootcert=OTHER", "failure"],
  ["127.0.0.1", "sslmode=verify-full&sslrootcert=CA", "failure"],
  ["127.0.0.1", "sslmode=no-verify", "ok"],
  ["127.0.0.1", "ssl=no-verify", "ok"],
  ["127.0.0.1", "uselibpqcompat=true&sslmode=require", "ok"],
  ["127.0.0.1", "uselibpqcompat=true&sslmode=prefer", "ok"],
  ["127.0.0.1", "uselibpqcompat=true&sslmode=require&sslrootcert=CA", "ok"],
  ["127.0.0.1", "uselibpqcompat=true&sslmode=verify-ca&sslrootcert=CA", "ok"],
  ["127.0.0.1", "uselibpqcompat=true&sslmode=verify-ca&sslrootcert=OTHER", "failure"],
  ["localhost", "uselibpqcompat=true&sslmode=verify-full", "failure"],
])("of %s with %s are checked as the driver checks them: %s", async (host, query, state) => {
  const url = urlOf(current, host, query);
  const detail = expect.stringMatching(state === "ok" ? "^is valid until " : "^clients refuse it: its ");
  expect(await looked(url)).toMatchObject({ check: "certificate", state, detail });
  expect(await isAcceptedByDriver(url)).toBe(state === "ok");
});

it.each(["sslmode=no-verify", "uselibpqcompat=true&sslmode=require", "sslmode=verify-full&sslrootcert=CA"])(
  "that have expired are failures with %s too",
  async (query) => {
    const detail = expect.stringMatching(/^expired on \d{4}-/);
    expect(await looked(urlOf(expired, "localhost", query))).toMatchObject({ state: "failure", detail });
  },
);

it("are not looked at where the driver uses none", () => {
  for (const query of ["", "sslmode=disable", "host=/var/run/postgresql&sslmode=require"])
    expect(tlsEndpointOf(urlOf(current, "localhost", query))).toBeNull();
});

it("of an authority whose file is missing are reported once, by the database", async () => {
  const url = urlOf(current, "localhost", "sslmode=verify-full&sslrootcert=/nowhere/ca.pem");
  expect(tlsEndpointOf(url)).toBeNull();
  const [examined] = await runExaminations([databaseExamination(url, WITHIN_MS)], WITHIN_MS);
  expect(examined?.findings).toMatchObject([
    {
      state: "failure",
      detail: "has an address with a file that cannot be read",
      fix: expect.stringContaining("sslrootcert"),
    },
  ]);
});
