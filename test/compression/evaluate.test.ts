/** The measurement of compression: the figures of its page are today's, and no value is lost without leave. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { CompressorHttp } from "../../edge/adapters/compressor-http.ts";
import { compressMessages } from "../../edge/domain/prompts/compress.ts";
import { reconstructJson } from "../../edge/domain/prompts/json-table.ts";
import { scoreSentences } from "../../infra/compressor/bm25.ts";
import { startCompressor } from "../../infra/compressor/server.ts";
import { atOnce } from "../../shared/steps.ts";
import { EVALUATION_LIMITS, evaluationTable, NOTHING, readTranscripts } from "./evaluate.ts";

const PAGE = join(import.meta.dirname, "../../docs/rules/compression.md");
const transcripts = readTranscripts();
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

it("the page has the table that the measurement prints", async () => {
  const cells = (text: string): readonly string[] =>
    text.split("\n").flatMap((line) => (line.startsWith("| ") ? [line.replace(/ +/g, " ").replace(/-+/g, "-")] : []));
  expect(transcripts.length).toBeGreaterThanOrEqual(20);
  expect(cells(readFileSync(PAGE, "utf8").split("## Figures")[1] ?? "")).toEqual(
    cells(await evaluationTable(transcripts)),
  );
});

it("JSON of every transcript reads back as the same value", async () => {
  let compacted = 0;
  for (const { messages } of transcripts) {
    const after = (await compressMessages(messages, EVALUATION_LIMITS, NOTHING)).messages as typeof messages;
    for (const [at, message] of messages.entries()) {
      const [before, now] = [message["content"], after[at]?.["content"]];
      if (before === now) continue;
      compacted += 1;
      expect(JSON.parse(atOnce(reconstructJson(String(now))) ?? "")).toEqual(JSON.parse(String(before)));
    }
  }
  expect(compacted).toBeGreaterThan(5);
});

it("every reference of a transcript has its original", async () => {
  let references = 0;
  for (const { messages } of transcripts) {
    const keepOriginals = async () => true;
    const done = await compressMessages(messages, EVALUATION_LIMITS, { ...NOTHING, keepOriginals });
    const named = [...JSON.stringify(done.messages).matchAll(/\[ref:([0-9a-f]{64})\]/g)].map(
      ([, sha256 = ""]) => sha256,
    );
    references += named.length;
    expect(named).toHaveLength(done.dedupRefs);
    for (const sha256 of named)
      expect(JSON.stringify(messages)).toContain(JSON.stringify(done.originals.get(sha256)).slice(1, -1));
  }
  expect(references).toBeGreaterThan(3);
});

it("the sidecar over HTTP takes the same sentences out as its scores say", async () => {
  const { url, close } = await startCompressor({ host: "127.0.0.1", port: 0 });
  closing.push(close);
  const events: string[] = [];
  const log = { event: (name: string) => void events.push(name) };
  const sidecar = new CompressorHttp({ url, timeoutMs: 30_000, clock: Date.now, fetch, log });
  for (const { messages } of transcripts.filter(({ kind }) => kind === "rag")) {
    const overHttp = await compressMessages(messages, EVALUATION_LIMITS, {
      ...NOTHING,
      lossy: { score: async (segments, query) => await sidecar.score(segments, query) },
    });
    const here = await compressMessages(messages, EVALUATION_LIMITS, {
      ...NOTHING,
      lossy: { score: async (segments, query) => scoreSentences(segments, query) },
    });
    expect(overHttp).toEqual(here);
    expect(overHttp.lossySegments).toBeGreaterThan(0);
  }
  expect(events).toEqual([]);
});
