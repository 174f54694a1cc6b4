import { beforeEach, describe, expect, it } from "vitest";
import { hashKeySecret, pepperId } from "../../../shared/access/api-key.ts";
import { keyOf, refusalOf } from "../../../test/harness/edge/pipeline/records.ts";
import { SECRET, TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import type { Identity } from "../../domain/request/identity.ts";
import type { Call } from "../call/context.ts";
import { NOTHING_KNOWN } from "../call/known.ts";
import { usageRowOf } from "../call/report/usage-row.ts";
import { authenticate } from "./authenticate.ts";

const identity: Identity = {
  issuer: "https://id.example",
  subject: "ada",
  name: "Ada",
  tenant: "people",
  jitProvision: true,
  deviceId: "laptop-1",
};
const token = { headers: { authorization: "Bearer eyJ.x.y" } };
let world: TestPipeline;

beforeEach(() => {
  world = new TestPipeline();
  world.tokensEnabled = true;
  world.verdict = { kind: "identity", identity };
});

async function refusal(call: Call): Promise<unknown> {
  return await authenticate(call, NOTHING_KNOWN).then(() => null, refusalOf);
}

describe("an identity", () => {
  it("that has its key is served by it, and its device is in the row", async () => {
    const call = world.call(token);
    const known = await authenticate(call, NOTHING_KNOWN);
    expect(known.principal.key).toBe(world.key);
    expect(usageRowOf(call, known, { statusCode: 200, admission: "fast" }).device_id).toBe("laptop-1");
    expect(world.provisioned).toEqual([]);
  });

  it("that has no key gets one, and is refused when none can be made", async () => {
    world.key = null;
    world.provision = async () => {
      world.key = keyOf({ key_name: "Ada" });
      return true;
    };
    expect((await authenticate(world.call(token), NOTHING_KNOWN)).principal.key.key_name).toBe("Ada");
    expect(world.provisioned).toEqual([identity]);
    world.key = null;
    world.provision = async () => false;
    expect(await refusal(world.call(token))).toBe("identity_unavailable");
    // The key was made, but the store does not have it yet.
    world.provision = async () => true;
    expect(await refusal(world.call(token))).toBe("identity_unavailable");
  });

  it("that may not have a key is an invalid token", async () => {
    world.key = null;
    world.verdict = { kind: "identity", identity: { ...identity, jitProvision: false } };
    expect(await refusal(world.call(token))).toBe("invalid_token");
    expect(world.provisioned).toEqual([]);
  });

  it("is not established by a token that is refused, or cannot be verified", async () => {
    world.verdict = { kind: "refused" };
    expect(await refusal(world.call(token))).toBe("invalid_token");
    world.verdict = { kind: "unavailable" };
    expect(await refusal(world.call(token))).toBe("identity_unavailable");
    world.tokensEnabled = false;
    expect(await refusal(world.call(token))).toBe("invalid_api_key");
  });

  it("is not read from a text that has another form than a token", async () => {
    for (const text of ["eyJ.x", "abc.def.ghi", `eyJ${"a".repeat(9000)}.b.c`])
      expect(await refusal(world.call({ headers: { authorization: `Bearer ${text}` } }))).toBe("invalid_api_key");
    expect(await refusal(world.call({ headers: {} }))).toBe("missing_api_key");
  });

  it("whose key was deleted since it was read gets a new one", async () => {
    world.keyInMemory = keyOf({ disabled: true });
    world.key = null;
    world.provision = async () => {
      world.key = keyOf({ key_name: "new" });
      return true;
    };
    expect((await authenticate(world.call(token), NOTHING_KNOWN)).principal.key.key_name).toBe("new");
  });
});

describe("a secret", () => {
  const hashOf = (pepper: string | undefined): string => hashKeySecret(SECRET, pepper);
  const used = async (key_hash: string) => {
    world.key = keyOf({ key_hash });
    world.apiKeyPeppersOld = ["old", "older"];
    await authenticate(world.call(), NOTHING_KNOWN);
    return world.renewals;
  };

  it("has the hash of its key renewed when it was found with an old pepper", async () => {
    expect(await used(hashOf("older"))).toEqual([
      { key_hash: hashOf("older"), new_key_hash: hashOf(undefined), pepper: pepperId(undefined) },
    ]);
  });

  it("with the current pepper has nothing renewed", async () => {
    expect(await used(hashOf(undefined))).toEqual([]);
  });
});
