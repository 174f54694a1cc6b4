/** The target of a request equals the result of a URL parser, whether or not it was seen before. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { requestTargetOf } from "./request-target.ts";

describe("the place of a request", () => {
  it("is that of its URL, at every look, however many others there are", () => {
    const text = fc.oneof(
      fc.webUrl({ withQueryParameters: true }),
      fc.webPath().map((path) => `http://h${path}`),
      fc.string(),
    );
    fc.assert(
      fc.property(text, (url) => {
        const parsed = URL.parse(url);
        const place = parsed === null ? null : { path: parsed.pathname, search: parsed.search };
        expect(requestTargetOf(url)).toEqual(place);
        expect(requestTargetOf(url)).toEqual(place);
      }),
      { numRuns: 500 },
    );
  });

  it("is parsed once, unless it has a query", () => {
    expect(requestTargetOf("http://h/v1/embeddings")).toBe(requestTargetOf("http://h/v1/embeddings"));
    expect(requestTargetOf("http://h/v1/embeddings?key=1")).not.toBe(requestTargetOf("http://h/v1/embeddings?key=1"));
  });

  it.each([
    ["/openai/deployments/a%20b/chat/completions?api-version=1&x=2", "/v1/chat/completions", "?x=2", "a b"],
    ["/openai/deployments/m/embeddings", "/v1/embeddings", "", "m"],
    ["/openai/v1/responses?api-version=preview", "/v1/responses", "", undefined],
    ["/openai/deployments/m", "/openai/deployments/m", "", undefined],
    ["/openai/deployments//chat/completions", "/openai/deployments//chat/completions", "", undefined],
    ["/v1/embeddings?api-version=1", "/v1/embeddings", "?api-version=1", undefined],
  ])("of %s is %s%s, with the deployment %s", (written, path, search, deployment) => {
    expect(requestTargetOf(`http://h${written}`)).toEqual({ path, search, ...(deployment && { deployment }) });
  });
});
