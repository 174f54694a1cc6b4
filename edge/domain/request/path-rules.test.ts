/** Which paths are served, and which undocumented ones go upstream (docs/rules/routes.md#unknown-paths). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPassedThrough, isServedPath, mayBeAdded, storedAnswerOf } from "./path-rules.ts";
import { MODEL_ROUTES, routeClassOf } from "./route-class.ts";

const ACCOUNT = [
  "files",
  "uploads",
  "batches",
  "fine_tuning",
  "fine-tunes",
  "assistants",
  "threads",
  "vector_stores",
  "containers",
  "evals",
  "organization",
  "projects",
  "realtime",
  "conversations",
  "videos",
  "skills",
];

describe("a path is served", () => {
  it.each([
    ...MODEL_ROUTES,
    "/health",
    "/v1/models",
    "/v1/models/Org/Model.V2",
    "/v1/rerank",
    "/v1/Custom/Path",
    "/mcp/Tools",
    "/mcp/tools/",
    "/mcp/tools/a/",
    "/v1/images/generation%73",
    "/v1/%ff",
  ])("%s", (path) => {
    expect(isServedPath(path)).toBe(true);
  });

  it.each([
    "/",
    "//",
    "//v1/models",
    "/v1//models",
    "/v1/chat//completions",
    "/v1/models/a//b",
    "/mcp//tools",
    "/mcp/tools//x",
    "/mcp/",
    "/v1/models/",
    "/v1/models/a/",
    "/v1/chat/completions/",
    "/health/",
    "/V1/chat/completions",
    "/v1/Chat/Completions",
    "/v1/%43hat/completions",
    "/V1/models",
    "/v1/Messages",
    "/v1/messages/Count_tokens",
    "/v1/MODELS",
    "/v1/Models/a",
    "/MCP/tools",
    "/Mcp/tools/x",
    "/Health",
    "/Internal/stats",
    "/v1/audio/\u017fpeech",
    "/v1/audio/%C5%BFpeech",
  ])("but not %s", (path) => {
    expect(isServedPath(path)).toBe(false);
  });
});

/** Ways of writing a segment that some server reads as the plain one. */
const SPELLINGS: readonly ((segment: string) => string)[] = [
  (segment) => segment,
  (segment) => segment.toUpperCase(),
  (segment) => `${segment.slice(0, 1).toUpperCase()}${segment.slice(1)}`,
  (segment) => segment.replace(/^./, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  (segment) => segment.replace(/.$/, (letter) => `%25${letter.charCodeAt(0).toString(16)}`),
  (segment) => segment.replace(/.$/, (letter) => `%252525${letter.charCodeAt(0).toString(16)}`),
  (segment) => `${segment};x=y`,
  (segment) => `${segment}%3bx`,
  (segment) => `${segment}%00`,
  (segment) => `${segment}%20`,
  (segment) => `${segment}.`,
  (segment) => `${segment}%253Fx`,
];

describe("an undocumented path goes upstream", () => {
  it.each([
    "/v1/rerank",
    "/v2/rerank",
    "/rerank",
    "/v1/moderations",
    "/messages",
    "/v2/messages/count_tokens",
    "/v1/responses/input_tokens",
    "/v1/score",
    "/tokenize",
    "/infill",
    "/v1/fim/completions",
  ])("%s", (path) => {
    expect(isPassedThrough(path, new Set())).toBe(true);
  });

  it("if the operator has added it, letter by letter, and no account object though it is added", () => {
    const added = new Set(["/v1/other", "/v1/files"]);
    expect(isPassedThrough("/v1/other", added)).toBe(true);
    for (const path of [
      "/v1/%6fther",
      "/v1/other;a",
      "/v1/files",
      "/v1/more",
      "/v1/%72erank",
      "/v1/rerank;a",
      "/v3/rerank",
    ])
      expect({ path, isPassedThrough: isPassedThrough(path, added) }).toEqual({ path, isPassedThrough: false });
  });

  it("unless it is an account's, wherever it begins and however it is written", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ACCOUNT),
        fc.constantFrom(...SPELLINGS),
        fc.constantFrom("", "/v1", "/openai/v1", "/v1/v1"),
        fc.constantFrom("", "/id", "/id/content"),
        (name, writeAs, before, after) => {
          expect(mayBeAdded(`${before}/${writeAs(name)}${after}`)).toBe(false);
        },
      ),
    );
  });

  it("unless it is below stored answers", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("responses", "chat/completions"),
        fc.constantFrom(...SPELLINGS),
        fc.constantFrom("", "/v1", "/openai/v1"),
        fc.constantFrom("/resp_1", "/resp_1/cancel", "/x/messages", "/input_tokens/cancel"),
        (name, writeAs, before, after) => {
          const written = name.split("/").map(writeAs).join("/");
          expect(mayBeAdded(`${before}/${written}${after}`)).toBe(false);
        },
      ),
    );
  });

  it("or is classed and billed as what any server could read it as, on every documented route", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...MODEL_ROUTES),
        fc.array(fc.constantFrom(...SPELLINGS), { minLength: 3, maxLength: 3 }),
        fc.constantFrom("", "/v1", "/deployments/x"),
        (route, spellings, before) => {
          const segments = route.slice(1).split("/");
          const path = `${before}/${segments.map((segment, at) => spellings[at]?.(segment) ?? segment).join("/")}`;
          const { requestType, billedBy } = routeClassOf(route);
          if (isServedPath(path) && mayBeAdded(path))
            expect(routeClassOf(path)).toMatchObject({ requestType, billedBy });
        },
      ),
      { numRuns: 1000 },
    );
  });

  it("and is checked in no time, however it is made", { tags: ["check"] }, () => {
    for (const part of ["%25", ".", ";", " .", "%2", "/", "%25%32%35", "..%3b", "responses/"])
      expect(mayBeAdded(`/v1/${part.repeat(60_000 / part.length)}x`)).toEqual(expect.any(Boolean));
  });
});

describe("a stored answer", () => {
  it.each([
    ["GET", "/v1/responses/resp_1", "resp_1"],
    ["DELETE", "/v1/responses/resp_1", "resp_1"],
    ["GET", "/v1/responses/resp_1/input_items", "resp_1"],
    ["POST", "/v1/responses/resp_1/cancel", "resp_1"],
    ["POST", "/v1/responses/resp_1", null],
    ["DELETE", "/v1/responses/resp_1/input_items", null],
    ["GET", "/v1/responses/resp_1/", null],
    ["GET", "/v1/responses/resp_1/cancel", null],
    ["GET", "/v1/responses/", null],
    ["GET", "/v1/responses/resp%5F1", null],
    ["GET", "/v1/responses/resp_1;a", null],
    ["GET", "/v1/Responses/resp_1", null],
    ["GET", "/v1/conversations/conv_1", null],
  ])("of %s %s is %s", (method, path, id) => {
    expect(storedAnswerOf(method, path)).toBe(id);
  });
});
