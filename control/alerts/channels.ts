/**
 * Sends one message on one channel of the alert settings (docs/rules/alerts.md#channels). A failed attempt is repeated
 * once. The failure is then described in a few words of our own, which can contain neither the webhook's URL nor the
 * mail password.
 */
import type { Socket } from "node:net";
import { callbackify } from "node:util";
import { createTransport } from "nodemailer";
import { INFRASTRUCTURE_POLICY, type SsrfPolicy } from "../../shared/network/ssrf.ts";
import type { ChannelResult, EmailValue } from "../../shared/schema/settings/alerts.ts";
import { oneLine } from "../../shared/text/printable.ts";
import { rootCause } from "../../shared/text/root-cause.ts";
import { fetchStatus, OutboundError } from "../kernel/outbound/bounded-fetch.ts";
import { BlockedAddressError, guardedSocket } from "../kernel/outbound/guarded-connections.ts";
import { runbookOf, severityOf } from "./alert-kinds.ts";
import { chatCode, chatText, withoutLinks } from "./chat-text.ts";

const WEBHOOK_TIMEOUT_MS = 10_000;
const SMTP_TIMEOUT_MS = 20_000;

/** A message: key and title of the issue, one line of detail. */
export interface AlertMessage {
  readonly issueKey: string;
  readonly title: string;
  readonly detail: string;
  /** Where people open the console; null: it is not known. */
  readonly consoleUrl: string | null;
}

/** The last lines of a message: how urgent it is, and where to go. */
function endingOf({ issueKey, consoleUrl }: AlertMessage): string {
  const lines = [`Severity: ${severityOf(issueKey)}`, `Runbook: ${runbookOf(issueKey)}`];
  return [...lines, ...(consoleUrl === null ? [] : [`Console: ${consoleUrl}`])].join("\n");
}

/** Posts a message to the chat webhook. */
export async function sendToWebhook(url: string, policy: SsrfPolicy, message: AlertMessage): Promise<ChannelResult> {
  const { issueKey, title, detail } = message;
  const head = `*Gateway alert: ${chatText(title)}*\n*Issue:* \`${chatCode(issueKey)}\`\n${chatText(detail)}`;
  const text = `${head}\n${endingOf(message)}`;
  const body = JSON.stringify({ text, unfurl_links: false, unfurl_media: false });
  const headers = { "content-type": "application/json" };
  return await twice("slack", async () => {
    const status = await fetchStatus({ url, timeoutMs: WEBHOOK_TIMEOUT_MS, headers, policy }, { body });
    if (status < 200 || status > 299) throw new OutboundError(`http ${status}`);
  });
}

/**
 * Mails a message to every recipient; `password` is the opened secret. With `starttls` nothing is sent over a connection
 * without TLS.
 */
export async function sendMail(
  email: Omit<EmailValue, "smtp_password">,
  password: string | null,
  message: AlertMessage,
  timeoutMs = SMTP_TIMEOUT_MS,
): Promise<ChannelResult> {
  const { issueKey, title, detail } = message;
  const to = { host: email.smtp_host, port: email.smtp_port };
  const sockets: Socket[] = [];
  const connect = callbackify(async () => {
    const connection = await guardedSocket(to, INFRASTRUCTURE_POLICY, timeoutMs);
    sockets.push(connection);
    return { connection };
  });
  const transport = createTransport({
    host: email.smtp_host,
    port: email.smtp_port,
    secure: false,
    requireTLS: email.starttls,
    ignoreTLS: !email.starttls,
    ...(email.username === "" ? {} : { auth: { user: email.username, pass: password ?? "" } }),
    // the library would resolve the name itself, and connect to whatever address the name has by then
    getSocket: (_options: unknown, done: Parameters<typeof connect>[0]) => connect(done),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
  });
  try {
    return await twice("email", async () => {
      await within(
        timeoutMs,
        transport.sendMail({
          from: email.from_address,
          to: email.recipients,
          subject: `Gateway alert: ${oneLine(title)}`,
          text: `Issue: ${oneLine(issueKey)}\n\n${withoutLinks(detail)}\n\n${endingOf(message)}`,
        }),
      );
    });
  } finally {
    transport.close();
    // the library leaves a connection open for as long as the server keeps saying something
    for (const socket of sockets) socket.destroy();
  }
}

async function twice(channel: ChannelResult["channel"], send: () => Promise<void>): Promise<ChannelResult> {
  try {
    await send().catch(send);
    return { channel, ok: true, detail: "sent" };
  } catch (error) {
    return { channel, ok: false, detail: reasonOf(error) };
  }
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new OutboundError("timeout")), ms);
  try {
    await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Reasons by the mail library's codes; the server's own words may quote what it was sent. */
const SMTP_REASONS: Readonly<Record<string, string>> = {
  EAUTH: "the server refused the credentials",
  ETLS: "the server offers no TLS",
  ECONNECTION: "connect failed",
  ESOCKET: "connect failed",
  EDNS: "the host does not resolve",
  ENOTFOUND: "the host does not resolve",
  EAI_AGAIN: "the host does not resolve",
  ETIMEDOUT: "timeout",
  EENVELOPE: "the server refused the sender or a recipient",
};

/** The error codes by which Node reports a certificate that it does not accept. */
const UNTRUSTED = /CERT|VERIFY_LEAF/;

function reasonOf(error: unknown): string {
  if (error instanceof OutboundError)
    return error.cause === undefined ? error.message : `${error.message}: ${rootCause(error)}`;
  if (error instanceof BlockedAddressError) return "address blocked";
  const { code, originalCode, responseCode } = error as Readonly<Record<string, unknown>>;
  // the mail library's own code is the same for every failed connection
  if (typeof originalCode === "string" && UNTRUSTED.test(originalCode))
    return "the server's certificate is not trusted";
  const known = typeof code === "string" ? SMTP_REASONS[code] : undefined;
  if (known !== undefined) return known;
  return typeof responseCode === "number" ? `the server answered ${responseCode}` : "connect failed";
}
