/** Which model a sub-call may go to (docs/rules/settlement-and-rows.md#sub-calls). */
import { describe, expect, it } from "vitest";
import { modelOf } from "../../test/harness/edge/pipeline/records.ts";
import { knowing, TestPipeline } from "../../test/harness/edge/pipeline/world.ts";
import { currentModel } from "./sub-call.ts";

describe("the model of a sub-call", () => {
  /** What {@link currentModel} finds, or throws. */
  const found = async (world: TestPipeline, name = "tiny"): Promise<unknown> =>
    await currentModel(world.call(), name).catch((error: unknown) => error);

  it("is one that is registered and enabled", async () => {
    const world = new TestPipeline();
    expect(await found(world)).toBe(world.model);
    world.model = modelOf({ enabled: false });
    expect(await found(world)).toBeNull();
    world.model = null;
    expect(await found(world)).toBeNull();
  });

  it("is not looked up by a name that nothing can be registered by", async () => {
    const world = new TestPipeline();
    expect(await found(world, "m".repeat(201))).toBeNull();
    expect(await found(world, "\ud800")).toBeNull();
  });

  it("is read again when the Cell knows a newer record, and when the known one is disabled", async () => {
    const world = new TestPipeline();
    world.stale = knowing({ kind: "model", id: "tiny", rev: 2 });
    world.modelInMemory = modelOf();
    world.model = modelOf({ rev: 2 });
    expect(await found(world)).toBe(world.model);
    world.modelInMemory = modelOf();
    world.model = modelOf({ rev: 2, enabled: false });
    expect(await found(world)).toBeNull();
    world.modelInMemory = modelOf({ enabled: false });
    world.model = modelOf({ rev: 2 });
    expect(await found(world)).toBe(world.model);
  });

  it("is unknown while the store has an older record than the Cell", async () => {
    const world = new TestPipeline();
    world.stale = knowing({ kind: "model", id: "tiny", rev: 2 });
    expect(await found(world)).toMatchObject({ code: "key_store_unavailable" });
  });
});
