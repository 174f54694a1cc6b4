/**
 * First requests for each route of the data plane, as a person pastes them into a terminal or a program. Bodies are texts, numbers,
 * lists and objects alone, so that their JSON is also what Python and JavaScript read. Pure.
 */
import { printableJson } from "../../../shared/text/printable.ts";
import {
  anthropicExample,
  bearerOf,
  type Call,
  curlExample,
  pythonEnvironment,
  pythonExample,
  pythonSecret,
  quoted,
  scriptSecret,
  shellText,
  typescriptExample,
} from "../../forms/keys/call-examples.ts";
import type { GuideRoute, ModelKind } from "./guide-routes.ts";

/** Programs that each route has. */
export const LANGUAGES = ["curl", "python", "typescript"] as const;
type Language = (typeof LANGUAGES)[number];

interface RouteExample extends Readonly<Record<Language, (call: Call) => string>> {
  readonly path: string;
  /** Models that it can be called with; null: it names none. */
  readonly kinds: readonly ModelKind[] | null;
}

const AUDIO_FILE = "speech.mp3";
const BATCH_FILE = "requests.jsonl";
const MCP_SERVER = "SERVER";
const MESSAGES = [{ role: "user", content: "Hello" }];
const ANY_KIND: readonly ModelKind[] = ["chat", "embedding", "audio_transcription", "audio_speech", "image"];

const value = (of: unknown): string => printableJson(JSON.stringify(of));
const curl = (call: Call, address: string, ...rest: readonly string[]): string =>
  [`curl ${shellText(address)}`, `  -H ${bearerOf(call.secret)}`, ...rest.map((line) => `  ${line}`)].join(" \\\n");
const curlJson = (call: Call, path: string, body: object, ...rest: readonly string[]): string =>
  curl(
    call,
    `${call.baseUrl}/v1${path}`,
    "-H 'content-type: application/json'",
    `-d ${shellText(value(body))}`,
    ...rest,
  );

function pythonClient(call: Call): readonly string[] {
  return [
    ...pythonEnvironment(call.secret),
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url=${quoted(`${call.baseUrl}/v1`)}, api_key=${pythonSecret(call.secret)})`,
  ];
}
function scriptClient(call: Call, ...imports: readonly string[]): readonly string[] {
  return [
    ...imports,
    'import OpenAI from "openai";',
    "",
    `const client = new OpenAI({ baseURL: ${quoted(`${call.baseUrl}/v1`)}, apiKey: ${scriptSecret(call.secret)} });`,
  ];
}
/** A word of a shell in which no character changes how the line looks: `printf` makes those that would. */
function printableShellText(text: string): string {
  const json = JSON.stringify(text);
  if (printableJson(json) === json) return shellText(text);
  const escaped = Array.from(new TextEncoder().encode(text), (byte) =>
    byte >= 0x20 && byte < 0x7f && byte !== 0x5c
      ? String.fromCharCode(byte)
      : `\\0${byte.toString(8).padStart(3, "0")}`,
  );
  return `"$(printf %b ${shellText(escaped.join(""))})"`;
}
const lines = (...all: readonly (string | readonly string[])[]): string => all.flat().join("\n");

/** A route whose request is JSON, with its method of OpenAI's packages and what of the answer is printed. */
function jsonRoute({
  path,
  kinds,
  body,
  method,
  shown,
}: {
  readonly path: string;
  readonly kinds: readonly ModelKind[];
  readonly body: (model: string) => object;
  readonly method: string;
  readonly shown: { readonly python: string; readonly typescript: string };
}): RouteExample {
  return {
    path: `/v1${path}`,
    kinds,
    curl: (call) => curlJson(call, path, body(call.model)),
    python: (call) =>
      lines(
        pythonClient(call),
        `answer = client.${method}(`,
        Object.entries(body(call.model)).map(([name, of]) => `    ${name}=${value(of)},`),
        ")",
        `print(${shown.python})`,
      ),
    typescript: (call) =>
      lines(
        scriptClient(call),
        `const answer = await client.${method}({`,
        Object.entries(body(call.model)).map(([name, of]) => `  ${name}: ${value(of)},`),
        "});",
        `console.log(${shown.typescript});`,
      ),
  };
}

const RERANK = (model: string) => ({
  model,
  query: "Where is the sea?",
  documents: ["The sea is in the north.", "Bread."],
});
const SPEECH = (model: string) => ({ model, voice: "alloy", input: "Hello" });
const BATCH = { endpoint: "/v1/chat/completions", completion_window: "24h" };
const batchLine = (model: string): string =>
  value({ custom_id: "1", method: "POST", url: BATCH.endpoint, body: { model, messages: MESSAGES } });
const socketUrl = ({ baseUrl, model }: Call): string =>
  `${baseUrl.replace(/^http/, "ws")}/v1/realtime?model=${encodeURIComponent(model)}`;
const RESPOND = { type: "response.create" };
const DONE = ["response.done", "error"];

/** The routes, in the order of the guide. */
export const ROUTE_EXAMPLES: Readonly<Record<GuideRoute, RouteExample>> = {
  chat: {
    path: "/v1/chat/completions",
    kinds: ["chat"],
    curl: curlExample,
    python: pythonExample,
    typescript: typescriptExample,
  },
  responses: jsonRoute({
    path: "/responses",
    kinds: ["chat"],
    body: (model) => ({ model, input: "Hello" }),
    method: "responses.create",
    shown: { python: "answer.output_text", typescript: "answer.output_text" },
  }),
  messages: {
    path: "/v1/messages",
    kinds: ["chat"],
    curl: (call) =>
      curlJson(
        call,
        "/messages",
        { model: call.model, max_tokens: 1024, messages: MESSAGES },
        "-H 'anthropic-version: 2023-06-01'",
      ),
    python: (call) =>
      lines(
        pythonEnvironment(call.secret),
        "from anthropic import Anthropic",
        "",
        `client = Anthropic(base_url=${quoted(call.baseUrl)}, api_key=${pythonSecret(call.secret)})`,
        "message = client.messages.create(",
        `    model=${quoted(call.model)},`,
        "    max_tokens=1024,",
        `    messages=${value(MESSAGES)},`,
        ")",
        "print(message.content)",
      ),
    typescript: anthropicExample,
  },
  embeddings: jsonRoute({
    path: "/embeddings",
    kinds: ["embedding"],
    body: (model) => ({ model, input: "Hello" }),
    method: "embeddings.create",
    shown: { python: "answer.data[0].embedding", typescript: "answer.data[0].embedding" },
  }),
  rerank: {
    path: "/v1/rerank",
    kinds: ANY_KIND,
    curl: (call) => curlJson(call, "/rerank", RERANK(call.model)),
    python: (call) =>
      lines(pythonClient(call), `print(client.post("/rerank", cast_to=object, body=${value(RERANK(call.model))}))`),
    typescript: (call) =>
      lines(scriptClient(call), `console.log(await client.post("/rerank", { body: ${value(RERANK(call.model))} }));`),
  },
  images: jsonRoute({
    path: "/images/generations",
    kinds: ["image"],
    body: (model) => ({ model, prompt: "A lighthouse at night" }),
    method: "images.generate",
    shown: {
      python: "answer.data[0].url or answer.data[0].b64_json",
      typescript: "answer.data[0].url ?? answer.data[0].b64_json",
    },
  }),
  speech: {
    path: "/v1/audio/speech",
    kinds: ["audio_speech"],
    curl: (call) => curlJson(call, "/audio/speech", SPEECH(call.model), `-o ${AUDIO_FILE}`),
    python: (call) =>
      lines(
        pythonClient(call),
        "with client.audio.speech.with_streaming_response.create(",
        Object.entries(SPEECH(call.model)).map(([name, of]) => `    ${name}=${value(of)},`),
        ") as answer:",
        `    answer.stream_to_file("${AUDIO_FILE}")`,
      ),
    typescript: (call) =>
      lines(
        scriptClient(call, 'import { writeFile } from "node:fs/promises";'),
        `const answer = await client.audio.speech.create(${value(SPEECH(call.model))});`,
        `await writeFile("${AUDIO_FILE}", Buffer.from(await answer.arrayBuffer()));`,
      ),
  },
  transcription: {
    path: "/v1/audio/transcriptions",
    kinds: ["audio_transcription"],
    curl: (call) =>
      curl(
        call,
        `${call.baseUrl}/v1/audio/transcriptions`,
        `--form-string ${printableShellText(`model=${call.model}`)}`,
        `-F file=@${AUDIO_FILE}`,
      ),
    python: (call) =>
      lines(
        pythonClient(call),
        `with open("${AUDIO_FILE}", "rb") as file:`,
        `    answer = client.audio.transcriptions.create(model=${quoted(call.model)}, file=file)`,
        "print(answer.text)",
      ),
    typescript: (call) =>
      lines(
        scriptClient(call, 'import { createReadStream } from "node:fs";'),
        "const answer = await client.audio.transcriptions.create({",
        `  model: ${quoted(call.model)},`,
        `  file: createReadStream("${AUDIO_FILE}"),`,
        "});",
        "console.log(answer.text);",
      ),
  },
  realtime: {
    path: "/v1/realtime",
    kinds: ["chat"],
    curl: (call) =>
      curl(
        call,
        `${call.baseUrl}/v1/realtime?model=${encodeURIComponent(call.model)}`,
        "-i -N --http1.1",
        "-H 'connection: upgrade'",
        "-H 'upgrade: websocket'",
        "-H 'sec-websocket-version: 13'",
        "-H 'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA=='",
      ),
    python: (call) =>
      lines(
        "import json",
        pythonEnvironment(call.secret).filter((line) => line !== ""),
        "from websockets.sync.client import connect",
        "",
        `headers = {"Authorization": "Bearer " + ${pythonSecret(call.secret)}}`,
        `with connect(${quoted(socketUrl(call))}, additional_headers=headers) as socket:`,
        `    socket.send(${quoted(JSON.stringify(RESPOND))})`,
        "    for message in socket:",
        "        print(message)",
        `        if json.loads(message)["type"] in ${value(DONE)}:`,
        "            break",
      ),
    typescript: (call) =>
      lines(
        `const socket = new WebSocket(${quoted(socketUrl(call))}, {`,
        `  headers: { authorization: \`Bearer \${${scriptSecret(call.secret)}}\` },`,
        "});",
        `socket.onopen = () => socket.send(${quoted(JSON.stringify(RESPOND))});`,
        "socket.onmessage = ({ data }) => {",
        "  console.log(data);",
        `  if (${value(DONE)}.includes(JSON.parse(data).type)) socket.close();`,
        "};",
      ),
  },
  batches: {
    path: "/v1/batches",
    kinds: ["chat"],
    curl: (call) =>
      [
        `printf '%s\\n' ${shellText(batchLine(call.model))} > ${BATCH_FILE}`,
        curl(call, `${call.baseUrl}/v1/files`, "-F purpose=batch", `-F file=@${BATCH_FILE}`),
        curlJson(call, "/batches", { input_file_id: "FILE_ID", ...BATCH }),
        curl(call, `${call.baseUrl}/v1/batches/BATCH_ID`),
      ].join("\n"),
    python: (call) =>
      lines(
        pythonClient(call),
        `line = ${quoted(batchLine(call.model))}`,
        `file = client.files.create(purpose="batch", file=("${BATCH_FILE}", line.encode()))`,
        "batch = client.batches.create(",
        "    input_file_id=file.id,",
        Object.entries(BATCH).map(([name, of]) => `    ${name}=${value(of)},`),
        ")",
        "print(client.batches.retrieve(batch.id).status)",
      ),
    typescript: (call) =>
      lines(
        scriptClient(call),
        `const line = ${quoted(batchLine(call.model))};`,
        `const file = await client.files.create({ purpose: "batch", file: new File([line], "${BATCH_FILE}") });`,
        "const batch = await client.batches.create({",
        "  input_file_id: file.id,",
        Object.entries(BATCH).map(([name, of]) => `  ${name}: ${value(of)},`),
        "});",
        "console.log((await client.batches.retrieve(batch.id)).status);",
      ),
  },
  files: {
    path: "/v1/files",
    kinds: null,
    curl: (call) => curl(call, `${call.baseUrl}/v1/files`),
    python: (call) =>
      lines(pythonClient(call), "for file in client.files.list():", "    print(file.id, file.filename)"),
    typescript: (call) =>
      lines(scriptClient(call), "for await (const file of client.files.list()) console.log(file.id, file.filename);"),
  },
  mcp: {
    path: `/mcp/${MCP_SERVER}`,
    kinds: null,
    curl: (call) =>
      curl(
        call,
        `${call.baseUrl}/mcp/${MCP_SERVER}`,
        "-H 'content-type: application/json'",
        "-H 'accept: application/json, text/event-stream'",
        `-d ${shellText(
          value({
            jsonrpc: "2.0",
            id: 1,
            method: "initialize",
            params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "curl", version: "1" } },
          }),
        )}`,
      ),
    python: (call) =>
      lines(
        "import asyncio",
        pythonEnvironment(call.secret).filter((line) => line !== ""),
        "from mcp import ClientSession",
        "from mcp.client.streamable_http import streamablehttp_client",
        "",
        "async def main():",
        `    headers = {"Authorization": "Bearer " + ${pythonSecret(call.secret)}}`,
        `    async with streamablehttp_client(${quoted(`${call.baseUrl}/mcp/${MCP_SERVER}`)}, headers=headers) as (read, write, _):`,
        "        async with ClientSession(read, write) as session:",
        "            await session.initialize()",
        "            print(await session.list_tools())",
        "",
        "asyncio.run(main())",
      ),
    typescript: (call) =>
      lines(
        'import { Client } from "@modelcontextprotocol/sdk/client/index.js";',
        'import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";',
        "",
        `const transport = new StreamableHTTPClientTransport(new URL(${quoted(`${call.baseUrl}/mcp/${MCP_SERVER}`)}), {`,
        `  requestInit: { headers: { authorization: \`Bearer \${${scriptSecret(call.secret)}}\` } },`,
        "});",
        'const client = new Client({ name: "guide", version: "1" });',
        "await client.connect(transport);",
        "console.log(await client.listTools());",
        "await client.close();",
      ),
  },
};
