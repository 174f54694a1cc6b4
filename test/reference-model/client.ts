/** The clients of the reference model: they send a call byte by byte as it is planned, and record what they got. */
import { type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Call, Got } from "./facts.ts";

/** Sends a call; resolves when its answer, or its connection, has ended. */
export async function sendCall(proxyUrl: string, call: Call): Promise<Got> {
  const got: Got = { startMs: Date.now(), endMs: 0, status: null, headers: {}, text: "", whole: false, left: false };
  if (call.leave !== null && call.leave.when !== "pieces") await leaveEarly(proxyUrl, call, got);
  else await sendWhole(proxyUrl, call, got);
  got.endMs = Date.now();
  return got;
}

async function sendWhole(proxyUrl: string, call: Call, got: Got): Promise<void> {
  const { hostname, port } = new URL(proxyUrl);
  const { method, path, body } = call;
  const headers = { ...call.headers, ...(body.length > 0 ? { "content-length": String(body.length) } : {}) };
  await new Promise<void>((resolve) => {
    const outgoing = request({ hostname, port, path, method, headers, agent: false }, (incoming: IncomingMessage) => {
      got.status = incoming.statusCode ?? null;
      got.headers = incoming.headers;
      incoming.setEncoding("utf8");
      incoming.on("data", (text: string) => {
        got.text += text;
        if (call.leave?.when === "pieces" && countPieces(got.text) >= call.leave.pieces) {
          got.left = true;
          outgoing.destroy();
        }
      });
      incoming.on("end", () => {
        got.whole = incoming.complete;
      });
      incoming.on("error", () => undefined);
      incoming.on("close", resolve);
    });
    outgoing.on("error", () => resolve());
    outgoing.end(body);
  });
}

const countPieces = (text: string): number => (text.match(/wwwwwww /g) ?? []).length;

/** Sends the head and some of the body and leaves without having read anything. */
async function leaveEarly(proxyUrl: string, call: Call, got: Got): Promise<void> {
  const { hostname, port, host } = new URL(proxyUrl);
  const socket = await connected(hostname, Number(port));
  const { leave, method, path, body } = call;
  const lines = Object.entries({ host, "content-length": String(body.length), ...call.headers });
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
  socket.write(leave?.when === "half" ? body.subarray(0, body.length / 2) : body);
  if (leave?.when === "after") await pause(leave.ms);
  // Another request that came later was answered, so the gateway has read the head of this one.
  else await answered(proxyUrl, call);
  got.left = true;
  socket.destroy();
}

async function connected(host: string, port: number): Promise<Socket> {
  const socket = connect({ host, port, noDelay: true });
  socket.on("error", () => undefined);
  await new Promise<void>((resolve) => {
    socket.once("connect", resolve).once("close", () => resolve());
  });
  return socket;
}

/** The session of requests that only show that the gateway answers; one that is refused has a row. */
export const NO_CALL = "session-of-no-call";

async function answered(proxyUrl: string, { key }: Call): Promise<void> {
  const headers = { authorization: `Bearer ${key?.secret}`, "x-gateway-session-id": NO_CALL };
  try {
    await (await fetch(`${proxyUrl}/v1/models`, { headers })).text();
  } catch {
    // The gateway was killed meanwhile.
  }
}
