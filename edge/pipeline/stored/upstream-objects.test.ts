/**
 * The charge of a background answer that is read while it is made
 * (docs/rules/settlement-and-rows.md#answers-made-in-the-background).
 */
import { beforeEach, expect, it, vi } from "vitest";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { run } from "../run.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

it("no part of it is larger than its whole when a read has charged the rest", async () => {
  const world = new TestPipeline();
  world.takesOver = () => ({ inputTokens: 0, outputTokens: 0, costUsd: 0 });
  const usage = {
    input_tokens: 2_000,
    output_tokens: 500,
    input_tokens_details: {
      cached_tokens: 1_500,
      cache_write_tokens: 1_500,
      audio_tokens: 1_500,
      image_tokens: 1_500,
    },
    output_tokens_details: { reasoning_tokens: 400, audio_tokens: 400, image_tokens: 400 },
  };
  world.upstream = async () => Response.json({ id: "resp_1", status: "completed", output: [], usage });
  const body = { model: "tiny", input: "12345678", background: true, max_output_tokens: 3, user: "ann" };
  await (await run(world.received({ body: JSON.stringify(body) }, "/v1/responses"))).text();
  await world.settled();
  const { row } = world.permit.settlement ?? {};
  const inputTokens = row?.input_tokens ?? 0;
  expect(row).toMatchObject({
    output_tokens: 3,
    cached_tokens: inputTokens,
    cache_write_tokens: inputTokens,
    audio_input_tokens: inputTokens,
    image_input_tokens: inputTokens,
    reasoning_tokens: 3,
    audio_output_tokens: 3,
    image_output_tokens: 3,
  });
  expect({ isEstimate: inputTokens > 0 && inputTokens < 100, place: world.objects.get("resp_1") }).toMatchObject({
    isEstimate: true,
    place: { charged: { inputTokens, outputTokens: 3, endUser: "ann" } },
  });
});
