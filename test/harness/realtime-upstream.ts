/**
 * An upstream that speaks OpenAI's Realtime API as its documents describe it. Its behaviour is written in the model's name: words,
 * separated by commas. It records every connection and what it was sent.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { type WebSocket, WebSocketServer } from "ws";
import { listen } from "../../infra/local/http/listen.ts";

type Event = Readonly<Record<string, unknown>>;

interface SeenConnection {
  readonly headers: IncomingHttpHeaders;
  readonly url: string;
  readonly events: Event[];
  readonly binary: Buffer[];
  readonly socket: WebSocket;
  closedWith: { readonly code: number; readonly reason: string } | null;
}

const idOf = (kind: string): string => `${kind}_${randomUUID().replaceAll("-", "").slice(0, 20)}`;

/** How many characters of audio the upstream hears before it takes a turn by itself. */
const TURN_CHARACTERS = 1_000;

/** What an upstream sends that never waits, and how much of it waits at the most. */
const FLOOD = randomBytes(64 * 1024);
const FLOOD_BYTES = 1024 * 1024;

export async function startRealtimeUpstream() {
  const seen: SeenConnection[] = [];
  const server = createServer((_, response) => response.writeHead(426).end());
  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => {
    const url = new URL(request.url ?? "/", "http://upstream");
    const words = new Map(
      (url.searchParams.get("model") ?? "").split(",").map((word) => word.split("=") as [string, string]),
    );
    const status = url.pathname.startsWith("/refuses/") ? "503" : words.get("refuse");
    if (status !== undefined) {
      const body = JSON.stringify({ error: { message: "not now", type: "server_error", code: "busy" } });
      socket.end(
        `HTTP/1.1 ${status} Refused\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
      );
      return;
    }
    sockets.handleUpgrade(request, socket, head, (client) => {
      const connection: SeenConnection = {
        headers: request.headers,
        url: request.url ?? "",
        events: [],
        binary: [],
        socket: client,
        closedWith: null,
      };
      seen.push(connection);
      speak(connection, url.searchParams.get("model") ?? "", words);
    });
  });
  const listening = await listen(server, "127.0.0.1", 0);
  return {
    url: `${listening.url}/v1`,
    /** An address whose upgrades are refused. */
    refusing: `${listening.url}/refuses/v1`,
    seen: (model: string): readonly SeenConnection[] =>
      seen.filter(({ url }) => new URL(url, "http://upstream").searchParams.get("model") === model),
    close: async (): Promise<void> => {
      for (const client of sockets.clients) client.terminate();
      await listening.close();
    },
  };
}

function speak(connection: SeenConnection, model: string, words: ReadonlyMap<string, string>): void {
  const { socket, events, binary } = connection;
  const send = (event: Event): void => socket.send(JSON.stringify({ event_id: idOf("event"), ...event }));
  let heard = 0;
  let held: Event | null = null;
  let session: Event = {
    type: "realtime",
    object: "realtime.session",
    id: idOf("sess"),
    model,
    output_modalities: [words.has("audio") ? "audio" : "text"],
    instructions: "You are helpful.",
    tools: [],
    audio: { input: { format: { type: "audio/pcm", rate: 24000 }, turn_detection: { type: "server_vad" } } },
  };

  const item = (role: string, content: readonly Event[]): Event => ({
    id: idOf("item"),
    object: "realtime.item",
    type: "message",
    status: "completed",
    role,
    content,
  });
  const added = (given: Event): void => {
    send({ type: "conversation.item.added", previous_item_id: null, item: given });
    send({ type: "conversation.item.done", previous_item_id: null, item: given });
  };
  const usage = (): Event => {
    const [input, output] = (words.get("usage") ?? "20/10").split("/").map(Number);
    return {
      total_tokens: (input ?? 0) + (output ?? 0),
      input_tokens: input,
      output_tokens: output,
      input_token_details: { text_tokens: (input ?? 0) - 4, audio_tokens: 4, cached_tokens: 2 },
      output_token_details: { text_tokens: (output ?? 0) - 3, audio_tokens: 3 },
    };
  };
  const done = (response: Event, status: string, output: readonly Event[]): void => {
    held = null;
    const reported = words.has("nousage") ? {} : { usage: usage() };
    const ends = { type: "response.done", response: { ...response, status, output, ...reported } };
    send(ends);
    if (words.has("twice")) send(ends);
  };
  const respond = (): void => {
    const response = { object: "realtime.response", id: idOf("resp"), status: "in_progress", output: [] };
    const text = words.get("text") ?? "hello brave world";
    const answer: Event = { ...item("assistant", []), status: "in_progress" };
    const at = { response_id: response.id, item_id: answer["id"], output_index: 0, content_index: 0 };
    const isAudio = words.has("audio");
    const kind = isAudio ? "output_audio_transcript" : "output_text";
    const part = isAudio ? { type: "output_audio", transcript: text } : { type: "output_text", text };
    send({ type: "response.created", response });
    if (words.has("drop")) {
      socket.terminate();
      return;
    }
    if (words.has("closes")) {
      socket.close(Number(words.get("closes")), "the upstream has closed");
      return;
    }
    send({ type: "response.output_item.added", response_id: response.id, output_index: 0, item: answer });
    send({ type: "conversation.item.added", previous_item_id: null, item: answer });
    send({ type: "response.content_part.added", ...at, part: { ...part, text: "" } });
    for (const delta of text.match(/\S+\s*/g) ?? []) {
      send({ type: `response.${kind}.delta`, ...at, delta });
      if (isAudio) send({ type: "response.output_audio.delta", ...at, delta: Buffer.alloc(4_800).toString("base64") });
    }
    if (words.has("hold")) {
      held = response;
      return;
    }
    const whole = { ...answer, status: "completed", content: [part] };
    send({ type: `response.${kind}.done`, ...at, ...(isAudio ? { transcript: text } : { text }) });
    send({ type: "response.content_part.done", ...at, part });
    send({ type: "response.output_item.done", response_id: response.id, output_index: 0, item: whole });
    send({ type: "conversation.item.done", previous_item_id: null, item: whole });
    done(response, "completed", [whole]);
  };
  const turn = (): void => {
    heard = 0;
    const id = idOf("item");
    send({ type: "input_audio_buffer.speech_started", audio_start_ms: 0, item_id: id });
    send({ type: "input_audio_buffer.speech_stopped", audio_end_ms: 500, item_id: id });
    send({ type: "input_audio_buffer.committed", previous_item_id: null, item_id: id });
    added({ ...item("user", [{ type: "input_audio", transcript: null }]), id });
    const transcribe = (): void => {
      const counts = { type: "tokens", total_tokens: 7, input_tokens: 5, output_tokens: 2 };
      const type = "conversation.item.input_audio_transcription.completed";
      const transcript = words.get("transcribes") ?? "hello";
      if (words.has("transcribes")) send({ type, item_id: id, content_index: 0, transcript, usage: counts });
    };
    if (!words.has("late")) transcribe();
    respond();
    if (words.has("late")) transcribe();
  };

  send({ type: "session.created", session });
  if (words.has("floods")) {
    const flooding = setInterval(() => {
      while (socket.readyState === socket.OPEN && socket.bufferedAmount < FLOOD_BYTES) socket.send(FLOOD);
    }, 5);
    socket.on("close", () => clearInterval(flooding));
  }
  socket.on("message", (data: Buffer, isBinary) => {
    if (isBinary) {
      binary.push(data);
      socket.send(data, { binary: true });
      return;
    }
    const event = JSON.parse(data.toString()) as Event;
    events.push(event);
    const refuse = (message: string): void =>
      send({
        type: "error",
        error: { type: "invalid_request_error", code: "invalid_value", message, event_id: event["event_id"] ?? null },
      });
    switch (event["type"]) {
      case "session.update":
        if (words.has("refuses-settings")) return refuse("no such settings");
        session = { ...session, ...(event["session"] as Event) };
        return send({ type: "session.updated", session });
      case "conversation.item.create":
        return added({ ...item("user", []), ...(event["item"] as Event) });
      case "conversation.item.delete":
        return send({ type: "conversation.item.deleted", item_id: event["item_id"] });
      case "conversation.item.retrieve": {
        const content = [{ type: "output_text", text: words.get("text") ?? "hello brave world" }];
        return send({ type: "conversation.item.retrieved", item: item("assistant", content) });
      }
      case "input_audio_buffer.append":
        heard += String(event["audio"]).length;
        return heard >= TURN_CHARACTERS && words.has("vad") ? turn() : undefined;
      case "input_audio_buffer.commit":
        return send({ type: "input_audio_buffer.committed", previous_item_id: null, item_id: idOf("item") });
      case "response.create":
        return words.has("refuses-responses") ? refuse("no response now") : respond();
      case "response.cancel":
        return held === null ? refuse("nothing to cancel") : done(held, "cancelled", []);
      default:
        return refuse(`unknown event ${String(event["type"])}`);
    }
  });
  socket.on("error", () => undefined);
  socket.on("close", (code, reason) => (connection.closedWith = { code, reason: reason.toString() }));
}
