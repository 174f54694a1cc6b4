/**
 * Mail over STARTTLS with a password, to a real mail server that has a certificate of its own.
 *
 * @module-tag check
 */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import tls from "node:tls";
import { generate } from "selfsigned";
import { SMTPServer } from "smtp-server";
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { waitFor } from "../../test/harness/wait-for.ts";
import { sendMail } from "./channels.ts";

const MESSAGE = { issueKey: "an_issue", title: "A title", detail: "what happened", repeats: 0, consoleUrl: null };
const SENT = { ok: true, detail: "sent" };

let server: SMTPServer;
let certificate: string;
let port: number;
const trusted = tls.getCACertificates("default");
/** Logins and mails that arrived, each with whether that was within TLS. */
const logins: (readonly [user: string, secure: boolean])[] = [];
const mails: (readonly [text: string, secure: boolean])[] = [];

beforeAll(async () => {
  const made = await generate([{ name: "commonName", value: "localhost" }], {
    extensions: [{ name: "subjectAltName", altNames: [{ type: 2, value: "localhost" }] }],
  });
  certificate = made.cert;
  server = new SMTPServer({
    key: made.private,
    cert: certificate,
    onAuth: ({ username, password }, { secure }, done) => {
      logins.push([username ?? "", secure]);
      if (password === "right") done(null, { user: username });
      else done(new Error(`no such password: ${password}`));
    },
    onData: (stream, { secure }, done) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        mails.push([Buffer.concat(chunks).toString(), secure]);
        done();
      });
    },
  });
  server.on("error", () => undefined); // a client that closes the connection while TLS begins
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  ({ port } = server.server.address() as AddressInfo);
});
afterAll(async () => {
  tls.setDefaultCACertificates(trusted);
  await new Promise<void>((resolve) => server.close(() => resolve()));
});
beforeEach(() => {
  tls.setDefaultCACertificates([...trusted, certificate]);
  logins.length = 0;
  mails.length = 0;
});

const email = () => ({
  smtp_host: "localhost",
  smtp_port: port,
  username: "ops",
  from_address: "gateway@localhost",
  recipients: ["one@example.org", "two@example.org"],
  starttls: true,
});

it("is delivered within TLS, after a login within TLS", async () => {
  expect(await sendMail(email(), "right", MESSAGE)).toEqual(SENT);
  expect(logins).toEqual([["ops", true]]);
  expect(mails.map(([, secure]) => secure)).toEqual([true]);
  expect(mails[0]?.[0]).toMatch(/^Subject: Gateway alert: A title\r$/m);
  expect(mails[0]?.[0]).toContain("Issue: an_issue\r\n\r\nwhat happened");
});

it("says that the server refused the credentials, without the password", async () => {
  const result = await sendMail(email(), "wrong-secret", MESSAGE);
  expect(result).toEqual({ ok: false, detail: "the server refused the credentials" });
  expect({ loginCount: logins.length, mailCount: mails.length }).toEqual({ loginCount: 2, mailCount: 0 });
});

it("sends nothing to a mail server whose certificate is not trusted, and gives the reason", async () => {
  tls.setDefaultCACertificates(trusted);
  const result = await sendMail(email(), "right", MESSAGE);
  expect(result).toMatchObject({ ok: false, detail: "the server's certificate is not trusted" });
  expect({ logins, mails }).toEqual({ logins: [], mails: [] });
});

it("is given up when the server never stops talking, and its connections end", async () => {
  const open = new Set<unknown>();
  const talking = createServer((socket) => {
    open.add(socket);
    socket.write("220 hello\r\n");
    const talk = setInterval(() => socket.write("250-and another thing\r\n"), 20);
    socket
      .on("error", () => undefined)
      .on("close", () => {
        clearInterval(talk);
        open.delete(socket);
      });
  });
  onTestFinished(() => void talking.close());
  talking.listen(0, "127.0.0.1");
  await once(talking, "listening");
  const to = { ...email(), smtp_port: (talking.address() as AddressInfo).port, username: "", starttls: false };
  expect(await sendMail(to, null, MESSAGE, 300)).toEqual({ ok: false, detail: "timeout", again: { afterMs: null } });
  await waitFor(
    () => open.size,
    (size) => size === 0,
  );
});

it("is one mail to its recipients, whatever its title and text contain", async () => {
  const message = {
    title: "Modell\r\nBcc: thief@example.org\r\n\r\nfällt aus",
    issueKey: "model_health_down:a\r\nb",
    detail: "a\u001b[2J\r\n.\r\nMAIL FROM:<x> https://evil.example www.evil.example",
    repeats: 0,
    consoleUrl: null,
  };
  expect(await sendMail(email(), "right", message)).toEqual(SENT);
  expect(mails).toHaveLength(1);
  const [head = "", ...body] = (mails[0]?.[0] ?? "").split("\r\n\r\n");
  expect(head).not.toMatch(/^Bcc:/im);
  const encoded = [...head.matchAll(/=\?UTF-8\?Q\?(.*?)\?=/gi)].map(([, word = ""]) => word).join("");
  const words = Buffer.from(
    encoded
      .replaceAll("_", " ")
      .replace(/=([0-9A-F]{2})/g, (_found, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  ).toString("utf8");
  expect(words || head).toContain("Modell Bcc: thief@example.org fällt aus");
  const text = body.join("\r\n\r\n");
  expect(text).toContain("Issue: model_health_down:a b\r\n\r\na [2J . MAIL FROM:<x>");
  expect(text).not.toMatch(/:\/\/evil|www\.evil/);
});
