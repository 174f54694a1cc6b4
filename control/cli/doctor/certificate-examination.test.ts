/** Certificates of real TLS servers, as clients on this machine see them. */
import { once } from "node:events";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { createSecureContext, createServer, TLSSocket } from "node:tls";
import { generate } from "selfsigned";
import { afterEach, expect, it } from "vitest";
import { certificateExamination, checkCertificate } from "./certificate-examination.ts";
import { runExaminations } from "./examination.ts";
import type { DoctorFinding } from "./finding.ts";
import { tlsEndpointOf } from "./tls-endpoint.ts";

const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 5, 1);
const WITHIN_MS = 10_000;

const open: Server[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map(async (server) => await new Promise((resolve) => server.close(resolve))));
});

async function made(days: number) {
  const now = Date.now();
  return await generate([{ name: "commonName", value: "localhost" }], {
    keyType: "ec",
    notBeforeDate: new Date(now - 90 * DAY_MS),
    notAfterDate: new Date(now + days * DAY_MS),
    extensions: [{ name: "subjectAltName", altNames: [{ type: 2, value: "localhost" }] }],
  });
}

async function listening(server: Server): Promise<number> {
  open.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

async function looked(port: number, startsWith: "tls" | "postgres" = "tls"): Promise<DoctorFinding | undefined> {
  const [examined] = await runExaminations(
    [certificateExamination({ host: "127.0.0.1", port, startsWith })],
    WITHIN_MS,
  );
  return examined?.findings[0];
}

it("that have expired, or that nobody trusts, are failures", async () => {
  const old = await made(-2);
  const port = await listening(createServer({ key: old.private, cert: old.cert }));
  expect(await looked(port)).toMatchObject({ state: "failure", detail: expect.stringMatching(/^expired on \d{4}-/) });
  const own = await made(100);
  const untrusted = await listening(createServer({ key: own.private, cert: own.cert }));
  expect(await looked(untrusted)).toMatchObject({
    state: "failure",
    detail: "clients refuse it: its certificate is self-signed",
    fix: expect.stringContaining("NODE_EXTRA_CA_CERTS"),
  });
});

it("of PostgreSQL are seen within its own protocol", async () => {
  const { private: key, cert } = await made(-2);
  const port = await listening(
    createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => {
        socket.write("S");
        const secure = new TLSSocket(socket, { isServer: true, secureContext: createSecureContext({ key, cert }) });
        secure.on("error", () => undefined);
      });
    }),
  );
  expect(await looked(port, "postgres")).toMatchObject({
    state: "failure",
    detail: expect.stringContaining("expired"),
  });
  const plain = await listening(createTcpServer((socket) => socket.once("data", () => socket.end("N"))));
  expect(await looked(plain, "postgres")).toMatchObject({ state: "failure", detail: expect.stringContaining("TLS") });
});

it("are failures within their time when the server speaks no TLS, is gone or never answers", async () => {
  const plain = await listening(createTcpServer((socket) => socket.once("data", () => socket.end("HTTP/1.1 400\r\n"))));
  expect(await looked(plain)).toMatchObject({ state: "failure", check: "certificate" });
  const gone = createTcpServer();
  const port = await listening(gone);
  open.pop();
  await new Promise((resolve) => gone.close(resolve));
  expect(await looked(port)).toMatchObject({ state: "failure", detail: "does not answer: nothing listens there" });
  const silent = await listening(createTcpServer((socket) => void socket.on("error", () => undefined).resume()));
  const [examined] = await runExaminations(
    [certificateExamination({ host: "127.0.0.1", port: silent, startsWith: "tls" })],
    100,
  );
  expect(examined?.findings).toMatchObject([{ state: "failure", detail: "was not examined within 0.1 s" }]);
});

it.each([
  [-1, "", "failure"],
  [0.5, "", "failure"],
  [2.5, "", "failure"],
  [20.5, "", "warning"],
  [21.5, "", "ok"],
  [90, "CERT_UNTRUSTED", "failure"],
])("with %d days left and the reason %j have the state %s", (days, code, state) => {
  const to = new Date(NOW_MS + days * DAY_MS).toUTCString();
  expect(checkCertificate("p", { from: new Date(NOW_MS - DAY_MS).toUTCString(), to, code }, NOW_MS).state).toBe(state);
});

it("of tomorrow are not valid yet", () => {
  const at = (days: number): string => new Date(NOW_MS + days * DAY_MS).toUTCString();
  expect(checkCertificate("p", { from: at(1), to: at(90), code: "CERT_NOT_YET_VALID" }, NOW_MS)).toMatchObject({
    state: "failure",
    detail: "is not valid yet",
  });
});

it("are looked at where an address is used with TLS, and only there", () => {
  expect(tlsEndpointOf("https://a.example/x")).toEqual({ host: "a.example", port: 443, startsWith: "tls" });
  expect(tlsEndpointOf("https://[::1]:8443")).toEqual({ host: "::1", port: 8443, startsWith: "tls" });
  expect(tlsEndpointOf("rediss://:p@r.example")).toEqual({ host: "r.example", port: 6379, startsWith: "tls" });
  expect(tlsEndpointOf("postgres://u:p@d.example/g?sslmode=verify-full")).toEqual({
    host: "d.example",
    port: 5432,
    startsWith: "postgres",
    trust: { isAnything: false, options: {} },
  });
  for (const plain of ["http://a.example", "redis://r.example", "postgres://u:p@d.example/g", "pglite:x", "nothing"])
    expect(tlsEndpointOf(plain)).toBeNull();
});
