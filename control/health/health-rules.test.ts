/**
 * The pure rules of a check: what an answer means, what is sent, when the next one is
 * (docs/rules/health.md#classification, docs/rules/health.md#probes).
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MODEL_TYPES } from "../../shared/fields/model-fields.ts";
import { durationText } from "../../shared/time/duration-text.ts";
import {
  type CatalogListing,
  isRetryable,
  listingOf,
  verdictOfCatalog,
  verdictOfNoAnswer,
  verdictOfRejection,
  verdictOfStatus,
} from "./classify.ts";
import { excerptOf } from "./excerpt.ts";
import { findingOf, findingOfEndpoints } from "./finding.ts";
import type { HealthOutcome } from "./health-state.ts";
import { modelTypeOf, probeCall, silentAudio } from "./probe-calls.ts";
import { nextCheckMs } from "./schedule.ts";

describe("an answer", () => {
  it.each<[number, HealthOutcome | "catalog"]>([
    [200, "healthy"],
    [204, "healthy"],
    [302, "degraded"],
    [400, "catalog"],
    [401, "unhealthy"],
    [402, "degraded"],
    [403, "unhealthy"],
    [404, "catalog"],
    [408, "degraded"],
    [409, "degraded"],
    [422, "catalog"],
    [429, "degraded"],
    [500, "degraded"],
    [503, "degraded"],
  ])("with status %i means %s", (status, expected) => {
    expect(verdictOfStatus(status)?.outcome ?? "catalog").toBe(expected);
  });

  it.each<[CatalogListing, HealthOutcome, HealthOutcome]>([
    ["listed", "degraded", "healthy"],
    ["absent", "unhealthy", "unhealthy"],
    ["wildcard", "unhealthy", "unknown"],
    ["unreadable", "unhealthy", "unknown"],
  ])("that the catalog explains (%s) means %s, and %s for an image model", (listing, rejected, image) => {
    expect(verdictOfRejection(404, listing).outcome).toBe(rejected);
    expect(verdictOfCatalog(listing).outcome).toBe(image);
  });

  it("that does not come means unhealthy, with the reason", () => {
    expect(verdictOfNoAnswer("timeout")).toEqual({ outcome: "unhealthy", message: "no answer: timeout" });
    expect(verdictOfRejection(404, "listed").message).toContain("check model_type");
  });

  it("is requested again where the next one may differ", () => {
    const statuses = [200, 302, 400, 401, 404, 408, 422, 429, 500, 502, 599];
    expect(statuses.filter(isRetryable)).toEqual([408, 429, 500, 502, 599]);
  });
});

describe("a catalog", () => {
  it("lists a model, does not list it, or proves nothing", () => {
    expect(listingOf(["a", "b"], "b")).toBe("listed");
    expect(listingOf(["a"], "b")).toBe("absent");
    expect(listingOf([], "b")).toBe("absent");
    expect(listingOf(["b", "x/*"], "b")).toBe("wildcard");
    expect(listingOf(null, "b")).toBe("unreadable");
  });
});

describe("endpoints", () => {
  it.each<[HealthOutcome[], HealthOutcome]>([
    [["healthy", "healthy"], "healthy"],
    [["healthy", "unhealthy"], "degraded"],
    [["degraded", "unhealthy"], "degraded"],
    [["degraded"], "degraded"],
    [["unhealthy", "unhealthy"], "unhealthy"],
    [["unknown", "healthy"], "healthy"],
    [["unknown", "unhealthy"], "unhealthy"],
    [["unknown"], "unknown"],
  ])("that are %j make a model %s", (outcomes, expected) => {
    expect(findingOfEndpoints(outcomes).outcome).toBe(expected);
  });

  it.each<[readonly HealthOutcome[], number, HealthOutcome]>([
    [["healthy", "unhealthy"], 1, "healthy"],
    [["healthy", "healthy", "unknown"], 2, "healthy"],
    [["healthy"], 2, "degraded"],
    [["degraded"], 1, "degraded"],
    [["unhealthy", "unhealthy"], 1, "unhealthy"],
    [["unknown"], 1, "unknown"],
    [[], 1, "unhealthy"],
    [[], 0, "healthy"],
  ])("%j of a managed model that needs %d make it %s", (outcomes, minReplicas, expected) => {
    expect(findingOfEndpoints(outcomes, minReplicas).outcome).toBe(expected);
  });

  it("never make a model unhealthy while one of them serves", () => {
    const outcome = fc.constantFrom<HealthOutcome>("healthy", "degraded", "unhealthy", "unknown");
    fc.assert(
      fc.property(fc.array(outcome, { minLength: 1 }), (outcomes) => {
        const found = findingOfEndpoints(outcomes).outcome;
        if (outcomes.includes("healthy") || outcomes.includes("degraded")) expect(found).not.toBe("unhealthy");
        if (outcomes.includes("unhealthy")) expect(found).not.toBe("healthy");
      }),
    );
  });
});

describe("a probe", () => {
  it("is the smallest call of its model's type", () => {
    expect(probeCall("chat", "m")).toEqual({
      path: "/v1/chat/completions",
      json: { model: "m", messages: [{ role: "user", content: "ping" }], max_tokens: 16 },
      otherLimit: { model: "m", messages: [{ role: "user", content: "ping" }], max_completion_tokens: 16 },
    });
    expect(probeCall("embedding", "m")).toEqual({ path: "/v1/embeddings", json: { model: "m", input: "ping" } });
    expect(probeCall("audio_speech", "m")).toEqual({
      path: "/v1/audio/speech",
      json: { model: "m", input: ".", voice: "alloy" },
    });
    expect(probeCall("image", "m")).toBeNull();
    expect(MODEL_TYPES.map((type) => modelTypeOf(type))).toEqual(MODEL_TYPES);
  });

  it("of a transcription is a tenth of a second of silence", () => {
    const wav = silentAudio();
    const view = new DataView(wav.buffer);
    const word = (at: number): string => String.fromCharCode(...wav.subarray(at, at + 4));
    expect(wav.byteLength).toBe(1644);
    expect([word(0), word(8), word(12), word(36)]).toEqual(["RIFF", "WAVE", "fmt ", "data"]);
    expect([4, 16, 24, 28, 40].map((at) => view.getUint32(at, true))).toEqual([1636, 16, 8000, 16_000, 1600]);
    expect([20, 22, 32, 34].map((at) => view.getUint16(at, true))).toEqual([1, 1, 2, 16]);
    expect(wav.subarray(44).every((byte) => byte === 0)).toBe(true);
  });

  it("has a message of at most 240 characters", () => {
    expect(findingOf("skipped", "x".repeat(500)).message).toHaveLength(240);
  });
});

describe("an excerpt", () => {
  it("is of at most 500 storable characters, whatever the credential", () => {
    expect(excerptOf("a\u0000b", "  ")).toBe("a b");
    expect(excerptOf(`${"x".repeat(499)}\u{1f600}`, null)).toBe(`${"x".repeat(499)}\ufffd`);
  });
});

describe("the next check", () => {
  it("is an interval away, plus at most a tenth of it, which is between a second and two minutes", () => {
    const between = (secs: number): readonly number[] => [0, 1].map((fraction) => nextCheckMs(1000, secs, fraction));
    expect(between(900)).toEqual([901_000, 991_000]);
    expect(between(60)).toEqual([61_000, 67_000]);
    expect(between(5)).toEqual([6000, 7000]);
    expect(between(86_400)).toEqual([86_401_000, 86_521_000]);
  });

  it("has its duration in words", () => {
    const texts = [0, 45_000, 60_000, 333_000, 3_599_000, 3_600_000, 11_100_000, 187_200_000].map(durationText);
    expect(texts).toEqual(["0 s", "45 s", "1 min", "5 min 33 s", "59 min 59 s", "1 h 0 min", "3 h 5 min", "2 d 4 h"]);
  });
});
