/**
 * Fifty large uploads at once: each arrives complete, and the memory of the Worker's process stays small.
 * @module-tag check
 */

import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { startTestStack } from "../harness/test-stack.ts";

const UPLOADS = 50;
const MIB = 1024 * 1024;
const FILE_BYTES = 10 * MIB;
const RSS_MAX_MIB = 600;

/** Hashes each body as it arrives, keeps none, and answers the hash. */
const upstream = createServer((incoming, response) => {
  const hash = createHash("sha256");
  let size = 0;
  incoming.on("data", (chunk: Buffer) => {
    hash.update(chunk);
    size += chunk.byteLength;
  });
  incoming.on("end", () => {
    const sha256 = hash.digest("hex");
    const declared = incoming.headers["content-length"];
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ sha256, size, declared }));
  });
});
let stack: Stack;
let gateway: Gateway;
let minted: Minted;

beforeAll(async () => {
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  stack = await startTestStack();
  gateway = new Gateway(stack);
  minted = await gateway.mint(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`, "upstream-name");
});
afterAll(async () => {
  await stack.stop();
  upstream.close();
  upstream.closeAllConnections();
});

/** A body as the client writes it, with the SHA-256 and the size of the body that the upstream must get. */
interface Upload {
  readonly path: string;
  readonly contentType: string;
  readonly pieces: readonly (string | Buffer)[];
  readonly expected: { readonly sha256: string; readonly size: number };
}

type Writer = (model: string) => readonly (string | Buffer)[];

function uploadOf(path: string, contentType: string, write: Writer): Upload {
  const hash = createHash("sha256");
  let size = 0;
  for (const piece of write("upstream-name")) {
    hash.update(piece);
    size += Buffer.byteLength(piece);
  }
  return {
    path,
    contentType,
    pieces: write(minted.model.model_name),
    expected: { sha256: hash.digest("hex"), size },
  };
}

const file = randomBytes(FILE_BYTES);
/** Long enough to be in no file by chance, like the boundaries of real clients. */
const BOUNDARY = "------------------------Rz5o2kP6bE0yXo3K2nqf7A";
const field = (name: string, more: string): string =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`;
const fileField = field("file", '; filename="speech.wav"');

const KINDS: Readonly<Record<string, () => Upload>> = {
  "forms that name their model first": () =>
    uploadOf("/v1/audio/transcriptions", `multipart/form-data; boundary=${BOUNDARY}`, (model) => [
      `${field("model", "")}${model}\r\n${fileField}`,
      file,
      `\r\n--${BOUNDARY}--\r\n`,
    ]),
  "forms that name their model after the file": () =>
    uploadOf("/v1/audio/transcriptions", `multipart/form-data; boundary=${BOUNDARY}`, (model) => [
      fileField,
      file,
      `\r\n${field("model", "")}${model}\r\n--${BOUNDARY}--\r\n`,
    ]),
  "JSON documents": () => {
    const image = file.subarray(0, FILE_BYTES * 0.75).toString("base64");
    return uploadOf("/v1/chat/completions", "application/json", (model) => [
      `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,`,
      image,
      `"}}]}],"model":"${model}"}`,
    ]);
  },
};

// A connection for each upload: the runtime ends one that was not used for five seconds, maybe in the moment of its next use.
const agent = new Agent({ maxSockets: UPLOADS });

async function send({ path, contentType, pieces }: Upload): Promise<{ status: number; body: unknown }> {
  const outgoing = request(`${stack.proxyUrl}${path}`, {
    agent,
    method: "POST",
    headers: {
      authorization: `Bearer ${minted.secret}`,
      "content-type": contentType,
      "content-length": pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0),
    },
  });
  const answered = new Promise<{ status: number; body: unknown }>((resolve, reject) => {
    outgoing.on("error", reject);
    outgoing.on("response", (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
    });
  });
  for (const piece of pieces) outgoing.write(piece);
  outgoing.end();
  return await answered;
}

/** The most memory that the runtime's process has had since it started, MiB; null where the system does not report it. */
function peakMib(): number | null {
  const path = `/proc/${stack.parts.get("workerd")?.pid}/status`;
  if (!existsSync(path)) return null;
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(path, "utf8"))?.[1]) / 1024;
}

describe("fifty uploads of 10 MB at once", () => {
  const arriveComplete = async (kind: string): Promise<void> => {
    const upload = KINDS[kind]?.() as Upload;
    const answers = await Promise.all(Array.from({ length: UPLOADS }, async () => await send(upload)));
    const expected = { ...upload.expected, declared: String(upload.expected.size) };
    expect(answers).toEqual(answers.map(() => ({ status: 200, body: expected })));
    expect(peakMib() ?? 0).toBeLessThan(RSS_MAX_MIB);
  };
  const [hardest, ...others] = [
    "forms that name their model after the file",
    "forms that name their model first",
    "JSON documents",
  ];
  it.each([hardest])("of %s arrive complete, in a process below 600 MB", arriveComplete);
  it.each(others)("of %s arrive complete, in a process below 600 MB", { tags: ["long"] }, arriveComplete);
});
