/**
 * The reference compression sidecar over HTTP (docs/rules/compression.md#sidecar): `GET /health` and `POST /score`. It holds
 * no state; a body that is not of the documented shape is 400, one that is too large 413.
 */
import http from "node:http";
import type { AddressInfo } from "node:net";
import * as z from "zod";
import { scoreSentences } from "./bm25.ts";

const BODY_MAX_BYTES = 16 * 1024 * 1024;
const MODEL = "bm25-sentences";
const REVISION = "1";

const scoreBody = z.object({
  segments: z.array(z.object({ sentences: z.array(z.string()).max(10_000) })).max(1000),
  query: z.string(),
});

interface RunningCompressor {
  readonly url: string;
  readonly close: () => Promise<void>;
}

/** Starts the sidecar. Port 0: any free one. Rejects when it cannot listen there. */
export async function startCompressor(listen: {
  readonly host: string;
  readonly port: number;
}): Promise<RunningCompressor> {
  const server = http.createServer((request, response) => {
    answer(request).then(
      ({ status, body }) =>
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)),
      () => response.destroy(),
    );
  });
  const listening = Promise.withResolvers<void>();
  server.once("error", listening.reject).listen(listen.port, listen.host, listening.resolve);
  await listening.promise;
  const { port } = server.address() as AddressInfo;
  const host = listen.host.includes(":") ? `[${listen.host}]` : listen.host;
  return {
    url: `http://${host}:${port}`,
    close: async () => {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      await closed.promise;
    },
  };
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function answer(request: http.IncomingMessage): Promise<Answer> {
  if (request.method === "GET" && request.url === "/health") {
    return { status: 200, body: { status: "ok", model: MODEL, revision: REVISION } };
  }
  if (request.method !== "POST" || request.url !== "/score") return { status: 404, body: { error: "not found" } };
  const text = await bodyOf(request);
  if (text === null) return { status: 413, body: { error: `the body is larger than ${BODY_MAX_BYTES} bytes` } };
  const parsed = scoreBody.safeParse(jsonOf(text));
  if (!parsed.success) {
    return { status: 400, body: { error: "must be {segments: [{sentences: [string]}], query: string}" } };
  }
  const { segments, query } = parsed.data;
  const scores = scoreSentences(
    segments.map(({ sentences }) => sentences),
    query,
  );
  return { status: 200, body: { results: scores.map((each) => ({ scores: each })) } };
}

/** Null if the body is too large; the rest is not read. */
async function bodyOf(request: http.IncomingMessage): Promise<string | null> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request) {
    bytes += (piece as Buffer).byteLength;
    if (bytes > BODY_MAX_BYTES) return null;
    pieces.push(piece as Buffer);
  }
  return Buffer.concat(pieces).toString();
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
