/** The one end of a request that holds a slot (docs/rules/settlement-and-rows.md#exactly-once). */
import { expect, it } from "vitest";
import { TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import type { AdmittedRequest } from "../admit/admit.ts";
import { NOTHING_KNOWN } from "../call/known.ts";
import { Settler } from "./settle.ts";

function held() {
  const world = new TestPipeline();
  const { model, permit } = world;
  const request = { ...NOTHING_KNOWN, model, permit, message: {}, admission: "fast" } as unknown as AdmittedRequest;
  return { world, permit, settler: new Settler(world.call(), request) };
}

it("is the first that is reported", async () => {
  const { world, permit, settler } = held();
  settler.end({ statusCode: 200 });
  settler.end({ statusCode: 499 });
  settler.abandon();
  await world.settled();
  expect({ status_code: permit.settlement?.row.status_code, hasLeft: permit.hasLeft }).toEqual({
    status_code: 200,
    hasLeft: false,
  });
});

it("is left to the Cell when the request is abandoned, and has its line in the log", async () => {
  const { world, permit, settler } = held();
  settler.abandon();
  settler.end({ statusCode: 200 });
  await world.settled();
  expect({ settlement: permit.settlement, hasLeft: permit.hasLeft }).toEqual({ settlement: null, hasLeft: true });
  expect(world.logged).toMatchObject([{ name: "request", status: 500 }]);
});
