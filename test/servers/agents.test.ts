/**
 * Two agents from npm, unchanged, through the gateway: they run shell commands that an upstream in the place of a model chooses, and
 * meet its faults. Each run is repeated straight to the upstream; what the agent says and does must be the same.
 */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import type { UsageLog } from "../../shared/schema/usage.ts";
import { Gateway } from "../harness/gateway.ts";
import { chatEvents, eventStream } from "../harness/http-sink.ts";
import { chatUsage, reportUpstream } from "../harness/report-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";
import { type Fault, shellOf, startAgentUpstream, TURN_TOKENS } from "./agent-upstream.ts";
import { folderOf } from "./parts.ts";

const TURNS = 2;
/** An agent that waits longer has hung. */
const LIMIT_MS = 200_000;

/** How the row of the call that met the fault ends; null: the gateway asked again, and the agent has seen nothing. */
type FailedRow = { readonly status_code: number; readonly error_code: string } | null;

const BROKEN: FailedRow = { status_code: 200, error_code: "upstream_stream_error" };

const FAILED_ROW: Readonly<Record<Exclude<Fault, "error-first">, FailedRow>> = {
  "error-late": BROKEN,
  overloaded: { status_code: 529, error_code: "" },
  "rate-limited": { status_code: 429, error_code: "" },
  "reset-after-head": null,
  "reset-in-stream": BROKEN,
};

interface Access {
  /** Without `/v1`. */
  readonly origin: string;
  readonly secret: string;
  readonly model: string;
}

interface Agent {
  readonly name: string;
  /** Of what it speaks. */
  readonly dialect: "openai" | "anthropic";
  readonly command: (access: Access) => readonly string[];
  readonly env: (access: Access) => Readonly<Record<string, string>>;
  /** The row of a call whose first event is the error of its API. */
  readonly errorFirst: FailedRow;
  /** What it has said and which results of commands it has seen, in what it prints. */
  readonly read: (lines: readonly Line[]) => { readonly said: unknown; readonly results: readonly unknown[] };
}

interface Line {
  readonly type?: string;
  readonly result?: unknown;
  readonly item?: { readonly type?: string; readonly text?: string; readonly aggregated_output?: string };
  readonly message?: { readonly content?: unknown };
}

const AGENTS: readonly Agent[] = [
  {
    name: "codex",
    dialect: "openai",
    command: ({ origin, model }) => {
      const provider = `model_providers.own={name="own",base_url="${origin}/v1",env_key="AGENT_KEY",wire_api="responses"}`;
      const rights = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];
      return ["exec", "--json", ...rights, "-m", model, "-c", 'model_provider="own"', "-c", provider, "work"];
    },
    env: ({ secret }) => ({ AGENT_KEY: secret }),
    // Its API fails with a response, not with an error alone.
    errorFirst: BROKEN,
    read: (lines) => {
      const items = lines.flatMap(({ type, item }) => (type === "item.completed" && item ? [item] : []));
      return {
        said: items.findLast(({ type }) => type === "agent_message")?.text,
        results: items.flatMap((item) => (item.type === "command_execution" ? [item.aggregated_output?.trim()] : [])),
      };
    },
  },
  {
    name: "claude",
    dialect: "anthropic",
    command: ({ model }) => {
      const output = ["--output-format", "stream-json", "--verbose"];
      return ["--bare", "-p", "work", "--model", model, "--allowedTools", "Bash", ...output];
    },
    env: ({ origin, secret }) => ({
      ANTHROPIC_BASE_URL: origin,
      ANTHROPIC_API_KEY: secret,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    }),
    errorFirst: { status_code: 502, error_code: "" },
    read: (lines) => ({
      said: lines.findLast(({ type }) => type === "result")?.result,
      results: lines.flatMap(({ type, message }) => (type === "user" ? resultsIn(message?.content) : [])),
    }),
  },
];

function resultsIn(content: unknown): readonly unknown[] {
  return Array.isArray(content) ? content.map((part: { content?: unknown }) => part.content) : [];
}

/** Runs an agent in an empty home; its exit code, what it said, and what its commands gave. */
async function runAgent({ name, command, env, read }: Agent, access: Access) {
  const home = mkdtempSync(join(tmpdir(), "gateway-agent-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const { promise, resolve } = Promise.withResolvers<{ readonly code: unknown; readonly stdout: string }>();
  const child = execFile(
    join(folderOf("agents"), "node_modules/.bin", name),
    command(access),
    { cwd: home, env: { PATH: process.env["PATH"], HOME: home, ...env(access) }, timeout: LIMIT_MS },
    (error, stdout) => resolve({ code: error?.code ?? (error === null ? 0 : error.signal), stdout }),
  );
  child.stdin?.end();
  const { code, stdout } = await promise;
  const lines = stdout.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line) as Line] : []));
  return { code, ...read(lines) };
}

const gatewayOf = (): Gateway =>
  new Gateway({
    proxyUrl: inject("proxyUrl"),
    adminUrl: inject("adminUrl"),
    adminToken: inject("adminToken"),
    metricsUrl: inject("metricsUrl"),
  });

describe.each(AGENTS)("$name", (agent) => {
  const upstream = useStarted(startAgentUpstream);
  const gateway = gatewayOf();

  const bothWays = async (behaviour: string) => {
    const [direct, behind] = [`${behaviour},${randomUUID()}`, `${behaviour},${randomUUID()}`];
    const minted = await gateway.mint(upstream().url, behind, { api_dialect: agent.dialect });
    const access = { origin: gateway.proxyUrl, secret: minted.secret, model: minted.model.model_name };
    const [straight, through] = await Promise.all([
      runAgent(agent, { origin: new URL(upstream().url).origin, secret: "none", model: direct }),
      runAgent(agent, access),
    ]);
    const rows = await waitFor(
      async () => await gateway.allRows(minted.tenant.id),
      (found) => attemptsOf(found) >= upstream().calls(behind),
    );
    return { straight, through, rows, calls: upstream().calls(behind) };
  };

  it("runs its commands and ends as it does straight, with a row for each call", async () => {
    const { straight, through, rows, calls } = await bothWays(`turns=${TURNS}`);
    expect(straight).toEqual({ code: 0, said: "all done", results: ["step-0", "step-1"] });
    expect({ through, attempts: attemptsOf(rows) }).toEqual({ through: straight, attempts: calls });
    expect(tokensOf(rows)).toEqual(tokensOfTurns(TURNS + 1));
  });

  it.each(Object.entries({ "error-first": agent.errorFirst, ...FAILED_ROW }))(
    "ends as it does straight after a fault: %s",
    async (fault, failed) => {
      const { straight, through, rows, calls } = await bothWays(`turns=${TURNS},fault=${fault}@1`);
      const good = rows.filter(({ status_code, error_code }) => status_code === 200 && error_code === "");
      const bad = rows
        .filter((row) => !good.includes(row))
        .map(({ status_code, error_code }) => ({ status_code, error_code }));
      expect({ through, attempts: attemptsOf(rows), bad }).toEqual({
        through: straight,
        attempts: calls,
        bad: failed === null ? [] : [failed],
      });
      expect(tokensOf(good)).toEqual(tokensOfTurns(good.length));
    },
  );
});

it.each(AGENTS)("$name works with a model of chat completions for twenty turns", async (agent) => {
  const turns = 20;
  const sink = await reportUpstream(({ body }) => eventStream(chatTurn(body, turns)));
  const gateway = gatewayOf();
  const minted = await gateway.mint(sink.url, "plain", { responses_api: "translated" });
  const access = { origin: gateway.proxyUrl, secret: minted.secret, model: minted.model.model_name };
  const { code, said, results } = await runAgent(agent, access);
  expect({ code, said, results }).toEqual({
    code: 0,
    said: "all done",
    results: Array.from({ length: turns }, (_, at) => `step-${at}`),
  });
  const rows = await gateway.allRows(minted.tenant.id);
  expect(new Set(rows.map(({ status_code, error_code }) => `${status_code} ${error_code}`))).toEqual(new Set(["200 "]));
});

/** A turn of a chat completion: another command until so many have run. */
function chatTurn(body: string, turns: number): string {
  const { messages, tools } = JSON.parse(body) as {
    readonly messages: readonly { readonly role: string }[];
    readonly tools: readonly { readonly function: { readonly name: string } }[];
  };
  const done = messages.filter(({ role }) => role === "tool").length;
  const shell = shellOf({ tools: tools.map((tool) => tool.function) });
  const called = { name: shell?.name, arguments: JSON.stringify(shell?.args(`echo step-${done}`)) };
  const call = { index: 0, id: `call_${done}`, type: "function", function: called };
  const [delta, finish_reason] =
    done < turns ? [{ tool_calls: [call] }, "tool_calls"] : [{ content: "all done" }, "stop"];
  return chatEvents(
    { choices: [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason }] },
    { choices: [], usage: chatUsage(TURN_TOKENS.input, TURN_TOKENS.output) },
  );
}

const attemptsOf = (rows: readonly UsageLog[]): number => rows.reduce((sum, { attempts }) => sum + attempts, 0);
const tokensOf = (rows: readonly UsageLog[]) => ({
  input: rows.reduce((sum, { input_tokens }) => sum + input_tokens, 0),
  output: rows.reduce((sum, { output_tokens }) => sum + output_tokens, 0),
});
const tokensOfTurns = (turns: number) => ({ input: turns * TURN_TOKENS.input, output: turns * TURN_TOKENS.output });
