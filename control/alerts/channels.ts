/**
 * Sends one message on one channel (docs/rules/alerts.md#channels). A failed attempt is repeated once, unless the receiver asks to
 * wait. The failure is then described in a few words of our own, which can contain neither the webhook's URL nor the mail password.
 */
import type { Socket } from "node:net";
import { callbackify } from "node:util";
import { createTransport } from "nodemailer";
import { INFRASTRUCTURE_POLICY, type SsrfPolicy } from "../../shared/network/ssrf.ts";
import type { ChannelResult, EmailValue } from "../../shared/schema/settings/alerts.ts";
import { oneLine } from "../../shared/text/printable.ts";
import { rootCause } from "../../shared/text/root-cause.ts";
import { fetchReading, OutboundError } from "../kernel/outbound/bounded-fetch.ts";
import { BlockedAddressError, guardedSocket } from "../kernel/outbound/guarded-connections.ts";
import { alertOf, runbookOf, severityOf } from "./alert-kinds.ts";
import { chatCode, chatText, withoutLinks } from "./chat-text.ts";

const DETAIL_MAX = 500;
const WEBHOOK_TIMEOUT_MS = 10_000;
const SMTP_TIMEOUT_MS = 20_000;

/** A message: key and title of the issue, one line of detail. */
export interface AlertMessage {
  readonly issueKey: string;
  readonly title: string;
  /** Without the number of repeats. */
  readonly detail: string;
  /** How many times the issue was raised again since the message before. */
  readonly repeats: number;
  /** Where people open the console; null: it is not known. */
  readonly consoleUrl: string | null;
}

/** How a message went, without the channel's name. */
export interface Outcome extends Pick<ChannelResult, "ok" | "detail"> {
  /** A failure that may pass, and how long the receiver asks to wait; null: it does not say. */
  readonly again?: { readonly afterMs: number | null };
}

/** The receiver has no room for the message now. */
class BusyError extends OutboundError {
  readonly afterMs: number | null;

  constructor(status: number, retryAfter: string | null, nowMs: number) {
    super(`http ${status}`, status);
    const ms = retryAfter === null ? Number.NaN : Number(retryAfter) * 1000 || Date.parse(retryAfter) - nowMs;
    this.afterMs = Number.isFinite(ms) ? ms : null;
  }
}

/** The alert in the console; null: it is not known where people open the console. */
function alertUrl({ issueKey, consoleUrl }: AlertMessage): string | null {
  if (consoleUrl === null) return null;
  return `${consoleUrl.replace(/\/+$/, "")}/alerts?key=${encodeURIComponent(issueKey)}`;
}

/** The last lines of a message: how urgent it is, and where to go. */
function endingOf(message: AlertMessage): string {
  const url = alertUrl(message);
  const lines = [`Severity: ${severityOf(message.issueKey)}`, `Runbook: ${runbookOf(message.issueKey)}`];
  return [...lines, ...(url === null ? [] : [`Console: ${url}`])].join("\n");
}

/** A message shows the issue as raised once, and says how many repeats were suppressed. */
function withRepeats({ detail, repeats }: AlertMessage): string {
  if (repeats === 0) return detail;
  const ending = ` (${repeats} repeats suppressed)`;
  return `${detail.slice(0, DETAIL_MAX - ending.length)}${ending}`;
}

/** What a chat gets that takes Slack's form. */
function chatBody(message: AlertMessage): object {
  const { issueKey, title } = message;
  const head = `*Gateway alert: ${chatText(title)}*\n*Issue:* \`${chatCode(issueKey)}\`\n${chatText(withRepeats(message))}`;
  return { text: `${head}\n${endingOf(message)}`, unfurl_links: false, unfurl_media: false };
}

/** What a program gets. */
function jsonBody(message: AlertMessage): object {
  const { issueKey, title, detail, repeats } = message;
  return {
    key: issueKey,
    kind: alertOf(issueKey) ?? null,
    title: oneLine(title),
    detail: oneLine(detail),
    severity: severityOf(issueKey),
    repeats,
    runbook: runbookOf(issueKey),
    console_url: alertUrl(message),
  };
}

/** Posts a message to a webhook: to a chat, or as a JSON object for a program. */
export async function sendToWebhook(
  type: "slack" | "webhook",
  url: string,
  policy: SsrfPolicy,
  message: AlertMessage,
): Promise<Outcome> {
  const body = JSON.stringify(type === "slack" ? chatBody(message) : jsonBody(message));
  const headers = { "content-type": "application/json" };
  return await twice(async () => {
    const call = { url, timeoutMs: WEBHOOK_TIMEOUT_MS, headers, policy };
    await fetchReading(call, { method: "POST", body }, async (response) => {
      await response.body?.cancel();
      const { status, ok } = response;
      const retryAfter = response.headers.get("retry-after");
      if (status === 429 || (status === 503 && retryAfter !== null))
        throw new BusyError(status, retryAfter, Date.now());
      if (!ok) throw new OutboundError(`http ${status}`, status);
    });
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
): Promise<Outcome> {
  const { issueKey, title } = message;
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
    return await twice(async () => {
      await within(
        timeoutMs,
        transport.sendMail({
          from: email.from_address,
          to: email.recipients,
          subject: `Gateway alert: ${oneLine(title)}`,
          text: `Issue: ${oneLine(issueKey)}\n\n${withoutLinks(withRepeats(message))}\n\n${endingOf(message)}`,
        }),
      );
    });
  } finally {
    transport.close();
    // the library leaves a connection open for as long as the server keeps saying something
    for (const socket of sockets) socket.destroy();
  }
}

async function twice(send: () => Promise<void>): Promise<Outcome> {
  try {
    await send().catch(async (error: unknown) => {
      if (error instanceof BusyError) throw error;
      await send();
    });
    return { ok: true, detail: "sent" };
  } catch (error) {
    const detail = reasonOf(error);
    if (!mayPass(error)) return { ok: false, detail };
    return { ok: false, detail, again: { afterMs: error instanceof BusyError ? error.afterMs : null } };
  }
}

/** False when the receiver answered that it does not take the message: it will not take it later either. */
function mayPass(error: unknown): boolean {
  if (error instanceof BusyError) return true;
  if (error instanceof OutboundError) return error.status === null || error.status === 408 || error.status >= 500;
  if (error instanceof BlockedAddressError) return false;
  const { code, responseCode } = error as Readonly<Record<string, unknown>>;
  if (typeof responseCode === "number") return responseCode < 500;
  return code !== "EAUTH" && code !== "ETLS" && code !== "EENVELOPE";
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
