/**
 * Batches on the command line: one of 10,000 lines moves until it is cancelled (docs/rules/batches.md#management).
 *
 * @module-tag check
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, inject, it, onTestFinished } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { waitFor } from "../harness/wait-for.ts";

const MAIN = join(import.meta.dirname, "../../control/cli/main.ts");
const LINES = 10_000;
const fixture = useGateway();

function gateway(...words: readonly string[]) {
  const env = {
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
    GATEWAY_ADMIN_BASE_URL: inject("adminUrl"),
    GATEWAY_ADMIN_TOKEN: inject("adminToken"),
  };
  const child = spawn(process.execPath, [MAIN, ...words], { env, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill());
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  const ended = Promise.withResolvers<number | null>();
  child.on("close", ended.resolve);
  return { lines, ended: ended.promise };
}

it("shows a batch of 10,000 lines moving, until it is cancelled", async () => {
  const minted = await fixture.gateway.mint(fixture.upstream.url);
  const asked = async (path: string, body: FormData | string): Promise<string> => {
    const headers = { authorization: `Bearer ${minted.secret}` };
    const response = await fetch(`${fixture.gateway.proxyUrl}/v1${path}`, { method: "POST", headers, body });
    return ((await response.json()) as { id: string }).id;
  };
  const text = Array.from({ length: LINES }, (_, at) =>
    JSON.stringify({
      custom_id: `line-${at}`,
      method: "POST",
      url: "/v1/chat/completions",
      body: { model: minted.model.model_name, messages: [{ role: "user", content: "hello" }] },
    }),
  ).join("\n");
  const form = new FormData();
  form.append("purpose", "batch");
  form.append("file", new File([text], "lines.jsonl"));
  const file = await asked("/files", form);
  const made = { input_file_id: file, endpoint: "/v1/chat/completions", completion_window: "24h" };
  const batch = await asked("/batches", JSON.stringify(made));

  const watch = gateway("batches", "watch", batch);
  const moving = (): readonly number[] =>
    watch.lines.flatMap((line) => {
      const [, ended] = /^in_progress: (\d+) of 10000 lines/.exec(line) ?? [];
      return ended === undefined ? [] : [Number(ended)];
    });
  const seen = await waitFor(moving, (counts) => counts.filter((count) => count > 0).length >= 2);
  expect(seen).toEqual(seen.toSorted((one, other) => one - other));
  const { ended } = gateway("batches", "cancel", batch);
  expect({ cancel: await ended, watch: await watch.ended }).toEqual({ cancel: 0, watch: 0 });
  expect(watch.lines.find((line) => line.startsWith("cancelled: 10000 of 10000 lines"))).toBeDefined();
});
