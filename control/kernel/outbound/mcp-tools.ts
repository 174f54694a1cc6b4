/**
 * The control service as the client of an MCP server (streamable HTTP), to see whether it answers as one
 * (docs/rules/mcp.md#test). What a server answers is hostile: it is read within bounds, and only what has the expected
 * shape. Errors are in words of our own.
 */
import type { Response } from "undici";
import { z } from "zod";
import type { SsrfPolicy } from "../../../shared/network/ssrf.ts";
import { oneLine } from "../../../shared/text/printable.ts";
import { EventReader } from "../../../shared/wire/event-reader.ts";
import {
  INITIALIZE_PARAMS,
  protocolVersionOf,
  type RpcReply,
  received,
  rpcNotification,
  rpcRequest,
} from "../../../shared/wire/json-rpc.ts";
import { ANSWER_PARTS, hasMoreParts } from "../json-parts.ts";
import { fetchReading, OutboundError } from "./bounded-fetch.ts";

const REPLY_MAX_BYTES = 1024 * 1024;
const PAGES_MAX = 20;
const TOOLS_MAX = 256;
const NAME_MAX_CHARACTERS = 200;
/** Most requests of a server that are answered while it works on one of ours. */
const ANSWERS_MAX = 16;
/** The end of a session is not worth more waiting. */
const END_WITHIN_MS = 2000;

interface ToolServer {
  readonly url: string;
  /** The complete Authorization value; null: none is sent. */
  readonly authorization: string | null;
  readonly policy: SsrfPolicy;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const headerText = z.string().max(1000);
const toolsSchema = z.object({
  tools: z.array(z.unknown()),
  nextCursor: z.string().max(4096).optional().catch(undefined),
});
const toolSchema = z.object({ name: z.string().min(1) });

/** The names of the server's tools, safe to show; at most 256. Throws OutboundError. */
export async function listMcpTools(server: ToolServer): Promise<readonly string[]> {
  const deadline = AbortSignal.timeout(server.timeoutMs);
  const within = { ...server, signal: AbortSignal.any([server.signal, deadline]) };
  let session: Readonly<Record<string, string>> | null = null;
  try {
    const begun = await ask(within, {}, 1, "initialize", INITIALIZE_PARAMS);
    if (begun.reply.kind === "error") throw new OutboundError("no session");
    const version = protocolVersionOf(begun.reply.result);
    session = {
      ...(begun.sessionId === null ? {} : { "mcp-session-id": begun.sessionId }),
      ...(version === null ? {} : { "mcp-protocol-version": version }),
    };
    await send(within, session, rpcNotification("notifications/initialized"), discard);
    return await pages(within, session);
  } catch (error) {
    throw deadline.aborted ? new OutboundError("timeout") : error;
  } finally {
    if (session?.["mcp-session-id"] !== undefined) await end(server, session);
  }
}

async function pages(server: ToolServer, session: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const names: string[] = [];
  const cursors = new Set<string>();
  let cursor: string | undefined;
  for (let page = 1; page <= PAGES_MAX && names.length < TOOLS_MAX; page += 1) {
    const { reply } = await ask(server, session, page + 1, "tools/list", cursor === undefined ? {} : { cursor });
    // A server without tools need not know the method.
    if (reply.kind === "error" && reply.methodUnknown) break;
    const listed = reply.kind === "result" ? toolsSchema.safeParse(reply.result).data : undefined;
    if (listed === undefined) throw new OutboundError("no list of tools");
    names.push(...listed.tools.slice(0, TOOLS_MAX).flatMap(nameOf));
    cursor = listed.nextCursor;
    if (cursor === undefined || cursor === "" || cursors.has(cursor)) break;
    cursors.add(cursor);
  }
  return names.slice(0, TOOLS_MAX);
}

function nameOf(tool: unknown): readonly string[] {
  const name = toolSchema.safeParse(tool).data?.name;
  return name === undefined ? [] : [oneLine(name.slice(0, NAME_MAX_CHARACTERS)).toWellFormed()];
}

/** The reply to one request, and the session that its answer names. Throws OutboundError. */
async function ask(
  server: ToolServer,
  session: Readonly<Record<string, string>>,
  id: number,
  method: string,
  params: object,
): Promise<{ readonly reply: RpcReply; readonly sessionId: string | null }> {
  let answersLeft = ANSWERS_MAX;
  // Nobody waits for what a server asks; whether it gets its answer is its own affair.
  const answer = (text: string): void => {
    answersLeft -= 1;
    if (answersLeft >= 0) send(server, session, text, discard).catch(() => undefined);
  };
  return await send(server, session, rpcRequest(id, method, params), async (response) => {
    if (!response.ok) {
      await discard(response);
      throw new OutboundError(`http ${response.status}`, response.status);
    }
    const reply = await firstReply(response, id, answer);
    if (reply === null) throw new OutboundError("no reply to the request");
    return { reply, sessionId: headerText.safeParse(response.headers.get("mcp-session-id")).data ?? null };
  });
}

async function send<T>(
  { url, authorization, policy, timeoutMs, signal }: ToolServer,
  session: Readonly<Record<string, string>>,
  body: string | null,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const headers = {
    accept: "application/json, text/event-stream",
    ...(body === null ? {} : { "content-type": "application/json" }),
    ...session,
    ...(authorization === null ? {} : { authorization }),
  };
  return await fetchReading(
    { url, timeoutMs, headers, policy, signal },
    { method: body === null ? "DELETE" : "POST", body },
    read,
  );
}

/** Ends the session; a server that does not let it end keeps it. */
async function end(server: ToolServer, session: Readonly<Record<string, string>>): Promise<void> {
  const alone = { ...server, timeoutMs: END_WITHIN_MS, signal: AbortSignal.timeout(END_WITHIN_MS) };
  await send(alone, session, null, discard).catch(() => undefined);
}

async function discard(response: Response): Promise<void> {
  await response.body?.cancel();
}

/**
 * The reply with this id, in a JSON body or in an event stream, which is read no further; null if there is none.
 * `answer` gets what the server's own requests are answered with.
 */
async function firstReply(response: Response, id: number, answer: (text: string) => void): Promise<RpcReply | null> {
  const isStream = /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
  const events = isStream ? new EventReader(REPLY_MAX_BYTES) : null;
  const decoder = new TextDecoder();
  const pieces: string[] = [];
  let bytes = 0;
  const replyIn = (text: string): RpcReply | null => {
    if (hasMoreParts(Buffer.from(text), ANSWER_PARTS)) throw new OutboundError("answer too large");
    const { reply, answers } = received(text, id);
    for (const one of answers) answer(one);
    return reply;
  };
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > REPLY_MAX_BYTES) throw new OutboundError("answer too large");
    if (events === null) pieces.push(decoder.decode(chunk, { stream: true }));
    for (const message of events?.push(chunk) ?? []) {
      const reply = replyIn(message);
      if (reply !== null) return reply;
    }
  }
  if (events === null) return replyIn(pieces.join("") + decoder.decode());
  return events.finish().reduce<RpcReply | null>((found, message) => found ?? replyIn(message), null);
}
