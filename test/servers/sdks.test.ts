/**
 * The official SDKs, unchanged, against an upstream with faults: OpenAI's in Python, TypeScript, Go and Java, and Anthropic's in
 * Python and TypeScript. Each retries what the gateway passes on as an error that can be tried again.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";
import { startAgentUpstream } from "./agent-upstream.ts";
import { folderOf, isInstalled, pythonOf } from "./parts.ts";

interface Case {
  readonly name: string;
  readonly behaviour: string;
  readonly stream: boolean;
  /** What the SDK ends with: a text, or an error with this status; null: an error without one, or with that of a good answer. */
  readonly outcome: { readonly text: string } | { readonly status: number | null };
  /** The status and error code of each row, in order. */
  readonly rows: readonly string[];
}

const [hello, words] = [{ text: "hello world" }, { text: "w0 w1 w2 w3 " }];

const OPENAI_CASES: readonly Case[] = [
  { name: "an answer", behaviour: "plain", stream: false, outcome: hello, rows: ["200"] },
  { name: "a stream", behaviour: "plain", stream: true, outcome: words, rows: ["200"] },
  { name: "503 in a 200, once", behaviour: "error=503,fails=1", stream: false, outcome: hello, rows: ["502", "200"] },
  {
    name: "503 as the first event, once",
    behaviour: "error=503,fails=1",
    stream: true,
    outcome: words,
    rows: ["502", "200"],
  },
  { name: "400 in a 200", behaviour: "error=400", stream: false, outcome: { status: 400 }, rows: ["400"] },
  { name: "529, once", behaviour: "status=529,fails=1", stream: false, outcome: hello, rows: ["529", "200"] },
  {
    name: "429 with retry-after, once",
    behaviour: "status=429,retry-after=1,fails=1",
    stream: true,
    outcome: words,
    rows: ["429", "200"],
  },
  {
    name: "a reset after the head, once",
    behaviour: "empty-reset,fails=1",
    stream: false,
    outcome: hello,
    rows: ["200"],
  },
  {
    name: "an error within a stream",
    behaviour: "late-error",
    stream: true,
    outcome: { status: null },
    rows: ["200 upstream_stream_error"],
  },
  {
    name: "a stream that is cut",
    // so that its pieces have left before the reset
    behaviour: "cut,pace=50",
    stream: true,
    outcome: { status: null },
    rows: ["200 upstream_stream_error"],
  },
];

const messageCase = (fault: string, outcome: Case["outcome"], rows: Case["rows"]): Case => ({
  name: fault,
  behaviour: `turns=0,fault=${fault}@0`,
  stream: true,
  outcome,
  rows,
});
const done = { text: "all done" };
const broken = { status: null };

const ANTHROPIC_CASES: readonly Case[] = [
  messageCase("none", done, ["200"]),
  messageCase("error-first", done, ["502", "200"]),
  messageCase("error-late", broken, ["200 upstream_stream_error"]),
  messageCase("overloaded", done, ["529", "200"]),
  messageCase("rate-limited", done, ["429", "200"]),
  messageCase("reset-after-head", done, ["200"]),
  messageCase("reset-in-stream", broken, ["200 upstream_stream_error"]),
];

type Vendor = "openai" | "anthropic";

interface Call {
  readonly vendor: Vendor;
  readonly model: string;
  readonly text: string;
  readonly stream: boolean;
  readonly secret: string;
}

/** Makes the calls; how each ended. */
type Sdk = (calls: readonly Call[]) => Promise<readonly unknown[]>;

/** A program that gets the calls in its environment and prints the outcomes. */
const program =
  (command: string, args: readonly string[], cwd: string): Sdk =>
  async (calls) => {
    const given = JSON.stringify(calls);
    const [first] = calls;
    const env = { ...process.env, GATEWAY_URL: inject("proxyUrl"), GATEWAY_KEY: first?.secret, GATEWAY_CALLS: given };
    const { stdout } = await promisify(execFile)(command, args, { cwd, env });
    // Maven puts a sequence of its own around it.
    return JSON.parse(stdout.slice(stdout.indexOf("[{"), stdout.lastIndexOf("]") + 1)) as readonly unknown[];
  };

const typescript: Sdk = async (calls) => await Promise.all(calls.map(outcomeInTypescript));

async function outcomeInTypescript(call: Call): Promise<unknown> {
  try {
    return { text: await (call.vendor === "anthropic" ? message(call) : chat(call)) };
  } catch (error) {
    const { status = 0 } = error as { readonly status?: number };
    return { status: status < 400 ? null : status };
  }
}

async function message({ model, text, secret }: Call): Promise<string> {
  const client = new Anthropic({ baseURL: inject("proxyUrl"), apiKey: secret });
  return await client.messages
    .stream({ model, max_tokens: 64, messages: [{ role: "user", content: text }] })
    .finalText();
}

async function chat({ model, text, secret, stream }: Call): Promise<string> {
  const client = new OpenAI({ baseURL: `${inject("proxyUrl")}/v1`, apiKey: secret });
  const messages = [{ role: "user" as const, content: text }];
  if (!stream) return (await client.chat.completions.create({ model, messages })).choices[0]?.message.content ?? "";
  let said = "";
  for await (const chunk of await client.chat.completions.create({ model, messages, stream: true }))
    said += chunk.choices[0]?.delta.content ?? "";
  return said;
}

const [python, go, java] = ["sdk-python", "sdk-go", "sdk-java"];
const inPython = program(pythonOf(python), [join(import.meta.dirname, "sdk/calls.py")], folderOf(python));
const JAVA_WORDS = ["-q", "-B", "org.codehaus.mojo:exec-maven-plugin:3.5.0:java", "-Dexec.mainClass=Calls"];

const SDKS: readonly {
  readonly name: string;
  readonly vendor: Vendor;
  readonly part: string | null;
  readonly sdk: Sdk;
}[] = [
  { name: "OpenAI's, TypeScript", vendor: "openai", part: null, sdk: typescript },
  { name: "Anthropic's, TypeScript", vendor: "anthropic", part: null, sdk: typescript },
  { name: "OpenAI's, Python", vendor: "openai", part: python, sdk: inPython },
  { name: "Anthropic's, Python", vendor: "anthropic", part: python, sdk: inPython },
  { name: "OpenAI's, Go", vendor: "openai", part: go, sdk: program(join(folderOf(go), "calls"), [], folderOf(go)) },
  { name: "OpenAI's, Java", vendor: "openai", part: java, sdk: program("mvn", JAVA_WORDS, folderOf(java)) },
];

const STARTED = {
  proxyUrl: inject("proxyUrl"),
  adminUrl: inject("adminUrl"),
  adminToken: inject("adminToken"),
  metricsUrl: inject("metricsUrl"),
};

describe("an SDK ends faults as it should, and each call has its row", () => {
  const chats = useStarted(startTestUpstream);
  const messages = useStarted(startAgentUpstream);
  const gateway = new Gateway(STARTED);
  const rowsOf = async ({ model, tenant }: Minted, count: number): Promise<readonly string[]> => {
    const query = `&model=${encodeURIComponent(model.model_name)}`;
    const rows = await waitFor(
      async () => await gateway.rows(tenant.id, query),
      (found) => found.length >= count,
    );
    return rows.map(({ status_code, error_code }) => `${status_code} ${error_code}`.trim()).reverse();
  };

  it.for(SDKS)("$name", async ({ vendor, part, sdk }, { skip }) => {
    if (part !== null && !isInstalled(part)) skip(`${part} is not installed`);
    const cases = vendor === "openai" ? OPENAI_CASES : ANTHROPIC_CASES;
    const url = vendor === "openai" ? chats().url : messages().url;
    const owner = await gateway.mint(url);
    const models: Minted[] = [];
    for (const { behaviour } of cases) {
      // The upstream for messages knows its calls by the model.
      const upstreamModel = vendor === "openai" ? behaviour : `${behaviour},${crypto.randomUUID()}`;
      const { model, mark } = await gateway.mint(url, upstreamModel, {
        api_dialect: vendor,
      });
      models.push({ ...owner, model, mark });
    }
    const calls = cases.map(({ stream }, at) => {
      const { model, mark, secret } = models[at] as Minted;
      return { vendor, model: model.model_name, text: mark, stream, secret };
    });
    const outcomes = await sdk(calls);
    const seen = await Promise.all(
      cases.map(async ({ name, rows }, at) => ({
        name,
        outcome: outcomes[at],
        rows: await rowsOf(models[at] as Minted, rows.length),
      })),
    );
    expect(seen).toEqual(cases.map(({ name, outcome, rows }) => ({ name, outcome, rows })));
  });
});

it("OpenAI's, Python, uploads, creates, polls, cancels and downloads a batch", async ({ skip }) => {
  if (!isInstalled(python)) skip(`${python} is not installed`);
  const upstream = await startTestUpstream();
  onTestFinished(async () => await upstream.close());
  const gateway = new Gateway(STARTED);
  const minted = await gateway.mint(upstream.url);
  const slow = await gateway.mint(upstream.url, "delay=300", { max_in_flight: 1 });
  const env = {
    ...process.env,
    GATEWAY_URL: inject("proxyUrl"),
    GATEWAY_KEY: minted.secret,
    GATEWAY_MODEL: minted.model.model_name,
    GATEWAY_SLOW_MODEL: slow.model.model_name,
    GATEWAY_TEXT: minted.mark,
  };
  const script = join(import.meta.dirname, "sdk/batches.py");
  const { stdout } = await promisify(execFile)(pythonOf(python), [script], { env });
  const metadata = { job: "nightly" };
  const read = JSON.parse(stdout) as { cancelled: { counts: { completed: number; failed: number } } };
  const { completed, failed } = read.cancelled.counts;
  expect(read).toEqual({
    done: {
      status: "completed",
      counts: { total: 5, completed: 5, failed: 0 },
      metadata,
      texts: Array.from({ length: 5 }, () => hello.text),
      errors: [],
    },
    cancelled: {
      status: "cancelled",
      counts: { total: 20, completed, failed },
      metadata,
      texts: Array.from({ length: completed }, () => hello.text),
      errors: ["batch_cancelled"],
    },
    listed: true,
    name: "in.jsonl",
    deleted: true,
  });
  expect(completed + failed).toBe(20);
});
