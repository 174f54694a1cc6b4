import { beforeEach, describe, expect, it, vi } from "vitest";
import { GatewayError } from "../../../shared/errors.ts";
import { keyOf } from "../../../test/harness/edge/pipeline/records.ts";
import { knowing, TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { NOTHING_KNOWN } from "../call/known.ts";
import { authenticate } from "./authenticate.ts";
import { watchCaller } from "./watch-caller.ts";

/** Has the form of a token. */
const TOKEN = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJzIn0.x";

let world: TestPipeline;

beforeEach(() => {
  vi.useFakeTimers();
  world = new TestPipeline();
});

async function pass(secs: number): Promise<void> {
  for (let at = 0; at < secs; at += 1) {
    world.nowMs += 1_000;
    await vi.advanceTimersByTimeAsync(1_000);
  }
}

/** A call that waits for something, and is watched. */
async function watched(endsByTime = false, init: RequestInit = {}) {
  const { ports, ...envelope } = world.call(init);
  const { directory } = ports;
  const key: typeof directory.key = async (...asked) => {
    if (world.storeIsDown) throw new GatewayError("key_store_unavailable");
    return await directory.key(...asked);
  };
  const call = { ...envelope, ports: { ...ports, directory: { ...directory, key } } };
  watchCaller(call, await authenticate(call, NOTHING_KNOWN), endsByTime);
  const callOff = call.interruption.listen(() => undefined);
  return { code: () => call.interruption.failure?.code ?? null, callOff };
}

const OLD = keyOf({ rev: 1 });
const DISABLED = keyOf({ rev: 2, disabled: true });

describe("a running call", () => {
  it("ends within 4 s of a change that refuses its caller, whenever that comes", async () => {
    world.key = OLD;
    const { code } = await watched();
    await pass(7);
    expect(code()).toBeNull();
    world.key = DISABLED;
    world.stale = knowing({ kind: "key", id: OLD.key_hash, rev: 2 });
    await pass(4);
    expect(code()).toBe("api_key_disabled");
  });

  it("of an identity whose key was deleted ends, and makes no new one", async () => {
    world.key = OLD;
    world.tokensEnabled = true;
    const identity = { issuer: "i", subject: "s", name: "s", tenant: "people", jitProvision: true, deviceId: "" };
    world.verdict = { kind: "identity", identity };
    const { code } = await watched(false, { headers: { authorization: `Bearer ${TOKEN}` } });
    world.key = null;
    world.stale = knowing({ kind: "key", id: OLD.key_hash, rev: 2 });
    await pass(4);
    expect({ code: code(), made: world.provisioned }).toEqual({ code: "invalid_token", made: [] });
  });

  it("continues while the changed record cannot be read, and ends when it can", async () => {
    world.key = OLD;
    const { code } = await watched();
    world.key = DISABLED;
    world.storeIsDown = true;
    world.stale = knowing({ kind: "key", id: OLD.key_hash, rev: 2 });
    await pass(10);
    expect(code()).toBeNull();
    world.storeIsDown = false;
    await pass(4);
    expect(code()).toBe("api_key_disabled");
  });

  it("continues after a change that refuses nothing, and asks with what it has read", async () => {
    world.key = keyOf({ rev: 2 });
    const asked: (readonly unknown[])[] = [];
    const { code } = await watched();
    world.key = keyOf({ rev: 3 });
    world.stale = (items) => {
      asked.push(items.filter(({ kind }) => kind === "key").map(({ rev }) => rev));
      return knowing({ kind: "key", id: OLD.key_hash, rev: 3 })(items);
    };
    await pass(6);
    expect({ code: code(), asked: asked.slice(0, 3) }).toEqual({ code: null, asked: [[2], [3], [3]] });
  });

  it.each([
    ["is not ended by time alone", false, null],
    ["without a limit of its own ends with the time of its key", true, "api_key_expired"],
  ])("%s", async (_, endsByTime, code) => {
    world.key = keyOf({ expires_at_ms: world.nowMs + 2_500 });
    const call = await watched(endsByTime);
    await pass(2);
    expect(call.code()).toBeNull();
    await pass(2);
    expect(call.code()).toBe(code);
  });

  it("asks nothing more when it is over", async () => {
    const { callOff } = await watched();
    callOff();
    world.stale = () => {
      throw new Error("asked");
    };
    await pass(5);
    expect(vi.getTimerCount()).toBe(0);
  });
});
