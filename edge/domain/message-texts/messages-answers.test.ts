import { describe, expect, it } from "vitest";
import { compileScan } from "../../../shared/guardrails/text-scan.ts";
import { atOnce } from "../../../shared/steps.ts";
import { CollectedTexts } from "./collected-texts.ts";
import { RedactingEvents, redactDocument } from "./redacting-events.ts";
import { RedactionTally } from "./text-redaction.ts";

const scan = compileScan({ scanners: ["pii", "ban_keywords"], banKeywords: ["zanzibarx"] });
const encoder = new TextEncoder();

/** A document as a client gets it. */
function redacted(document: unknown): unknown {
  return JSON.parse(atOnce(redactDocument(scan, new RedactionTally(), JSON.stringify(document))));
}

/** The data of the events that a client gets for these. */
function redactedEvents(...events: readonly unknown[]): readonly unknown[] {
  const stream = new RedactingEvents(scan, new RedactionTally());
  const written = events.map((data) => atOnce(stream.event(encoder.encode(`data: ${JSON.stringify(data)}\n\n`))));
  const text = [...written, atOnce(stream.finish())].map((bytes) => new TextDecoder().decode(bytes)).join("");
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
}

/** The texts that are examined before the client gets anything. */
function collected(document: unknown, isEvent: boolean): readonly string[] {
  const texts = new CollectedTexts();
  const json = JSON.stringify(document);
  atOnce(isEvent ? texts.event(encoder.encode(`data: ${json}\n\n`)) : texts.document(json));
  return atOnce(texts.texts()).flat();
}

describe("the explanation of a refusal of messages", () => {
  const stop = (explanation: string) => ({
    stop_reason: "refusal",
    stop_details: { type: "refusal", category: null, explanation },
  });
  const ended = (explanation: string) => ({ type: "message_delta", delta: stop(explanation), usage: {} });

  it("is examined in a document and in the event that ends a stream", () => {
    expect(collected({ content: [], ...stop("zanzibarx is secret") }, false)).toEqual(["zanzibarx is secret"]);
    expect(collected(ended("zanzibarx is secret"), true)).toEqual(["zanzibarx is secret"]);
  });

  it("is redacted, in a stream within its own event", () => {
    expect(redacted({ content: [], ...stop("no zanzibarx") })).toEqual({ content: [], ...stop("no [REDACTED]") });
    const end = { type: "message_stop" };
    expect(redactedEvents(ended("no zanzibarx"), end)).toEqual([ended("no [REDACTED]"), end]);
  });
});
