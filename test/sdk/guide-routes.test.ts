/** The code that the console's guide shows for each route runs as it stands, with OpenAI's and Anthropic's packages. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { SECRET_VARIABLE } from "../../browser/forms/keys/call-examples.ts";
import type { GuideRoute } from "../../browser/pages/portal/guide-routes.ts";
import { ROUTE_EXAMPLES } from "../../browser/pages/portal/route-examples.ts";
import { useGateway } from "../harness/fixture.ts";
import { SPOKEN } from "../harness/route-answers.ts";
import { mintAt, useRouteUpstream } from "../harness/upstream-routes.ts";

const fixture = useGateway();
const upstream = useRouteUpstream();
const run = promisify(execFile);
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "guide-"));
  symlinkSync(join(import.meta.dirname, "../../node_modules"), join(folder, "node_modules"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PRINTED = {
  responses: /hello/,
  embeddings: /^\[[\s\S]*\]/,
  rerank: /results/,
  images: /^[A-Za-z0-9+/=]+\n$/,
  transcription: /\w/,
  batches: /^(validating|in_progress|finalizing|completed)\n$/,
  files: /requests\.jsonl/,
  speech: /^$/,
} as const satisfies Partial<Record<GuideRoute, RegExp>>;

it("the guide's code for JSON, forms, files and batches prints what the gateway answers", {
  tags: ["long"],
}, async () => {
  const minted = await mintAt(fixture.gateway, upstream, { cost_per_image: 0.04 });
  const call = { baseUrl: fixture.gateway.proxyUrl, secret: null, model: minted.model.model_name };
  writeFileSync(join(folder, "speech.mp3"), "sound");
  const wrong: unknown[] = [];
  for (const [route, printed] of Object.entries(PRINTED)) {
    const code = ROUTE_EXAMPLES[route as keyof typeof PRINTED].typescript(call);
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", code], {
      cwd: folder,
      env: { ...process.env, [SECRET_VARIABLE]: minted.secret },
    });
    if (!printed.test(stdout)) wrong.push({ route, stdout });
  }
  expect(wrong).toEqual([]);
  expect(readFileSync(join(folder, "speech.mp3")).equals(Buffer.from(SPOKEN))).toBe(true);
});
