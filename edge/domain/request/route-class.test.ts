import { describe, expect, it } from "vitest";
import { routeClassOf } from "./route-class.ts";

describe("the class of a path (docs/rules/routes.md#path-classes)", () => {
  it.each([
    ["/v1/chat/completions", "chat", "tokens", false, true],
    ["/v1/completions", "completion", "tokens", false, true],
    ["/openai/deployments/x/completions", "completion", "tokens", false, true],
    ["/v1/responses", "responses", "tokens", false, false],
    ["/v1/embeddings", "embedding", "input-tokens", false, false],
    ["/v1/audio/transcriptions", "audio", "seconds", true, false],
    ["/v1/audio/translations", "audio", "seconds", true, false],
    ["/v1/audio/speech", "audio", "characters", false, false],
    ["/v1/audio/voices", "audio", "tokens", false, false],
    ["/v1/images/generations", "image", "images", false, false],
    ["/v1/images/edits", "image", "images", true, false],
    ["/v1/images/variations", "image", "images", true, false],
    ["/v1/rerank", "rerank", "input-tokens", false, false],
    ["/v2/rerank", "rerank", "input-tokens", false, false],
    ["/v1/moderations", "moderation", "input-tokens", false, false],
    ["/score", "other", "input-tokens", false, false],
    ["/v1/score", "other", "input-tokens", false, false],
    ["/classify", "other", "input-tokens", false, false],
    ["/pooling", "other", "input-tokens", false, false],
    ["/v1/messages/count_tokens", "other", "nothing", false, false],
    ["/v1/responses/input_tokens", "other", "nothing", false, false],
    ["/apply-template", "other", "nothing", false, false],
    ["/tokenize", "other", "nothing", false, false],
    ["/detokenize", "other", "nothing", false, false],
    ["/v1/models/org/embeddings", "other", "tokens", false, false],
    ["/mcp/search/rerank", "mcp", "tokens", false, false],
    ["/v1/messages", "messages", "tokens", false, false],
    ["/v1/images/generation%73", "image", "images", false, false],
    ["/v1/images%2fgenerations", "other", "tokens", false, false],
    ["/v1/%ff/rerank", "rerank", "input-tokens", false, false],
    ["/v1/embeddings/", "embedding", "input-tokens", false, false],
    ["/v1/images/generations//", "image", "images", false, false],
    ["/v1/models/", "other", "tokens", false, false],
    ["/completions", "completion", "tokens", false, true],
    ["/", "other", "tokens", false, false],
  ])("%s is %s, billed by %s", (path, requestType, billedBy, form, usageOption) => {
    expect(routeClassOf(path)).toMatchObject({ requestType, billedBy, form, usageOption });
  });
});
