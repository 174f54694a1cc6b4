import { OpenAPIHono } from "@hono/zod-openapi";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import type { ApiTypes } from "./types.ts";

const answer = z.object({ id: z.string(), size: z.number() });
const route = { path: "/things/{id}", summary: "A thing", tag: "Tenants" } as const;
const right = { id: "a", size: 1 };

describe("a route whose handler does not return what its answer describes", () => {
  it("does not compile", () => {
    const app = new OpenAPIHono<ApiTypes>();
    endpoint(app, { ...route, kind: "read", method: "get", answer, handler: async () => right });
    // @ts-expect-error a field is missing
    endpoint(app, { ...route, kind: "read", method: "get", answer, handler: async () => ({ id: "a" }) });
    // @ts-expect-error a field has another type
    endpoint(app, { ...route, kind: "read", method: "get", answer, handler: async () => ({ id: "a", size: "1" }) });
    // @ts-expect-error a field too many
    endpoint(app, { ...route, kind: "read", method: "get", answer, handler: async () => ({ ...right, hash: "x" }) });
    // @ts-expect-error a write says whether every cell has it
    endpoint(app, { ...route, kind: "write", method: "put", answer, handler: async () => right });
    const written = { record: right, sync: "done" } as const;
    endpoint(app, { ...route, kind: "write", method: "put", answer, handler: async () => written });
    // @ts-expect-error a route without an answer's schema answers no record
    endpoint(app, { ...route, kind: "write", method: "delete", handler: async () => written });
    const page = { rows: [right], next: null };
    endpoint(app, { ...route, kind: "page", method: "get", answer: z.array(answer), handler: async () => page });
    // @ts-expect-error a page has rows
    endpoint(app, { ...route, kind: "page", method: "get", answer: z.array(answer), handler: async () => [right] });
    expect(app.routes.length).toBeGreaterThan(0);
  });

  it("does not compile either with a parameter that is not declared", () => {
    const app = new OpenAPIHono<ApiTypes>();
    const query = z.object({ size: z.string().optional() });
    const handler = async ({ path }: { path: { id: string } }) => ({ id: path.id, size: 1 });
    endpoint(app, { ...route, kind: "read", method: "get", query, answer, handler });
    const other = async ({ path }: { path: { name: string } }) => ({ id: path.name, size: 1 });
    // @ts-expect-error the path has no such name
    endpoint(app, { ...route, kind: "read", method: "get", query, answer, handler: other });
    const byColour = async ({ query: { colour } }: { query: { colour: string } }) => ({ id: colour, size: 1 });
    // @ts-expect-error nor has the query
    endpoint(app, { ...route, kind: "read", method: "get", query, answer, handler: byColour });
    expect(app.routes.length).toBeGreaterThan(0);
  });
});
