/** Requests on paths that no route documents (docs/rules/routes.md#unknown-paths). */
import { describe, expect, it } from "vitest";
import { TestPipeline } from "../../test/harness/edge/pipeline/world.ts";
import { runOther } from "./run.ts";

describe("an undocumented path", () => {
  const other = async (world: TestPipeline, path: string, init: RequestInit = {}) => {
    const response = await runOther(world.received(init, path));
    const body = (await response.json().catch(() => null)) as { error?: { code: string; param: string } } | null;
    await world.settled();
    return [response.status, body?.error?.code, body?.error?.param];
  };
  const served = (): TestPipeline =>
    Object.assign(new TestPipeline(), { upstream: async () => new Response(null, { status: 204 }) });
  const bad = JSON.stringify({ model: "tiny", max_tokens: -1, Model: "huge" });

  it("is served if its body names a registered model and the path is among those forwarded", async () => {
    expect(await other(served(), "/v1/rerank")).toEqual([204, undefined, undefined]);
    const added = served();
    added.passthroughPaths = new Set(["/v1/other"]);
    expect(await other(added, "/v1/another")).toEqual([404, "unknown_endpoint", null]);
    expect(await other(added, "/v1/other")).toEqual([204, undefined, undefined]);
    expect(await other(added, "/v1/rerank")).toEqual([204, undefined, undefined]);
    expect(added.upstreamCalls).toHaveLength(2);
  });

  it.each([
    "/v1/load_lora_adapter",
    "/v1/unload_lora_adapter",
    "/sleep",
    "/wake_up",
    "/reset_prefix_cache",
    "/update_weights_from_disk",
    "/collective_rpc",
    "/flush_cache",
    "/slots/0",
    "/server_info",
  ])("is unknown if it administers a model server: %s", async (path) => {
    const world = served();
    expect(await other(world, path)).toEqual([404, "unknown_endpoint", null]);
    expect(world.upstreamCalls).toEqual([]);
  });

  it.each(["PUT", "PATCH", "DELETE"])("is unknown by %s, its body unread", async (method) => {
    const world = served();
    expect(await other(world, "/v1/rerank", { method })).toEqual([404, "unknown_endpoint", null]);
    expect({ upstreamCalls: world.upstreamCalls, recorded: world.recorded }).toEqual({
      upstreamCalls: [],
      recorded: [],
    });
  });

  it("is checked first, and only then are the fields of its body", async () => {
    const unknown = Object.assign(served(), { model: null });
    expect(await other(unknown, "/v1/rerank", { body: bad })).toEqual([404, "unknown_endpoint", null]);
    expect(unknown.recorded).toEqual([]);
    const known = served();
    expect(await other(known, "/v1/rerank", { body: bad })).toEqual([400, "validation_failed", "Model"]);
    expect(known.recorded).toMatchObject([{ status_code: 400, model: "tiny" }]);
    expect(known.upstreamCalls).toEqual([]);
  });
});
