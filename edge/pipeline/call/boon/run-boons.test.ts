/** Common behaviour of boons: their order, their failures, and work that a request without boons is spared. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { BoonWorld, says } from "../../../../test/harness/edge/pipeline/boon-world.ts";
import { IdentityTransform } from "../../../../test/harness/edge/pipeline/identity-transform.ts";
import { authenticate } from "../../authenticate/authenticate.ts";
import { prepare } from "../../prepare/prepare.ts";
import { parseCall } from "../../resolve-model/parse-call.ts";
import { resolveModel } from "../../resolve-model/resolve-model.ts";
import { run } from "../../run.ts";
import { ClientGone } from "../client-gone.ts";
import { NOTHING_KNOWN } from "../known.ts";
import type { Boon, BoonEffect } from "./boon.ts";
import { runBoons } from "./run-boons.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const EFFECT: BoonEffect = { applied: true, warnings: [], answer: null };
const boon = (name: Boon["name"], apply: Boon["apply"]): Boon => ({ name, apply });
/** Adds a message that names it. */
const adds = (name: Boon["name"], effect: Partial<BoonEffect> = {}): Boon =>
  boon(name, async ({ draft }) => {
    draft.set("messages", [...((await draft.get("messages")) as unknown[]), name]);
    return { ...EFFECT, ...effect };
  });
const failsHalfWay = (name: Boon["name"], error: Error): Boon =>
  boon(name, async ({ draft }) => {
    draft.set("messages", []);
    draft.set("tools", undefined);
    throw error;
  });

async function boosted(boons: readonly Boon[], directive?: string) {
  const world = new BoonWorld({}, { boons: ["vision"] }, says("ok"));
  const call = world.call({ body: JSON.stringify({ model: "tiny", messages: ["m"], tools: ["t"] }) });
  if (directive !== undefined) call.request.headers.set("x-gateway-boons", directive);
  const caller = await authenticate(call, NOTHING_KNOWN);
  const request = await prepare(call, await resolveModel(call, await parseCall(call, caller)));
  const { request: after, stages } = await runBoons(call, request, boons);
  const counted = call.boonRuns.events.filter(({ metric }) => metric === "gateway_boon_runs_total");
  return {
    edits: Array.from(after.parsed.edits, ([name, json]) => [
      name,
      JSON.parse(new TextDecoder().decode(json as Uint8Array)),
    ]),
    report: after.boonReport,
    stages,
    counted: counted.map(({ labels }) => labels.join(" ")),
    logged: world.logged,
  };
}

describe("boons", () => {
  it("change a request one after another, each on the result of those before it", async () => {
    const answer = async () => await Promise.reject(new Error("not called"));
    const { edits, report, stages, counted } = await boosted([
      adds("vision", { warnings: ["one"] }),
      boon("compression", async () => null),
      adds("tool_loop", { answer }),
      adds("structured_output", { applied: false, warnings: ["two"] }),
    ]);
    expect(edits).toEqual([["messages", ["m", "vision", "tool_loop", "structured_output"]]]);
    expect(report).toMatchObject({ applied: ["vision", "tool_loop"], warnings: ["one", "two"], failed: false });
    expect(stages).toHaveLength(1);
    expect(counted).toEqual(["vision hit", "tool_loop hit", "structured_output failed"]);
  });

  it("that fail leave the request as it was before them, and later ones still run", async () => {
    const secret = "the text of the prompt";
    const { edits, report, counted, logged } = await boosted([
      adds("vision"),
      failsHalfWay("compression", new TypeError(secret)),
      adds("structured_output"),
    ]);
    expect(edits).toEqual([["messages", ["m", "vision", "structured_output"]]]);
    expect(report).toMatchObject({ applied: ["vision", "structured_output"], failed: true });
    expect(counted).toEqual(["vision hit", "compression failed", "structured_output hit"]);
    expect(logged).toMatchObject([
      {
        name: "boon_failed",
        boon: "compression",
        reason: expect.stringMatching(/^TypeError: a fault of the program in /),
      },
    ]);
    expect(JSON.stringify(logged)).not.toContain(secret);
  });

  it("end with the client that leaves", async () => {
    await expect(boosted([failsHalfWay("vision", new ClientGone())])).rejects.toBeInstanceOf(ClientGone);
  });

  it("do not run when the client says so", async () => {
    const { edits, counted } = await boosted([adds("vision")], "lossy, OFF");
    expect({ edits, counted }).toEqual({ edits: [], counted: [] });
  });
});

describe("an answer that boons may have changed", () => {
  it.each([
    ["is stored", true, { cache: "miss", stored: 1 }],
    [
      "is neither given from the cache nor stored while their settings cannot be read",
      false,
      { cache: null, stored: 0 },
    ],
  ])("%s", async (_, readable, expected) => {
    const world = new BoonWorld({}, { boons: ["vision"], cache_enabled: true }, says("ok"));
    if (!readable) world.settings.delete("boons");
    const answer = await run(world.received());
    await answer.text();
    await world.settled();
    expect({ cache: answer.headers.get("x-gateway-cache"), stored: world.stored.length }).toEqual(expected);
  });
});

describe("a model without boons", () => {
  it("costs a request nothing: no settings are read or compared, and nothing is counted", async () => {
    const world = new BoonWorld({}, { boons: [] }, says("ok"));
    const read = vi.spyOn(world.settings, "get");
    await (await run(world.received())).text();
    await world.settled();
    expect(read).not.toHaveBeenCalled();
    expect(world.events).toEqual([]);
    expect(world.requests.flatMap(({ revs }) => revs.map(({ kind }) => kind))).not.toContain("settings");
    expect(world.permit.settlement?.row).toMatchObject({ status_code: 200, input_tokens: 5 });
  });
});
