/** The first answer of a session, when the isolate cannot take it: a defect of the gateway must not keep its requests waiting. */
import { beforeEach, expect, it, vi } from "vitest";
import { HolderStage, pass } from "../../../test/harness/edge/cell/holder-stage.ts";

beforeEach(() => void vi.useFakeTimers());

it("gives the session back, and tells those who ask that the Cell is away", async () => {
  const stage = new HolderStage("asks");
  stage.answers = async () => ({ decided: null as never });
  void stage.holder.run();
  await pass(500);
  expect({ disposed: stage.disposes > 0, told: stage.aways.length > 0 }).toEqual({ disposed: true, told: true });
});
