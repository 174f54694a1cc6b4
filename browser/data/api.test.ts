/** How a call of the Management API is written as a request, and what its answer is. */
import { afterEach, expect, it, vi } from "vitest";
import { api } from "./api.ts";

afterEach(() => vi.unstubAllGlobals());

/** Answers every request, and keeps it. */
function answering(answer: Response): Request[] {
  const asked: Request[] = [];
  vi.stubGlobal("location", { origin: "http://console.test" });
  vi.stubGlobal("fetch", async (request: Request) => {
    asked.push(request);
    return answer.clone();
  });
  return asked;
}

it("fills the path and query of a read, without parameters that are not set", async () => {
  const asked = answering(Response.json([{ id: "a" }]));
  const query = { q: "a b&c", limit: "10", cursor: undefined };
  const { data } = await api.GET("/api/v1/models", { params: { query } });
  await api.GET("/api/v1/models/{id}", { params: { path: { id: "org/model ü" } } });
  expect(data).toEqual([{ id: "a" }]);
  expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
    "GET http://console.test/api/live/models?q=a+b%26c&limit=10",
    "GET http://console.test/api/live/models/org%2Fmodel%20%C3%BC",
  ]);
});

it("sends the body of a write as JSON with its headers, and takes no content as no value", async () => {
  const asked = answering(new Response(null, { status: 204 }));
  const { data, error } = await api.PUT("/api/v1/recipes/{id}", {
    params: { path: { id: "r1" }, header: { "if-match": '"3"' } },
    body: { name: "small" },
  } as never);
  const [request] = asked;
  expect({ data, error }).toEqual({});
  expect(request?.headers.get("content-type")).toBe("application/json");
  expect(request?.headers.get("if-match")).toBe('"3"');
  expect(await request?.json()).toEqual({ name: "small" });
});

it("gives the error of a refusal, and null for one that is no JSON", async () => {
  answering(Response.json({ error: { code: "no" } }, { status: 400 }));
  expect((await api.GET("/api/v1/models")).error).toEqual({ error: { code: "no" } });
  answering(new Response("<p>", { status: 502 }));
  expect((await api.GET("/api/v1/models")).error).toBeNull();
});
