/** The query of a probe (docs/rules/routes.md#model-listing). */
import { beforeEach, expect, it, vi } from "vitest";
import { IdentityTransform } from "../../test/harness/edge/pipeline/identity-transform.ts";
import { TestPipeline } from "../../test/harness/edge/pipeline/world.ts";
import { listModels } from "./run-models.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

it("of a list of models does not reach past the model of its body", async () => {
  const ask = async (query: string) => {
    const world = new TestPipeline();
    world.upstream = async () => Response.json({ data: [] });
    const received = world.received({ body: JSON.stringify({ model: "tiny" }) }, `/v1/models${query}`);
    const { status } = await listModels(received);
    return { status, calls: world.upstreamCalls.length };
  };
  expect(await ask("?after=1")).toEqual({ status: 200, calls: 1 });
  expect(await ask("?api_base=http://other.test")).toEqual({ status: 400, calls: 0 });
});
