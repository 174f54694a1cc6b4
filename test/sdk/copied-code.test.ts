/**
 * The code that the playground copies, run by what it is for: a shell with curl, Node with OpenAI's package, and Python. Each sends the
 * request that was meant, whatever is said in it.
 *
 * @module-tag check
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SECRET_VARIABLE } from "../../browser/forms/keys/call-examples.ts";
import { curlCode, pythonCode, typescriptCode } from "../../browser/pages/playground/code-of.ts";
import { bodyFor } from "../../browser/pages/playground/messages-api.ts";
import { type HttpSink, startHttpSink } from "../harness/http-sink.ts";

const run = promisify(execFile);
/** The code takes the key from there. */
const ENV = { ...process.env, [SECRET_VARIABLE]: "sk_copied" };
const ROOT = join(import.meta.dirname, "../..");
/** OpenAI's package as far as the code needs it: it sends what it is called with. */
const PYTHON_PACKAGE = `
import json, urllib.request

class OpenAI:
    def __init__(self, base_url, api_key):
        self.chat = self.completions = self
        self.base_url, self.api_key = base_url, api_key

    def create(self, **body):
        headers = {"authorization": "Bearer " + self.api_key, "content-type": "application/json"}
        data = json.dumps(body).encode("utf-8")
        request = urllib.request.Request(self.base_url + "/chat/completions", data, headers)
        with urllib.request.urlopen(request) as answer:
            message = json.loads(answer.read())["choices"][0]["message"]
        return type("Answer", (), {"choices": [type("Choice", (), {"message": message})]})
`;

let sink: HttpSink;
let folder: string;

beforeAll(async () => {
  sink = await startHttpSink();
  const choices = [{ index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" }];
  sink.answer = () => ({
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ object: "chat.completion", choices }),
  });
  folder = mkdtempSync(join(tmpdir(), "gateway-copied-"));
  writeFileSync(join(folder, "openai.py"), PYTHON_PACKAGE);
});
afterAll(async () => {
  await sink.close();
  rmSync(folder, { recursive: true, force: true });
});

const HOSTILE = [
  `it's "quoted" \`date\` $HOME \${HOME} $(date) \\ \\n %s !! !x`,
  "</script><!-- --> ]]> {{x}} #{x} {0}",
  `''' """ END_OF_BODY\nEND_OF_BODY\r\n\tEOF\n`,
  "😀 👩‍👩‍👧‍👦 é é שלום \u202e \u2028\u2029\u0085 \ufeff\u200b \u{e0041}",
  "\u0000\u0007\u001b[31m\u007f",
  "@/etc/passwd",
];
const said = HOSTILE.join("\n");
const parameters = {
  type: "object",
  properties: { [said]: { type: "string", enum: [...HOSTILE, null, true, 1.5e-7] }, none: {} },
  required: [],
  additionalProperties: false,
};
const image = (bytes: number): string => `data:image/png;base64,${"iVBO/+w0".repeat(bytes / 8)}`;
const bodyWith = (imageBytes: number) => ({
  model: said,
  messages: [
    { role: "system", content: said },
    {
      role: "user",
      content: [
        { type: "text", text: said },
        { type: "image_url", image_url: { url: image(imageBytes) } },
      ],
    },
    {
      role: "assistant",
      content: "",
      tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: JSON.stringify({ said }) } }],
    },
    { role: "tool", tool_call_id: "c", content: said },
  ],
  temperature: 0.1,
  seed: -9_007_199_254_740_991,
  stop: HOSTILE,
  tools: [{ type: "function", function: { name: "f", description: said, strict: true, parameters } }],
  tool_choice: { type: "function", function: { name: "f" } },
  response_format: { type: "json_schema", json_schema: { name: "answer", schema: parameters } },
});

/** From a file, as it is saved: a program of this length fits on no command line. */
async function ran(program: string, name: string, code: string): Promise<void> {
  const file = join(folder, name);
  writeFileSync(file, code);
  await run(program, [file], { cwd: ROOT, env: { ...ENV, PYTHONPATH: folder }, maxBuffer: 16 * 1024 * 1024 });
}

describe.each([
  ["a small image", 64],
  ["an image that is longer than any word of a command line", 400_000],
])("with %s, the copied code", (_, imageBytes) => {
  const body = bodyWith(imageBytes);
  const sentBy = async (act: () => Promise<unknown>) => {
    sink.asked.length = 0;
    await act();
    return sink.asked.map(({ method, url, headers, body: sent }) => [
      method,
      url,
      headers["authorization"],
      JSON.parse(sent) as unknown,
    ]);
  };
  const meant = [["POST", "/v1/chat/completions", "Bearer sk_copied", body]];
  const codeOf = () => ({ baseUrl: sink.url, api: "chat/completions", body }) as const;

  it.each(["sh", "bash"])("for curl sends what was meant, in %s", async (shell) => {
    expect(await sentBy(async () => await ran(shell, "copied.sh", curlCode(codeOf())))).toEqual(meant);
  });

  it("for OpenAI's package in TypeScript sends what was meant", async () => {
    expect(await sentBy(async () => await ranInNode(typescriptCode(codeOf())))).toEqual(meant);
  });

  it("for messages sends what was meant, by curl and by Anthropic's package", async () => {
    const ofMessages = { baseUrl: sink.url, api: "messages", body: bodyFor("messages", body) } as const;
    const asked = await sentBy(async () => {
      await ran("sh", "copied.sh", curlCode(ofMessages));
      await ranInNode(typescriptCode(ofMessages));
    });
    const one = { path: "/v1/messages", sent: ofMessages.body };
    expect(asked.map(([, path, , sent]) => ({ path, sent }))).toEqual([one, one]);
  });

  it("for Python sends what was meant", async () => {
    expect(await sentBy(async () => await ran("python3", "copied.py", pythonCode(codeOf())))).toEqual(meant);
  });
});

it("has every member of a schema, whatever it is called", async () => {
  const properties = JSON.parse('{"__proto__":{"type":"string"},"constructor":{}}') as object;
  const body = { model: "m", messages: [], response_format: { type: "json_schema", json_schema: { properties } } };
  sink.asked.length = 0;
  await ranInNode(typescriptCode({ baseUrl: sink.url, api: "chat/completions", body }));
  expect(sink.asked[0]?.body).toContain(JSON.stringify(properties));
});

/** By the input of Node, which finds the packages of this repository from where it runs. */
async function ranInNode(code: string): Promise<void> {
  const running = run(process.execPath, ["--input-type=module"], { cwd: ROOT, env: ENV, maxBuffer: 16 * 1024 * 1024 });
  running.child.stdin?.end(code);
  await running;
}
