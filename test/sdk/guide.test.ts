/**
 * The code that the console's guide shows runs as it stands, with nothing but the secret put into the environment.
 *
 * @module-tag check
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import {
  aiSdkExample,
  anthropicExample,
  curlExample,
  langchainExample,
  SECRET_VARIABLE,
  typescriptExample,
} from "../../browser/forms/keys/call-examples.ts";
import { typescriptCode } from "../../browser/pages/playground/code-of.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";

const fixture = useGateway();
const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../..");
const MODEL_NAME = `it's "a" $MODEL`;

const mint = async (): Promise<Minted> => {
  const name = `${MODEL_NAME} ${crypto.randomUUID()}`;
  return await fixture.gateway.mint(fixture.upstream.url, "plain", { model_name: name });
};
const callOf = ({ model }: Minted) => ({
  baseUrl: fixture.gateway.proxyUrl,
  secret: null,
  model: model.model_name,
});
const withSecret = ({ secret }: Minted) => ({ ...process.env, [SECRET_VARIABLE]: secret });

describe("the guide's code", () => {
  it("for a shell calls with the words that the shell makes of it", async () => {
    const minted = await mint();
    const line = curlExample(callOf(minted)).replace(/^curl/, "printf '%s\\n'");
    const { stdout } = await run("sh", ["-c", line], { env: withSecret(minted) });
    const [address = "", , authorization = "", , type = "", , body = ""] = stdout.split("\n");
    const headers = Object.fromEntries([authorization, type].map((header) => header.split(": ")));
    const answer = await fetch(address, { method: "POST", headers, body });
    expect({ status: answer.status, body: await answer.text() }).toEqual({
      status: 200,
      body: expect.stringContaining("hello world"),
    });
  });

  it("for OpenAI's package prints the answer", async () => {
    await printsTheAnswer(typescriptExample);
  });

  it("for Anthropic's package prints the message", async () => {
    await printsTheAnswer(anthropicExample, "[ { type: 'text', text: 'hello world' } ]\n");
  });

  it.each([
    ["LangChain", langchainExample],
    ["the AI SDK", aiSdkExample],
  ])("for %s prints the answer", { tags: ["long"] }, async (_, example) => {
    await printsTheAnswer(example);
  });
});

it("the code that the playground copies makes the same request, whatever is in it", async () => {
  const minted = await mint();
  const tool = { type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } };
  const called = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
  const body = {
    model: minted.model.model_name,
    messages: [
      { role: "system", content: `'''"""\\ $HOME \u202e` },
      { role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA==" } }] },
      { role: "assistant", content: "", tool_calls: [called] },
      { role: "tool", tool_call_id: "c", content: minted.mark },
    ],
    temperature: 0.5,
    stop: ["\n"],
    tools: [tool],
    tool_choice: { type: "function", function: { name: "f" } },
    response_format: { type: "json_schema", json_schema: { name: "answer", strict: true, schema: { type: "object" } } },
  };
  const code = typescriptCode({ baseUrl: fixture.gateway.proxyUrl, api: "chat/completions", body });
  const env = withSecret(minted);
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", code], { cwd: ROOT, env });
  expect(stdout).toContain("hello world");
  expect(fixture.upstream.seen(minted.mark)[0]?.body).toEqual({ ...body, model: "plain" });
});

async function printsTheAnswer(example: typeof typescriptExample, printed = "hello world\n"): Promise<void> {
  const minted = await mint();
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", example(callOf(minted))], {
    cwd: ROOT,
    env: withSecret(minted),
  });
  expect(stdout).toBe(printed);
}
